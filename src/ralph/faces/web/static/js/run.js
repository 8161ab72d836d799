// One run: its iterations, what each came to, its checks with their output, cost, diff, snapshots and log.
import { h, emptyState, icon, setText } from "./dom.js";
import * as actions from "./actions.js";
import { get, part } from "./api.js";
import { buildDiff } from "./diff.js";
import { buildIteration, iterationTone } from "./iteration.js";
import { LogList, buildLogFilter } from "./loglist.js";
import { buildStateChip, titleOf } from "./runs.js";
import { address } from "./router.js";
import { workedSeconds } from "./store.js";
import { agentName, date, duration, humane, money, plain, plural, usage } from "./words.js";

const RELOAD_MS = 1000;

export class RunView {
  constructor() {
    this.node = h("div", { class: "page" });
    this.tab = "diff";
  }

  show({ id }) {
    this.id = id;
    this.shown = null;
    this.chosen = null; // the number of an iteration; null: the newest
    this.drawn = "";
    this.drawnIteration = this.diffOf = undefined;
    this.showsWholeDiff = false;
    document.title = `${id} · ralph`;
    this.head = h("div", {});
    this.strip = h("div", { class: "strip", role: "group", "aria-label": "Iterations" });
    this.left = h("div", {});
    this.log = new LogList({ label: `Log of run ${id}`, emptyWords: "No lines yet.", showsRun: false });
    this.right = this.buildRight();
    this.node.replaceChildren(this.head, h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Iterations")), this.strip), h("div", { class: "columns" }, this.left, this.right));
    this.head.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, id)));
    this.load();
    this.loadLog();
  }

  hide() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  update(changes) {
    const own = changes.lines.filter((line) => line.run === this.id);
    if (own.length > 0 && this.logIsLoaded) this.log.add(own);
    if (changes.reset || changes.runs.has(this.id)) this.reloadSoon();
  }

  tick() {
    const run = this.shown?.run;
    if (run?.active && this.elapsed) setText(this.elapsed, duration(Math.round(workedSeconds(run))));
  }

  onKey(key) {
    const run = this.shown?.run;
    if (!run) return false;
    const target = actions.runTarget(run);
    const numbers = this.shown.iterations.map((each) => each.iteration);
    const at = numbers.indexOf(this.current()?.iteration);
    if (key === "ArrowLeft" && at > 0) this.choose(numbers[at - 1]);
    else if (key === "ArrowRight" && at < numbers.length - 1) this.choose(numbers[at + 1]);
    else if (key === "p" && run.active) (run.paused_by ? actions.resume : actions.askPause)(target);
    else if (key === "n" && run.active) actions.askNote(target);
    else if (key === "x" && run.active) actions.askCancel(target);
    else if (key === "a" && run.question) actions.askAnswer(target, run.question);
    else if (key === "r" && !run.active && run.outcome !== "completed") actions.retry(target);
    else return false;
    return true;
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
      const shown = await get(`runs/${part(id)}`);
      if (id !== this.id) return;
      this.shown = shown;
    } catch (error) {
      if (!this.shown) this.node.replaceChildren(emptyState(plain(error.message), [error.hint || "See `ralph status` for the runs of this repository."], h("a", { class: "button", href: "#/runs" }, "All runs")));
      return;
    }
    this.draw();
  }

  async loadLog() {
    this.logIsLoaded = false;
    const id = this.id;
    let after = 0;
    try {
      for (let more = true; more && id === this.id; ) {
        const answer = await get(`runs/${part(id)}/log`, { after, limit: 500 });
        if (id !== this.id) return;
        this.log.add(answer.lines);
        more = answer.more && answer.next > after;
        after = answer.next;
      }
    } catch {
      // its page says what is wrong
    }
    this.logIsLoaded = true;
  }

  draw() {
    const { run, iterations } = this.shown;
    this.head.replaceChildren(...this.buildHead());
    const current = this.current();
    this.strip.replaceChildren(...(iterations.length > 0 ? iterations.map((each, index) => this.buildMark(each, index, current)) : [h("p", { class: "soft" }, run.active ? "The first agent has not started yet." : "No agent was started.")]));
    this.drawIteration(current);
  }

  current() {
    const { iterations } = this.shown;
    return iterations.find((each) => each.iteration === this.chosen) ?? iterations.at(-1);
  }

  choose(number) {
    this.chosen = number;
    this.draw();
  }

  buildHead() {
    const { run } = this.shown;
    this.elapsed = h("b", {}, duration(run.active ? Math.round(workedSeconds(run)) : run.seconds));
    const title = titleOf(run);
    const cost = [h("b", {}, money(run.cost_usd, "unknown")), this.shown.earlier_cost_usd ? ` (${money(this.shown.earlier_cost_usd)} before it was resumed)` : ""];
    const limit = run.limit && run.kind !== "execute" ? `/${run.limit}` : "";
    const facts = [
      [buildStateChip(run)],
      [`ralph ${run.kind}`],
      run.task ? ["Task ", run.kind === "execute" ? h("a", { class: "link", href: address("task", run.task) }, run.task) : h("b", {}, run.task)] : null,
      ["Agent ", h("b", {}, agentName(run.agent))],
      ["Iterations ", h("b", {}, `${run.iteration}${limit}`)],
      ["Time ", this.elapsed],
      ["Cost ", ...cost],
      this.shown.usage ? ["Tokens ", h("b", {}, usage(this.shown.usage))] : null,
      ["Started ", h("b", {}, date(run.started_at))],
    ];
    return [
      h(
        "div",
        { class: "page-head" },
        h("div", { class: "page-title" }, h("a", { class: "crumb", href: "#/runs" }, icon("back"), "Runs"), h("h1", {}, title), h("div", { class: "facts" }, facts.filter(Boolean).map((words) => h("span", {}, words)), h("span", { class: "mono" }, run.id))),
        this.buildActions(run),
      ),
      this.buildBanner(run),
    ].filter(Boolean);
  }

  buildActions(run) {
    const target = actions.runTarget(run);
    const button = (action, text, onclick, extra = "") => actions.can(action) && h("button", { type: "button", class: `button ${extra}`, "data-action": action, onclick }, text);
    const whileActive = [run.paused_by ? button("resume", "Resume", () => actions.resume(target)) : button("pause", "Pause", () => actions.askPause(target)), button("note", "Note", () => actions.askNote(target)), button("cancel", "Cancel", () => actions.askCancel(target), "danger")];
    const afterwards = [run.outcome !== "completed" && button("retry", run.kind === "execute" ? "Retry" : "Resume run", () => actions.retry(target))];
    return h("div", { class: "actions" }, run.question && button("answer", "Answer", () => actions.askAnswer(target, run.question), "primary"), run.active ? whileActive : afterwards);
  }

  buildBanner(run) {
    if (run.question) return banner("amber", "The agent asks", run.question);
    if (run.active && run.paused_by) return banner("amber", `Paused by ${run.paused_by}`, "No new iteration starts until you resume.");
    if (!run.active && run.outcome !== "completed") return banner(run.outcome === "interrupted" ? "amber" : "red", capitalize(humane(run.outcome || "ended")), run.why);
    return !run.active && run.why ? banner("green", "Completed", run.why) : null;
  }

  buildMark(each, index, current) {
    const tone = iterationTone(each, this.shown.run.strip[index]);
    const words = each.outcome ? humane(each.outcome) : this.shown.run.active ? "running" : "no report";
    const attributes = {
      type: "button",
      class: each.role ? "wide" : null,
      "data-tone": tone,
      "data-iteration": each.iteration,
      "aria-pressed": each === current ? "true" : "false",
      title: words,
      onclick: () => this.choose(each.iteration),
    };
    const hidden = (text) => h("span", { class: "visually-hidden" }, text);
    return h("button", attributes, hidden("Iteration "), h("b", {}, `${each.iteration}${each.role ? ` ${each.role}` : ""}`), h("span", {}, [duration(each.seconds), each.cost_usd ? money(each.cost_usd) : ""].filter(Boolean).join(" · ")), hidden(words));
  }

  drawIteration(current) {
    const signature = JSON.stringify([current, this.shown.notes, this.shown.snapshots.length, this.shown.run.active]);
    if (signature === this.drawn) return;
    const isOther = this.drawnIteration !== current?.iteration;
    this.drawn = signature;
    this.drawnIteration = current?.iteration;
    this.left.replaceChildren(...buildIteration(this.id, current, this.shown));
    if (this.tab !== "diff") this.fillPane();
    else if (isOther || wayOf(current) !== this.diffOf) this.loadDiff(current);
  }

  buildRight() {
    this.diffBox = h("div", { class: "tall" });
    this.snapshotBox = h("div", { class: "tall" });
    const filter = buildLogFilter((words, kind) => this.log.setFilter(words, kind));
    this.logBox = h("div", {}, h("div", { class: "panel-head" }, filter.words, filter.kind), this.log.node);
    this.promptBox = h("div", { class: "tall" });
    const panes = { diff: ["Diff", this.diffBox], log: ["Log", this.logBox], snapshots: ["Snapshots", this.snapshotBox], prompt: ["Prompt", this.promptBox] };
    const tabs = Object.entries(panes).map(([name, [title]]) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `pane-${name}`, "data-tab": name, onclick: () => this.openTab(name) }, title));
    this.tabButtons = tabs;
    this.panes = Object.entries(panes).map(([name, [, box]]) => h("div", { role: "tabpanel", id: `pane-${name}`, "aria-labelledby": `tab-${name}`, "data-pane": name }, box));
    const node = h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("div", { class: "tabs", role: "tablist", "aria-label": "Diff, log, snapshots, prompt" }, tabs)), this.panes);
    this.openTab(this.tab);
    return node;
  }

  openTab(name) {
    this.tab = name;
    for (const tab of this.tabButtons) tab.setAttribute("aria-selected", tab.dataset.tab === name ? "true" : "false");
    for (const pane of this.panes) pane.hidden = pane.dataset.pane !== name;
    if (name === "log") this.log.scrollToEnd();
    if (!this.shown) return;
    if (name === "diff") this.loadDiff(this.current());
    else this.fillPane();
  }

  fillPane() {
    if (this.tab === "snapshots") this.snapshotBox.replaceChildren(buildSnapshots(this.shown));
    if (this.tab === "prompt") this.promptBox.replaceChildren(h("pre", { class: "output", tabindex: "0" }, plain(this.shown.prompt, 200000) || (this.shown.run.kind === "execute" ? "Each stage has a prompt of its own, made from the task and what happened so far." : "The prompt is not on record.")));
  }

  async loadDiff(current) {
    this.diffOf = wayOf(current);
    const isWhole = this.showsWholeDiff;
    const wanted = `${this.id} ${isWhole || current?.iteration}`;
    this.diffWanted = wanted;
    if (!current) {
      this.diffBox.replaceChildren(h("p", { class: "diff-foot" }, "No changes yet."));
      return;
    }
    if (!isWhole && this.shown.run.active && !current.outcome) {
      this.diffBox.replaceChildren(this.buildDiffHead(current, ""), h("p", { class: "diff-foot" }, "The agent is at work. What it changed is shown when it ends."));
      return;
    }
    try {
      const answer = await get(`runs/${part(this.id)}/diff`, isWhole ? {} : { iteration: current.iteration });
      if (this.diffWanted !== wanted) return;
      const files = answer.files.length > 0 ? `${plural(answer.files.length, "file")} changed` : "";
      this.diffBox.replaceChildren(this.buildDiffHead(current, files), buildDiff(answer));
    } catch (error) {
      if (this.diffWanted === wanted) this.diffBox.replaceChildren(this.buildDiffHead(current, ""), h("p", { class: "diff-foot" }, plain([error.message, error.hint].filter(Boolean).join(". "))));
    }
  }

  /** Which diff is shown, and the way to the other. */
  buildDiffHead(current, files) {
    const choice = (isWhole, words) => h("button", { type: "button", "aria-pressed": String(isWhole === this.showsWholeDiff), "data-diff": isWhole ? "run" : "iteration", onclick: () => this.chooseDiff(isWhole) }, words);
    return h("div", { class: "diff-head" }, h("div", { class: "tabs", role: "group", "aria-label": "Which changes" }, choice(false, `Iteration ${current.iteration}`), choice(true, "Whole run")), h("span", {}, files));
  }

  chooseDiff(isWhole) {
    this.showsWholeDiff = isWhole;
    this.loadDiff(this.current());
  }
}

