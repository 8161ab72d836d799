// Builds nodes from text only: whatever an agent printed stays text.

const SVG = "http://www.w3.org/2000/svg";

/** A node with attributes, listeners (`onclick`) and children; strings become text nodes. */
export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(2).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** Writes only what changed: an equal text costs no layout. */
export function setText(node, text) {
  const wanted = text ?? "";
  if (node.firstChild?.nodeType === Node.TEXT_NODE && node.childNodes.length === 1) {
    if (node.firstChild.data !== wanted) node.firstChild.data = wanted;
  } else if (wanted !== "" || node.firstChild) {
    node.textContent = wanted;
  }
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, String(value));
  }
}

/** A share of a bar, from 0 to 1; by the style object, because the policy of this page forbids style attributes. */
export function setShare(node, share) {
  const wanted = String(Math.round(Math.max(0, Math.min(1, share || 0)) * 1000) / 1000);
  if (node.style.getPropertyValue("--share") !== wanted) node.style.setProperty("--share", wanted);
}

/** Puts the wanted nodes into their order, moving only those that stand elsewhere. */
export function arrange(parent, wanted) {
  let next = parent.firstChild;
  for (const node of wanted) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

/** A button that does something by itself: the words are its name, the icon only a picture. */
export function iconButton(name, label, onclick) {
  return h("button", { type: "button", class: "icon-button small", "aria-label": label, title: label, onclick }, icon(name));
}

export function emptyState(title, lines, ...buttons) {
  return h(
    "div",
    { class: "empty" },
    h("strong", {}, title),
    lines.map((line) => h("p", {}, withCode(line))),
    buttons.length > 0 && h("div", { class: "buttons" }, buttons),
  );
}

/** Text with `commands` in backticks. */
export function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}
