// Everything a person can do to tasks and runs from here; each is one request.
import { get, part, patch, post } from "./api.js";
import { openConfirm, openForm, openText } from "./dialogs.js";
import { store } from "./store.js";
import { say, sayError } from "./toast.js";
import { firstLine } from "./words.js";
import { go } from "./router.js";

/** What is acted on: a task of the board, or a run that has none. */
export function taskTarget(id) {
  return { path: `tasks/${part(id)}`, id };
}

export function runTarget(run) {
  return run.kind === "execute" && run.task ? taskTarget(run.task) : { path: `runs/${part(run.id)}`, id: run.id };
}

/** Whether the server offers it; tasks can always be edited. */
export function can(action) {
  return action === "edit" || (store.session?.actions?.includes(action) ?? false);
}

async function attempt(request) {
  try {
    const answer = await request;
    say(answer.message);
    return true;
  } catch (error) {
    sayError(error);
    return false;
  }
}

export const pause = (target) => attempt(post(`${target.path}/pause`));
export const resume = (target) => attempt(post(`${target.path}/resume`));
export const retry = (target) => attempt(post(`${target.path}/retry`));

export function askPause(target) {
  openForm({
    title: `Pause ${target.id}`,
    lead: "No new iteration starts until you resume.",
    fields: [{ name: "now", type: "check", label: "Stop the agent now (its work is kept)" }],
    button: "Pause",
    submit: ({ now }) => done(post(`${target.path}/pause`, { now })),
  });
}

export function askNote(target) {
  openForm({
    title: `Note to ${target.id}`,
    lead: "The agent reads it in its next prompt, once.",
    fields: [{ name: "text", type: "text", label: "Note", required: true, placeholder: "Use the existing retry helper in net.py" }],
    button: "Send note",
    submit: ({ text }) => done(post(`${target.path}/note`, { text })),
  });
}

export function askAnswer(target, question) {
  openForm({
    title: `Answer ${target.id}`,
    lead: question,
    fields: [{ name: "text", type: "text", label: "Answer", required: true, hint: "The answer goes into the agent's next prompt, and the work continues." }],
    button: "Send answer",
    submit: ({ text }) => done(post(`${target.path}/answer`, { text })),
  });
}

export function askCancel(target) {
  const gently = { name: "gently", type: "check", label: "Let the current step finish first" };
  openConfirm({
    title: `Cancel ${target.id}?`,
    lead: "The agent is stopped. Its work is kept; you can retry or resume later.",
    fields: target.path.startsWith("runs/") ? [gently] : [],
    button: "Cancel it",
    submit: (values) => done(post(`${target.path}/cancel`, values)),
  });
}

/** One that nobody works on is only crossed out. */
export function askCancelTask(card) {
  if (card.status === "in_progress") {
    askCancel(taskTarget(card.id));
    return;
  }
  openConfirm({
    title: `Cancel ${card.id}?`,
    lead: "Nobody works on it. Retry opens it again.",
    button: "Cancel it",
    submit: () => done(patch(`tasks/${part(card.id)}`, { status: "cancelled" })),
  });
}

export const resumeAll = () => attempt(post("executes/resume"));

export function askPauseAll() {
  openForm({
    title: "Pause ralph execute",
    lead: "No agent of any task starts until you resume.",
    fields: [{ name: "now", type: "check", label: "Stop the agents at work now (their work is kept)" }],
    button: "Pause",
    submit: ({ now }) => done(post("executes/pause", { now })),
  });
}

/** A link logs one browser in, once. */
export async function showLink() {
  try {
    const { url } = await post("links");
    openText("Link for another browser", "It works once. Whoever opens it can see and steer everything here.", url);
  } catch (error) {
    sayError(error);
  }
}

export function askStopAll() {
  openConfirm({
    title: "Stop ralph execute?",
    lead: "Work is kept. Start again to continue.",
    fields: [
      {
        name: "how",
        type: "select",
        label: "When",
        options: [
          ["agents", "When the agents at work have finished"],
          ["tasks", "When the tasks at work are finished"],
          ["now", "Now: stop the agents"],
        ],
      },
    ],
    button: "Stop",
    submit: ({ how }) => done(post("executes/stop", { how })),
  });
}

export async function changePriority(card, by) {
  await attempt(patch(`tasks/${part(card.id)}`, { priority: Math.max(1, card.priority + by) }));
}

export function askAddTask() {
  const specs = store.session?.specs ?? [];
  openForm({
    title: "Add a task",
    fields: [
      { name: "title", label: "Title", required: true, placeholder: "Retry requests that answer 429" },
      { name: "description", type: "text", label: "Description", placeholder: "What should be different when it is done?" },
      { name: "acceptance", type: "text", rows: 3, label: "Acceptance criteria", hint: "One per line; the title if there are none." },
      { name: "command", label: "Check", placeholder: "pytest -q tests/net", hint: "A command that fails now and passes when the task is done." },
      { name: "id", label: "Id", half: true, placeholder: suggestId() },
      { name: "priority", type: "number", min: 1, label: "Priority", half: true, value: 2, hint: "1 high, 2 usual, 3 low" },
      { name: "spec_id", label: "Spec", half: true, value: specs[0] ?? "", placeholder: "main" },
      { name: "needs", label: "Depends on", half: true, placeholder: "TASK-001, TASK-002" },
    ],
    button: "Add task",
    submit: async (values) => {
      const answer = await post("tasks", describeNewTask(values));
      if (answer.id) go("task", answer.id);
      return answer.message;
    },
  });
}

