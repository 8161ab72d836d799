// One task: what is asked for, how far it is, what failed last, every attempt.
import { h, emptyState, icon } from "./dom.js";
import * as actions from "./actions.js";
import { get, part } from "./api.js";
import { buildNotes, panel } from "./iteration.js";
import { banner } from "./run.js";
import { address } from "./router.js";
import { LANE_TITLES, date, decisiveLine, duration, firstLine, humane, isoDate, money, plain } from "./words.js";

const RELOAD_MS = 1000;

export class TaskView {
  constructor() {
    this.node = h("div", { class: "page" });
  }

  show({ id }) {
    this.id = id;
    this.shown = null;
    this.drawn = "";
    document.title = `${id} · ralph`;
    this.node.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, id)));
    this.load();
  }

  hide() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  update(changes) {
    const run = this.shown?.card.run;
    if (changes.reset || changes.cards.has(this.id) || (run && changes.ended.has(run))) this.reloadSoon();
  }

  onKey(key) {
    const card = this.shown?.card;
    return card ? pressTaskKey(key, card) : false;
  }

  reloadSoon() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.load();
    }, RELOAD_MS);
  }

  async load() {
    const id = this.id;
    try {
      const shown = await get(`tasks/${part(id)}`);
      if (id !== this.id) return;
      this.shown = shown;
    } catch (error) {
      if (!this.shown) this.node.replaceChildren(emptyState(plain(error.message), [error.hint || "See `ralph task list`."], h("a", { class: "button", href: "#/" }, "Board")));
      return;
    }
    const signature = JSON.stringify(this.shown);
    if (signature !== this.drawn) this.draw();
    this.drawn = signature;
  }

  draw() {
    const { card } = this.shown;
    const left = [this.buildWanted(), this.buildAttempts(), this.buildIterations()];
    const right = [this.buildStages(), this.shown.notes.length > 0 && panel("Notes", buildNotes(this.shown.notes)), this.buildSentBack(), this.buildRuns()];
    this.node.replaceChildren(
      this.buildHead(card),
      ...this.buildBanners(card),
      h("div", { class: "columns wide-left" }, h("div", {}, left.filter(Boolean)), h("div", {}, right.filter(Boolean))),
    );
  }

  buildHead(card) {
    const facts = [
      [h("span", { class: "chip", "data-tone": card.paused_by ? "amber" : ({ done: "green", running: "blue", trouble: "red" }[card.tone] ?? "") }, card.paused_by ? `paused by ${card.paused_by}` : plain(card.text, 80))],
      ["Spec ", h("b", {}, card.spec)],
      ["Priority ", h("b", {}, String(card.priority))],
      ["Cost ", h("b", {}, money(this.shown.spent?.cost_usd ?? card.cost_usd, "unknown"))],
      card.needs.length > 0 ? ["After ", card.needs.flatMap((id, index) => [index > 0 && ", ", h("a", { class: "link", href: address("task", id) }, id)])] : null,
      this.shown.branch ? ["Branch ", h("span", { class: "mono" }, this.shown.branch)] : null,
      this.shown.assignee ? ["Assignee ", h("b", {}, this.shown.assignee)] : null,
      card.run ? ["Run ", h("a", { class: "link mono", href: address("run", card.run) }, card.run)] : null,
    ];
    return h("div", { class: "page-head" }, h("div", { class: "page-title" }, h("a", { class: "crumb", href: "#/" }, icon("back"), "Board"), h("h1", {}, `${card.id} `, plain(card.title, 400)), h("div", { class: "facts" }, facts.filter(Boolean).map((words) => h("span", {}, words)))), this.buildActions(card));
  }

  buildActions(card) {
    const target = actions.taskTarget(card.id);
    const button = (action, text, onclick, extra = "") => actions.can(action) && h("button", { type: "button", class: `button ${extra}`, "data-action": action, onclick }, text);
    const isOpen = isOpenTask(card);
    return h(
      "div",
      { class: "actions" },
      card.question && button("answer", "Answer", () => actions.askAnswer(target, card.question), "primary"),
      isOpen && (card.paused_by ? button("resume", "Resume", () => actions.resume(target)) : button("pause", "Pause", () => actions.askPause(target))),
      card.status !== "done" && button("note", "Note", () => actions.askNote(target)),
      canRetry(card) && button("retry", "Retry", () => actions.retry(target)),
      button("edit", "Edit", () => actions.askEditTask(card.id)),
      (isOpen || card.status === "blocked") && button("cancel", "Cancel", () => actions.askCancelTask(card), "danger"),
    );
  }

  buildBanners(card) {
    const { failure } = this.shown;
    const found = [];
    if (card.question) found.push(banner("amber", "The agent asks", card.question));
    if (card.paused_by) found.push(banner("amber", `Paused by ${card.paused_by}`, "No new iteration starts until you resume."));
    if (failure?.reason) found.push(this.buildFailure(failure));
    else if (card.reason && !card.question) found.push(banner(card.tone === "done" ? "green" : "red", plain(card.text, 80), card.reason));
    if (card.by_words.length > 0) found.push(banner("amber", "By the agent's own words only", `No command or judge confirmed: ${card.by_words.join(", ")}.`));
    return found;
  }

  buildFailure(failure) {
    const used = failure.iterations_used ? ` after ${failure.iterations_used} ${failure.iterations_used === 1 ? "iteration" : "iterations"}` : "";
    const node = banner("red", `Last failure: ${failure.stage ?? "task"}${used}`, String(failure.reason));
    if (failure.last_output) node.firstElementChild.append(h("details", {}, h("summary", {}, "Last output"), h("pre", { class: "output", tabindex: "0" }, plain(failure.last_output, 20000))));
    return node;
  }

  buildWanted() {
    const { card, description, outcome, acceptance } = this.shown;
    const isDone = card.status === "done";
    const criteria = acceptance.map((text) => h("li", {}, h("span", { class: "box", "data-ok": String(isDone), "aria-label": isDone ? "met" : "open", role: "img" }, isDone ? "☑" : "☐"), h("span", {}, plain(text, 1000))));
    return panel(
      "What is wanted",
      h(
        "div",
        { class: "panel-body" },
        outcome && outcome !== card.title && h("p", { class: "prose" }, plain(outcome, 4000)),
        description && h("p", { class: "prose soft" }, plain(description, 20000)),
        criteria.length > 0 ? h("ul", { class: "criteria" }, criteria) : h("p", { class: "soft" }, "No acceptance criteria: the task is judged by its title and description."),
      ),
    );
  }

  buildStages() {
    const { card, stages } = this.shown;
    const state = (stage) => (stage.passed || card.status === "done" ? "passed" : card.status === "in_progress" && card.lane === stage.role ? "now" : "open");
    const items = stages.map((stage) => {
      const isPassed = state(stage) === "passed";
      return h(
        "li",
        { "data-stage": stage.role },
        h("div", { class: "line" }, h("span", { class: "box", "data-ok": String(isPassed), role: "img", "aria-label": isPassed ? "passed" : "open" }, isPassed ? "☑" : "☐"), h("span", { class: "stage", "data-state": state(stage) }, LANE_TITLES[stage.role] ?? stage.role), h("span", { class: "soft" }, `${humane(stage.method)} · at most ${stage.max_iterations} iterations`)),
        h("div", { class: "soft" }, plain(firstLine(stage.description, 300))),
        stage.config.command && h("code", {}, plain(stage.config.command, 300)),
      );
    });
    return panel("Stages", h("ul", { class: "items" }, items));
  }

  buildAttempts() {
    const { attempts } = this.shown;
    if (attempts.length === 0) return panel("Verification attempts", h("p", { class: "panel-body soft" }, "None yet. An attempt is made when an agent says its stage is complete."));
    const items = [...attempts].reverse().map((attempt) =>
      h(
        "li",
        {},
        h("div", { class: "line" }, h("span", { class: "mark", "data-ok": String(attempt.verified) }, attempt.verified ? "✓" : "✗"), h("b", {}, `${attempt.agent} ${attempt.iteration || "manual"}`), h("span", { class: "soft" }, [humane(attempt.method), attempt.seconds ? duration(attempt.seconds) : "", isoDate(attempt.timestamp)].filter(Boolean).join(" · "))),
        h("div", { class: "prose" }, plain(attempt.reason, 2000)),
        !attempt.verified && attempt.detail && h("div", { class: "decisive" }, decisiveLine(attempt.detail)),
        attempt.detail && h("details", {}, h("summary", { class: "soft" }, "Output"), h("pre", { class: "output", tabindex: "0" }, plain(attempt.detail, 20000))),
      ),
    );
    return panel("Verification attempts", h("ul", { class: "items" }, items));
  }

  buildIterations() {
    const { iterations } = this.shown;
    if (iterations.length === 0) return null;
    const rows = [...iterations].reverse().map((each) =>
      h(
        "tr",
        {},
        h("td", { class: "tight" }, each.run ? h("a", { class: "link", href: address("run", each.run) }, turnOf(each)) : turnOf(each)),
        h("td", {}, humane(each.outcome || "ended"), h("div", { class: "why" }, firstLine(each.reason || (each.promise_found ? "promised" : "no promise"), 300))),
        h("td", { class: "right" }, duration((each.duration_ms ?? 0) / 1000)),
        h("td", { class: "right" }, money(each.cost_usd)),
      ),
    );
    const head = h("tr", {}, h("th", { scope: "col" }, "Turn"), h("th", { scope: "col" }, "Outcome"), h("th", { scope: "col", class: "right" }, "Time"), h("th", { scope: "col", class: "right" }, "Cost"));
    return panel("Iterations", h("table", { class: "table" }, h("thead", {}, head), h("tbody", {}, rows)));
  }

  buildSentBack() {
    const { sent_back: sentBack } = this.shown;
    if (sentBack.length === 0) return null;
    return panel("Changes requested", h("ul", { class: "items" }, [...sentBack].reverse().map((back) => h("li", {}, h("div", { class: "soft" }, `${plain(back.stage, 40)} · ${isoDate(back.at)}`), h("p", { class: "prose" }, plain(back.changes, 4000))))));
  }

  buildRuns() {
    return this.shown.runs.length > 0 ? panel("Runs", buildTaskRuns(this.shown.runs)) : null;
  }
}

