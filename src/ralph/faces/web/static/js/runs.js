// Runs of every loop, the newest first.
import { h, emptyState } from "./dom.js";
import * as actions from "./actions.js";
import { get } from "./api.js";
import { address } from "./router.js";
import { store } from "./store.js";
import { agentName, ago, describeDoing, duration, firstLine, humane, money, outcomeTone, plain } from "./words.js";

const PAGE = 50;

export class RunsView {
  constructor() {
    this.rows = [];
    this.words = [];
    this.body = h("div", { class: "panel tall" });
    this.kind = h("select", { class: "plain-select", "aria-label": "Kind of runs", onchange: () => this.load() }, [["", "All loops"], ["run", "ralph run"], ["execute", "ralph execute"], ["story", "ralph story"], ["supervise", "ralph supervise"]].map(([value, text]) => h("option", { value }, text)));
    this.more = h("button", { type: "button", class: "button", hidden: true, onclick: () => this.loadMore() }, "Show older runs");
    this.node = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", { class: "page-title" }, h("h1", {}, "Runs"), h("p", { class: "soft" }, "Every loop that ran in this repository.")), this.kind), this.body, this.more);
  }

  show() {
    document.title = "Runs · ralph";
    this.load();
  }

  update(changes) {
    const listed = new Set(this.rows.map((run) => run.id));
    const isNew = [...changes.runs].some((id) => !listed.has(id));
    if (changes.reset || changes.ended.size > 0 || (isNew && !changes.lines.length)) this.load();
  }

  setFilter(words) {
    this.words = words;
    this.draw();
  }

  async load() {
    try {
      const answer = await get("runs", { limit: Math.max(PAGE, this.rows.length), kind: this.kind.value });
      this.take(answer, []);
    } catch (error) {
      this.body.replaceChildren(emptyState("The runs could not be read", [error.message, error.hint]));
    }
  }

  async loadMore() {
    const before = this.rows.at(-1)?.started_at;
    this.take(await get("runs", { limit: PAGE, before, kind: this.kind.value }), this.rows);
  }

  take(answer, known) {
    this.rows = [...known, ...answer.runs];
    this.more.hidden = !answer.more;
    this.draw();
  }

  draw() {
    const shown = this.rows.filter((run) => hasWords(run, this.words));
    if (shown.length > 0) this.body.replaceChildren(buildRunTable(shown));
    else if (this.words.length > 0) this.body.replaceChildren(emptyState("No run matches", ["Clear the search to see all of them."]));
    else this.body.replaceChildren(emptyState("No runs yet", ["Start one here, or type `ralph run -p PROMPT` in a terminal."], h("button", { type: "button", class: "button primary", onclick: () => actions.askStart("run") }, "Start a run")));
  }
}

function hasWords(run, words) {
  const text = `${run.id} ${run.kind} ${run.agent} ${run.task} ${run.title} ${run.outcome} ${run.why}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The state of a run as a chip. */
export function buildStateChip(run) {
  if (run.paused_by) return h("span", { class: "chip", "data-tone": "amber" }, `paused by ${run.paused_by}`);
  if (run.question) return h("span", { class: "chip", "data-tone": "amber" }, "question");
  if (run.active) return h("span", { class: "chip", "data-tone": run.alive === false ? "amber" : "blue" }, run.alive === false ? "cut off" : "running");
  return h("span", { class: "chip", "data-tone": outcomeTone(run.outcome) }, humane(run.outcome || "ended"));
}

function describeNow(run) {
  if (run.active) return firstLine(run.activity, 200) || describeDoing(run.doing);
  return firstLine(run.why, 200) || firstLine(run.failure, 200);
}

const MARK_WORDS = { passed: "passed", failed: "failed", open: "without a check", active: "running" };
const MOST_MARKS = 40;

/** A small square for each iteration. */
function buildMiniStrip(strip) {
  if (strip.length === 0) return null;
  const words = strip.map((mark) => MARK_WORDS[mark] ?? mark).join(", ");
  return h("div", { class: "mini-strip", role: "img", "aria-label": `Iterations: ${words}`, title: words }, strip.slice(-MOST_MARKS).map((mark) => h("i", { "data-mark": mark })));
}

export function buildRunTable(runs) {
  const head = ["Run", "State", "Loop", "Agent"].map((text) => h("th", { scope: "col", class: text === "Loop" || text === "Agent" ? "hide-small" : null }, text));
  const numbers = ["Iterations", "Time", "Cost", "Started"].map((text) => h("th", { scope: "col", class: `right${text === "Cost" || text === "Started" ? "" : " hide-small"}` }, text));
  return h("table", { class: "table runs" }, h("thead", {}, h("tr", {}, head, numbers)), h("tbody", {}, runs.map(buildRow)));
}

/** A task's run by the task's own title. */
export function titleOf(run) {
  const card = run.kind === "execute" ? store.cards.get(run.task) : null;
  return card ? plain(card.title, 200) : firstLine(run.title || run.task || run.id, 200);
}

function buildRow(run) {
  const title = titleOf(run);
  return h(
    "tr",
    { "data-run": run.id },
    h("td", {}, h("a", { class: "row-link", href: address("run", run.id) }, title), h("div", { class: "why" }, describeNow(run)), buildMiniStrip(run.strip)),
    h("td", { class: "tight" }, buildStateChip(run)),
    h("td", { class: "tight hide-small" }, run.task && run.kind === "execute" ? h("a", { class: "link", href: address("task", run.task) }, run.task) : `ralph ${run.kind}`),
    h("td", { class: "tight hide-small" }, agentName(run.agent)),
    h("td", { class: "right hide-small" }, run.limit && run.kind !== "execute" ? `${run.iteration}/${run.limit}` : String(run.iteration)),
    h("td", { class: "right hide-small" }, duration(run.seconds)),
    h("td", { class: "right" }, money(run.cost_usd)),
    h("td", { class: "right" }, ago(run.started_at)),
  );
}
