// A question with fields: native dialogs, so that focus, Escape and screen readers work by themselves.
import { h } from "./dom.js";
import { plain } from "./words.js";
import { say } from "./toast.js";

/**
 * Shows a form. `submit(values)` returns a promise of what was done, in words; what it refuses is shown in the form,
 * and nothing that was typed is lost.
 */
export function openForm({ title, lead, fields = [], button, danger = false, submit }) {
  const error = h("p", { class: "dialog-error", role: "alert" });
  const confirm = h("button", { type: "submit", class: `button primary${danger ? " danger" : ""}` }, button);
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { class: "dialog-head", id: "dialog-title" }, title),
    lead && h("p", { class: "dialog-lead" }, plain(lead)),
    h("div", { class: "dialog-body" }, groupFields(fields)),
    error,
    h("div", { class: "dialog-foot" }, h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"), confirm),
  );
  const dialog = show(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    error.textContent = "";
    try {
      const message = await submit(readValues(form, fields));
      dialog.close();
      if (message) say(message);
    } catch (problem) {
      error.textContent = plain([problem.message, problem.hint].filter(Boolean).join("\n"));
      confirm.disabled = false;
    }
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  (form.querySelector("textarea, input, select") ?? confirm).focus();
  return dialog;
}

/** A question to be answered with yes. */
export function openConfirm({ title, lead, button, fields = [], submit }) {
  return openForm({ title, lead, fields, button, danger: true, submit });
}

export function openHelp(groups) {
  const rows = groups.flatMap(([keys, what]) => [h("dt", {}, keys.map((key, index) => [index > 0 && " ", h("kbd", {}, key)])), h("dd", {}, what)]);
  openReading("Keyboard shortcuts", "", h("dl", { class: "shortcuts" }, rows)).querySelector(".dialog-foot button").focus();
}

/** A text to be copied. */
export function openText(title, lead, text) {
  const field = h("input", { class: "mono", readonly: true, value: text, "aria-label": title });
  openReading(title, lead, h("label", { class: "field" }, field));
  field.select();
}

/** Buttons, each of which closes it and does something: [words, action]. */
export function openChoices(title, choices) {
  const buttons = choices.map(([words, act]) => h("button", { type: "button", class: "button", onclick: () => { dialog.close(); act(); } }, words));
  const dialog = openReading(title, "", h("div", { class: "choices" }, buttons));
  buttons[0].focus();
}

function openReading(title, lead, content) {
  const close = h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close");
  const dialog = show(
    h(
      "div",
      {},
      h("h2", { class: "dialog-head", id: "dialog-title" }, title),
      lead && h("p", { class: "dialog-lead" }, lead),
      h("div", { class: "dialog-body" }, content),
      h("div", { class: "dialog-foot" }, close),
    ),
  );
  return dialog;
}

export function isDialogOpen() {
  return document.querySelector("dialog[open]") !== null;
}

function show(content) {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function groupFields(fields) {
  const nodes = [];
  let pair = null;
  for (const field of fields) {
    const node = buildField(field);
    if (!field.half) {
      pair = null;
      nodes.push(node);
    } else if (pair) {
      pair.append(node);
    } else {
      pair = h("div", { class: "fields" }, node);
      nodes.push(pair);
    }
  }
  return nodes;
}

function buildField(field) {
  const shared = { name: field.name, required: field.required, placeholder: field.placeholder };
  const hint = field.hint && h("small", {}, field.hint);
  if (field.type === "check") {
    return h("label", { class: "field check" }, h("input", { ...shared, type: "checkbox", checked: field.value }), h("span", {}, field.label));
  }
  return h("label", { class: "field" }, h("span", {}, field.label), buildControl(field, shared), hint);
}

function buildControl(field, shared) {
  if (field.type === "select") {
    const control = h("select", shared, field.options.map(([value, words]) => h("option", { value }, words)));
    control.value = field.value ?? field.options[0]?.[0] ?? "";
    if (field.onchange) control.addEventListener("change", () => field.onchange(control));
    return control;
  }
  const control = field.type === "text" ? h("textarea", { ...shared, rows: field.rows ?? 4 }) : h("input", { ...shared, type: field.type ?? "text", min: field.min, max: field.max, step: field.step, autocomplete: "off" });
  control.value = field.value ?? "";
  return control;
}

function readValues(form, fields) {
  const values = {};
  for (const { name, type } of fields) {
    const control = form.elements.namedItem(name);
    if (type === "check") values[name] = control.checked;
    else if (type === "number") values[name] = control.value === "" ? null : Number(control.value);
    else values[name] = control.value.trim();
  }
  return values;
}