function buildTaskRuns(runs) {
  return h("ul", { class: "items" }, runs.map((run) => h("li", { "data-run": run.id }, h("div", { class: "line" }, h("a", { class: "link mono", href: address("run", run.id) }, run.id), h("span", { class: "soft" }, [run.active ? "running" : humane(run.outcome), duration(run.seconds), money(run.cost_usd, ""), date(run.started_at)].filter(Boolean).join(" · "))))));
}

function turnOf(each) {
  return `${each.stage} ${each.ralph_iteration ?? each.iteration ?? ""}${each.ralph_max ? `/${each.ralph_max}` : ""}`;
}

function isOpenTask(card) {
  return card.status === "in_progress" || card.status === "todo";
}

export function canRetry(card) {
  return card.status === "blocked" || card.status === "cancelled" || (card.status === "todo" && Boolean(card.reason)) || card.tone === "trouble";
}

/** The keys of a task, on its page and on the board. */
export function pressTaskKey(key, card) {
  const target = actions.taskTarget(card.id);
  const isOpen = isOpenTask(card);
  if (key === "p" && isOpen) (card.paused_by ? actions.resume : actions.askPause)(target);
  else if (key === "n" && card.status !== "done") actions.askNote(target);
  else if (key === "a" && card.question) actions.askAnswer(target, card.question);
  else if (key === "r" && canRetry(card)) actions.retry(target);
  else if (key === "e") actions.askEditTask(card.id);
  else if (key === "x" && (isOpen || card.status === "blocked")) actions.askCancelTask(card);
  else if (key === "+") actions.changePriority(card, -1);
  else if (key === "-") actions.changePriority(card, 1);
  else return false;
  return true;
}
