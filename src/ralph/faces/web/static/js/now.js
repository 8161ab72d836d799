// What needs a person and what runs, side by side in one row that never changes its height.
import { arrange, h, iconButton, setAttribute, setShare, setText, withCode } from "./dom.js";
import * as actions from "./actions.js";
import { activeRuns, store, workedSeconds } from "./store.js";
import { address } from "./router.js";
import { LANE_TITLES, agentName, clock, describeDoing, firstLine, money, plain } from "./words.js";

const MOST_PROBLEMS = 12; // more are counted, and found in the lanes

export class Now {
  constructor() {
    this.tiles = new Map();
    this.node = h("div", { class: "now", role: "region", "aria-label": "Running and waiting for you", tabindex: "0" });
    this.idle = buildIdle();
  }

  update() {
    const wanted = [];
    const cards = [...store.cards.values()];
    const asking = cards.filter((card) => card.question);
    const failed = cards.filter((card) => card.tone === "trouble" && !card.question);
    for (const card of asking) wanted.push(this.tile(`q:${card.id}`, () => new QuestionTile(actions.taskTarget(card.id), address("task", card.id))).write(card.title, card.question));
    const runs = [...store.runs.values()];
    for (const run of runs) {
      if (run.question && !store.cards.has(run.task)) wanted.push(this.tile(`q:${run.id}`, () => new QuestionTile(actions.runTarget(run), address("run", run.id))).write(run.title, run.question));
    }
    for (const run of activeRuns()) wanted.push(this.tile(`r:${run.id}`, () => new RunTile(run)).write(run));
    for (const card of failed.slice(0, MOST_PROBLEMS)) wanted.push(this.tile(`f:${card.id}`, () => new FailedTile(card)).write(card));
    if (activeRuns().length === 0) wanted.push(this.idle.write(cards));
    this.keep(wanted);
  }

  tick() {
    for (const tile of this.tiles.values()) tile.tick?.();
  }

  tile(key, make) {
    let tile = this.tiles.get(key);
    if (!tile) {
      tile = make();
      tile.key = key;
      this.tiles.set(key, tile);
    }
    return tile;
  }

  keep(wanted) {
    const kept = new Set(wanted.map((tile) => tile.key));
    for (const key of this.tiles.keys()) if (!kept.has(key)) this.tiles.delete(key);
    arrange(this.node, wanted.map((tile) => tile.node));
  }
}

class RunTile {
  constructor(run) {
    this.run = run;
    this.title = h("a", { class: "tile-title", href: address("run", run.id) });
    this.name = h("span", { class: "tile-name" });
    this.chip = h("span", { class: "chip" });
    this.doing = h("div", { class: "tile-doing" });
    this.fill = h("span", {});
    this.facts = h("span", { class: "tile-facts" });
    this.pulse = h("span", { class: "pulse on", "aria-hidden": "true" });
    const target = () => actions.runTarget(this.run);
    const name = run.task || run.id;
    this.pause = iconButton("pause", `Pause ${name}`, () => actions.askPause(target()));
    this.resume = iconButton("play", `Resume ${name}`, () => actions.resume(target()));
    const note = actions.can("note") && iconButton("note", `Send a note to ${name}`, () => actions.askNote(target()));
    const cancel = actions.can("cancel") && iconButton("stop", `Cancel ${name}`, () => actions.askCancel(target()));
    this.node = h(
      "article",
      { class: "tile", "data-run": run.id, "aria-label": `Running: ${name}` },
      h("div", { class: "tile-head" }, this.pulse, this.name, h("span", { class: "spread" }), this.chip),
      this.title,
      this.doing,
      h("div", { class: "tile-bar" }, this.fill),
      h("div", { class: "tile-foot" }, this.facts, actions.can("pause") && this.pause, actions.can("resume") && this.resume, note, cancel),
    );
  }