export async function askEditTask(id) {
  try {
    const shown = await get(`tasks/${part(id)}`);
    openForm({
      title: `Edit ${id}`,
      fields: [
        { name: "title", label: "Title", required: true, value: shown.card.title },
        { name: "description", type: "text", rows: 8, label: "Description", value: shown.description },
        { name: "priority", type: "number", min: 1, label: "Priority", half: true, value: shown.card.priority, hint: "1 high, 2 usual, 3 low" },
        { name: "needs", label: "Depends on", half: true, value: shown.card.needs.join(", ") },
      ],
      button: "Save",
      submit: ({ title, description, priority, needs }) => done(patch(`tasks/${part(id)}`, { title, description, priority, depends_on: splitNames(needs) })),
    });
  } catch (error) {
    sayError(error);
  }
}

export function askStart(kind = store.cards.size > 0 ? "execute" : "run", prompt = "") {
  const session = store.session ?? {};
  const agents = (session.agents ?? []).map((name) => [name, name]);
  const kinds = [
    ["execute", "Open tasks (ralph execute)"],
    ["run", "A prompt (ralph run)"],
    ["story", "Stories (ralph story run)"],
  ];
  const dialog = openForm({
    title: "Start a run",
    lead: "It keeps running when you close this page.",
    fields: [
      { name: "kind", type: "select", label: "Work on", options: kinds, value: kind, onchange: (control) => showFieldsFor(dialog, control.value) },
      { name: "prompt", type: "text", label: "Prompt", value: prompt, placeholder: "Make the failing tests in tests/net pass" },
      { name: "tasks", label: "Only these tasks", placeholder: "all that are open" },
      { name: "agent", type: "select", label: "Agent", half: true, options: [["", `default (${session.default_agent || "first one found"})`], ...agents] },
      { name: "model", label: "Model", half: true, placeholder: "default" },
      { name: "jobs", type: "number", min: 1, max: 64, label: "Tasks at once", half: true, placeholder: "1" },
      { name: "max_iterations", type: "number", min: 1, label: "Maximum iterations", half: true, placeholder: "default" },
      { name: "budget_usd", type: "number", min: 0, step: "0.01", label: "Budget (USD)", half: true, placeholder: "no limit" },
      { name: "worktree", type: "check", label: "In a work tree of its own" },
      { name: "no_sandbox", type: "check", label: "Run without a sandbox, directly on this machine" },
    ],
    button: "Start",
    submit: startRun,
  });
  showFieldsFor(dialog, kind);
}

const FIELDS_ONLY_FOR = { prompt: ["run"], tasks: ["execute"], jobs: ["execute"], max_iterations: ["run", "story"], worktree: ["run"] };

function isFieldOf(name, kind) {
  return FIELDS_ONLY_FOR[name]?.includes(kind) ?? true;
}

function showFieldsFor(dialog, kind) {
  for (const name of Object.keys(FIELDS_ONLY_FOR)) {
    const control = dialog.querySelector(`[name="${name}"]`);
    control.closest("label").hidden = !isFieldOf(name, kind);
    if (name === "prompt") control.required = isFieldOf(name, kind);
  }
}

async function startRun(values) {
  const { kind } = values;
  const body = { kind };
  for (const [name, value] of Object.entries(values)) {
    if (isFieldOf(name, kind) && value !== "" && value !== null && value !== false) body[name] = name === "tasks" ? splitNames(value) : value;
  }
  const answer = await post("runs", body);
  if (answer.exit_code === 0) return firstLine(answer.output, 400) || "Nothing to do";
  if (answer.run && kind !== "execute") go("run", answer.run);
  return answer.run ? `Started ${answer.run}` : "Started";
}

function describeNewTask({ title, description, acceptance, command, id, priority, spec_id, needs }) {
  const criteria = acceptance.split("\n").map((line) => line.replace(/^[-*]\s*/, "").trim()).filter(Boolean);
  return {
    id: id || suggestId(),
    title,
    spec_id: spec_id || "main",
    ...(description && { description }),
    ...(priority !== null && { priority }),
    ...(needs && { dependencies: splitNames(needs) }),
    completion: {
      outcome: title,
      acceptance_criteria: criteria.length > 0 ? criteria : [title],
      ...(command && { coder: { verification_config: { command } } }),
    },
  };
}

/** The next free number after the highest there is. */
function suggestId() {
  const numbers = [...store.cards.keys()].map((id) => /^TASK-(\d+)$/.exec(id)?.[1]).filter(Boolean).map(Number);
  return `TASK-${String(Math.max(0, ...numbers) + 1).padStart(3, "0")}`;
}

function splitNames(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

async function done(request) {
  const answer = await request;
  return firstLine(answer.message, 400);
}