/** How far an iteration is: what it changed is known once it has ended. */
function wayOf(current) {
  return current ? `${current.outcome ?? ""} ${current.snapshot ?? ""}` : undefined;
}

function buildSnapshots(shown) {
  const { snapshots } = shown;
  if (snapshots.length === 0) return h("p", { class: "diff-foot" }, "No snapshots: this run is not in a git repository, or no agent has changed anything yet.");
  const rows = snapshots.map((each) => h("tr", {}, h("td", {}, plain(each.title, 200)), h("td", { class: "mono" }, each.commit.slice(0, 12)), h("td", { class: "right" }, date(each.at))));
  const newest = snapshots.at(-1).commit.slice(0, 12);
  return h("div", {}, h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["Snapshot", "Commit"].map((text) => h("th", { scope: "col" }, text)), h("th", { scope: "col", class: "right" }, "Made"))), h("tbody", {}, rows)), h("p", { class: "diff-foot" }, "To have the files of a snapshot in a folder of their own: ", h("code", {}, `ralph restore ${newest} --into ../${shown.run.id}`)));
}

export function banner(tone, title, text, ...buttons) {
  return h("div", { class: "banner", "data-tone": tone }, h("div", {}, h("strong", {}, title), text && h("p", {}, plain(text, 3000))), buttons);
}

function capitalize(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