  write(run) {
    this.run = run;
    const card = store.cards.get(run.task);
    const isTask = run.kind === "execute" && card;
    setAttribute(this.node, "data-stage", isTask ? card.lane : null);
    setText(this.name, isTask ? run.task : `ralph ${run.kind}`);
    setText(this.title, isTask ? plain(card.title, 120) : firstLine(run.title || run.task || run.id, 120));
    const [iteration, limit] = isTask && card.max_iterations ? [card.iteration, card.max_iterations] : [run.iteration, run.limit];
    setText(this.chip, `${isTask ? LANE_TITLES[card.lane] : "Iteration"} ${iteration}${limit ? `/${limit}` : ""}`);
    setShare(this.fill, limit ? iteration / limit : 0);
    const paused = run.paused_by || card?.paused_by;
    const last = store.activity.get(run.id);
    setText(this.doing, paused ? `paused by ${paused}` : plain(run.activity || last?.text, 200) || describeDoing(run.doing));
    this.pulse.classList.toggle("on", !paused);
    setAttribute(this.pause, "hidden", paused ? "" : null);
    setAttribute(this.resume, "hidden", paused ? null : "");
    this.tick();
    return this;
  }

  tick() {
    const { run } = this;
    const parts = [clock(workedSeconds(run)), agentName(run.agent), run.cost_usd ? money(run.cost_usd) : ""];
    setText(this.facts, parts.filter(Boolean).join(" · "));
  }
}

class QuestionTile {
  constructor(target, href) {
    this.question = "";
    this.title = h("a", { class: "tile-title", href });
    this.doing = h("div", { class: "tile-doing" });
    const answer = h("button", { type: "button", class: "button primary", onclick: () => actions.askAnswer(target, this.question) }, "Answer");
    this.node = h(
      "article",
      { class: "tile", "data-tone": "question", "aria-label": `Question from ${target.id}` },
      h("div", { class: "tile-head" }, h("span", { class: "tile-name" }, target.id), h("span", { class: "spread" }), h("span", { class: "chip", "data-tone": "amber" }, "question")),
      this.title,
      this.doing,
      h("div", { class: "tile-foot" }, h("span", { class: "tile-facts" }, "waits for your answer"), actions.can("answer") && answer),
    );
  }

  write(title, question) {
    this.question = question;
    setText(this.title, firstLine(title, 120));
    setText(this.doing, plain(question, 300));
    return this;
  }
}

class FailedTile {
  constructor(card) {
    this.title = h("a", { class: "tile-title", href: address("task", card.id) });
    this.chip = h("span", { class: "chip", "data-tone": "red" });
    this.doing = h("div", { class: "tile-doing" });
    const target = actions.taskTarget(card.id);
    const retry = h("button", { type: "button", class: "button", onclick: () => actions.retry(target) }, "Retry");
    this.node = h(
      "article",
      { class: "tile", "data-tone": "trouble", "aria-label": `Needs attention: ${card.id}` },
      h("div", { class: "tile-head" }, h("span", { class: "tile-name" }, card.id), h("span", { class: "spread" }), this.chip),
      this.title,
      this.doing,
      h("div", { class: "tile-foot" }, h("span", { class: "tile-facts" }), actions.can("retry") && retry),
    );
  }

  write(card) {
    setText(this.title, plain(card.title, 120));
    setText(this.chip, plain(card.text, 40));
    setText(this.doing, plain(card.reason, 300) || "See its page for the last attempt.");
    return this;
  }
}

function buildIdle() {
  const lead = h("div", {});
  const start = h("button", { type: "button", class: "button", onclick: () => actions.askStart() }, "Start a run");
  const node = h("div", { class: "tile idle" }, lead, start);
  let shown = "";
  return {
    key: "idle",
    node,
    write(cards) {
      const open = cards.filter((card) => card.status === "todo").length;
      const words = open > 0 ? `Nothing is running. ${open} open ${open === 1 ? "task" : "tasks"}: start here or with \`ralph execute\`.` : "Nothing is running. Start a run here or with `ralph run -p PROMPT`.";
      if (words !== shown) lead.replaceChildren(...withCode((shown = words)));
      return this;
    },
  };
}
