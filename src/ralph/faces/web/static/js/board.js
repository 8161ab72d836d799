// The board: summary, what needs you and what runs, lanes, the latest of the log.
import { h, emptyState, setAttribute, setShare, setText } from "./dom.js";
import * as actions from "./actions.js";
import { Lanes } from "./lanes.js";
import { LogList, buildLogFilter } from "./loglist.js";
import { Now } from "./now.js";
import { buildRunTable } from "./runs.js";
import { activeRuns, serverNow, store } from "./store.js";
import { clock, money, plain } from "./words.js";

export class BoardView {
  constructor() {
    this.lanes = new Lanes();
    this.now = new Now();
    this.log = new LogList({ label: "Log of all running agents", emptyWords: "What agents do appears here as it happens." });
    const filter = buildLogFilter((words, kind) => this.log.setFilter(words, kind));
    this.fold = h("button", { type: "button", class: "icon-button small", "aria-label": "Fold the log", "aria-expanded": "true", onclick: () => this.toggleLog() }, "▾");
    this.dock = h("section", { class: "dock", "aria-label": "Log" }, h("div", { class: "dock-head" }, h("h2", {}, "Log"), filter.words, filter.kind, this.fold), this.log.node);
    this.summary = new Summary();
    this.noTasks = h("div", { class: "panel no-tasks-panel", hidden: true });
    this.node = h("div", { class: "board" }, this.summary.node, this.now.node, h("div", { class: "lane-area" }, this.lanes.tabs, this.lanes.node, this.noTasks), this.dock);
    this.isShown = false;
    this.isStale = true;
  }

  show() {
    this.isShown = true;
    document.title = `${store.head?.place ?? "ralph"} · board`;
    if (this.isStale) this.update({ reset: true, lines: store.lines, cards: new Set(), runs: new Set() });
    this.log.scrollToEnd();
  }

  hide() {
    this.isShown = false;
  }

  update(changes) {
    if (!this.isShown) {
      this.isStale = true;
      return;
    }
    if (!store.head) return;
    const anew = changes.reset || this.isStale;
    this.isStale = false;
    this.lanes.update(anew ? { ...changes, reset: true } : changes);
    this.now.update();
    this.summary.update();
    if (anew) {
      this.log.clear();
      this.log.add(store.lines);
    } else {
      this.log.add(changes.lines);
    }
    this.showTasksOrRuns(anew || changes.runs.size > changes.lines.length || changes.cards.size > 0);
  }

  tick() {
    this.now.tick();
    this.summary.tick();
  }

  setFilter(words) {
    this.lanes.setFilter(words);
  }

  toggleLog() {
    const folded = this.dock.classList.toggle("folded");
    setAttribute(this.fold, "aria-expanded", folded ? "false" : "true");
    setText(this.fold, folded ? "▴" : "▾");
  }

  /** Without tasks there is nothing to put in lanes: the latest runs are shown, or what to type. */
  showTasksOrRuns(isNews) {
    const without = store.cards.size === 0;
    this.node.classList.toggle("no-tasks", without);
    setAttribute(this.lanes.node, "hidden", without ? "" : null);
    setAttribute(this.lanes.tabs, "hidden", without ? "" : null);
    setAttribute(this.noTasks, "hidden", without ? null : "");
    if (!without || (!isNews && this.noTasks.childElementCount > 0)) return;
    const runs = [...store.runs.values()].sort((one, other) => other.started_at - one.started_at);
    this.noTasks.replaceChildren(runs.length > 0 ? buildRecentRuns(runs) : buildFirstSteps());
  }
}

function buildRecentRuns(runs) {
  return h("div", {}, h("div", { class: "panel-head" }, h("h2", {}, "Latest runs"), h("a", { class: "link", href: "#/runs" }, "All runs")), buildRunTable(runs));
}

function buildFirstSteps() {
  const start = h("button", { type: "button", class: "button primary", onclick: () => actions.askStart("run") }, "Start a run");
  const add = h("button", { type: "button", class: "button", onclick: actions.askAddTask }, "Add a task");
  return emptyState(
    "Nothing here yet",
    ["Start with a prompt: `ralph run -p \"Make the failing tests pass\"`", "Or add tasks, `ralph task create` or `ralph task import FILE.yaml`, then `ralph execute`"],
    start,
    add,
  );
}

class Summary {
  constructor() {
    this.done = h("span", { class: "part-done" });
    this.running = h("span", { class: "part-running" });
    this.trouble = h("span", { class: "part-trouble" });
    this.bar = h("div", { class: "progress", role: "progressbar", "aria-label": "Tasks done", "aria-valuemin": "0" }, this.done, this.running, this.trouble);
    this.figures = Object.fromEntries(["tasks", "running", "trouble", "spent", "time"].map((name) => [name, figure()]));
    this.expectation = h("span", {});
    this.pause = h("button", { type: "button", class: "button", onclick: () => (store.head.paused_by ? actions.resumeAll() : actions.askPauseAll()), hidden: true }, "Pause all");
    this.stop = h("button", { type: "button", class: "button danger", onclick: actions.askStopAll, hidden: true }, "Stop all");
    this.node = h(
      "div",
      { class: "summary" },
      h("h1", { class: "visually-hidden" }, "Board"),
      this.bar,
      h("div", { class: "figures" }, Object.values(this.figures).map((one) => one.node), this.expectation),
      h("span", { class: "spread" }),
      h("div", { class: "summary-buttons" }, this.pause, this.stop),
    );
    this.figures.trouble.node.classList.add("bad");
  }

  update() {
    const { head } = store;
    const failed = [...store.cards.values()].filter((card) => card.tone === "trouble" || card.question).length;
    const working = [...store.cards.values()].filter((card) => card.status === "in_progress").length;
    const total = head.total || 0;
    setAttribute(this.bar, "aria-valuenow", head.done);
    setAttribute(this.bar, "aria-valuemax", total || 1);
    setAttribute(this.bar, "hidden", total ? null : "");
    setShare(this.done, total ? head.done / total : 0);
    setShare(this.running, total ? working / total : 0);
    setShare(this.trouble, total ? failed / total : 0);
    write(this.figures.tasks, total ? `${head.done}/${total}` : "", total === 1 ? "task done" : "tasks done");
    write(this.figures.running, head.running ? String(head.running) : "", "running");
    write(this.figures.trouble, failed ? String(failed) : "", failed === 1 ? "needs you" : "need you");
    write(this.figures.spent, head.spent_usd === null ? "" : money(head.spent_usd), "spent");
    setText(this.expectation, plain(head.problem || head.expectation, 300));
    this.expectation.classList.toggle("problem", Boolean(head.problem));
    const isExecuting = activeRuns().some((run) => run.kind === "execute");
    setAttribute(this.stop, "hidden", isExecuting ? null : "");
    setAttribute(this.pause, "hidden", isExecuting || head.paused_by ? null : "");
    setText(this.pause, head.paused_by ? "Resume all" : "Pause all");
    this.tick();
  }

  tick() {
    const since = store.head?.since;
    write(this.figures.time, since ? clock(serverNow() - since) : "", "");
  }
}

function figure() {
  const value = h("b", {});
  const label = h("span", {});
  return { node: h("span", {}, value, " ", label), value, label };
}

function write(one, value, label) {
  setAttribute(one.node, "hidden", value === "" ? "" : null);
  setText(one.value, value);
  setText(one.label, label);
}
