// The lanes and their cards: one node a card, made once, and only what changed is written.
import { arrange, h, setAttribute, setShare, setText } from "./dom.js";
import { store } from "./store.js";
import { LANES, LANE_TITLES, agentName, money, plain, plural } from "./words.js";
import { address } from "./router.js";

const EMPTY_WORDS = { todo: "No open tasks", done: "Nothing done yet" };

export class Lanes {
  constructor() {
    this.cards = new Map(); // id → node and its parts
    this.lanes = new Map(LANES.map((name) => [name, buildLane(name)]));
    this.filter = [];
    this.node = h("div", { class: "lanes" }, [...this.lanes.values()].map((lane) => lane.node));
    this.tabs = h("div", { class: "lane-tabs", role: "tablist", "aria-label": "Lanes" }, LANES.map((name) => this.buildTab(name)));
    this.chosen = "";
  }

  /** Words that a card must have to be shown. */
  setFilter(words) {
    this.filter = words;
    for (const [id, parts] of this.cards) parts.node.hidden = !this.matches(store.cards.get(id));
    this.count();
  }

  repaint() {
    for (const [id, parts] of this.cards) {
      if (!store.cards.has(id)) this.removeCard(id, parts);
    }
    for (const card of store.cards.values()) this.paintCard(card, false);
    this.order(LANES);
    if (!this.chosen && store.cards.size > 0) this.choose(this.findBusiest());
  }

  update(changes) {
    if (changes.reset) return this.repaint();
    const touched = new Set();
    for (const id of changes.cards) {
      const card = store.cards.get(id);
      const before = this.cards.get(id)?.lane;
      if (before) touched.add(before);
      if (card) {
        this.paintCard(card, true);
        touched.add(card.lane);
      } else if (before) {
        this.removeCard(id, this.cards.get(id));
      }
    }
    this.order(changes.ordered ? LANES : touched);
    if (!this.chosen && store.cards.size > 0) this.choose(this.findBusiest());
    return undefined;
  }

  choose(name) {
    this.chosen = name;
    for (const [lane, { node }] of this.lanes) node.classList.toggle("chosen", lane === name);
    for (const tab of this.tabs.children) setAttribute(tab, "aria-selected", tab.dataset.lane === name ? "true" : "false");
  }

  /** Cards a person can see, lane by lane, for the arrow keys. */
  visible() {
    return LANES.map((name) => [...this.lanes.get(name).list.children].filter((node) => node.dataset.task && !node.hidden));
  }

  findBusiest() {
    const running = [...store.cards.values()].find((card) => card.status === "in_progress");
    if (running) return running.lane;
    return [...store.cards.values()].some((card) => card.lane === "todo") ? "todo" : "done";
  }

  buildTab(name) {
    const count = h("span", { class: "number" }, "0");
    this.lanes.get(name).tabCount = count;
    const attributes = { type: "button", role: "tab", "data-lane": name, "aria-selected": "false", "aria-controls": `lane-${name}`, onclick: () => this.choose(name) };
    return h("button", attributes, `${LANE_TITLES[name]} `, count);
  }

  matches(card) {
    if (!card || card.status === "cancelled") return Boolean(card) && this.filter.length > 0 && hasWords(card, this.filter);
    return this.filter.length === 0 || hasWords(card, this.filter);
  }

  paintCard(card, isNews) {
    let parts = this.cards.get(card.id);
    if (!parts) {
      parts = buildCard(card);
      this.cards.set(card.id, parts);
    }
    const moved = isNews && parts.lane && parts.lane !== card.lane;
    parts.lane = card.lane;
    writeCard(parts, card);
    parts.node.hidden = !this.matches(card);
    if (moved) {
      parts.node.classList.remove("moved");
      requestAnimationFrame(() => parts.node.classList.add("moved"));
    }
  }

  removeCard(id, parts) {
    parts.node.remove();
    this.cards.delete(id);
  }

  order(names) {
    const wanted = new Map([...names].map((name) => [name, []]));
    for (const card of store.cards.values()) wanted.get(card.lane)?.push(this.cards.get(card.id).node);
    for (const [name, nodes] of wanted) arrange(this.lanes.get(name).list, nodes);
    this.count();
  }

  count() {
    const counts = new Map(LANES.map((name) => [name, 0]));
    for (const card of store.cards.values()) {
      if (this.matches(card)) counts.set(card.lane, (counts.get(card.lane) ?? 0) + 1);
    }
    for (const [name, lane] of this.lanes) {
      const count = counts.get(name);
      setText(lane.count, String(count));
      setText(lane.tabCount, String(count));
      setAttribute(lane.empty, "hidden", count > 0 ? "" : null);
      setText(lane.empty, this.filter.length > 0 ? "No match" : EMPTY_WORDS[name] ?? "Empty");
    }
  }
}

function hasWords(card, words) {
  const text = `${card.id} ${card.title} ${card.spec} ${card.text} ${card.agent}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function buildLane(name) {
  const count = h("span", {}, "0");
  const list = h("div", { class: "lane-list" });
  const empty = h("p", { class: "lane-empty" }, EMPTY_WORDS[name] ?? "Empty");
  const title = h("h2", { class: "lane-head", id: `lane-title-${name}` }, h("i"), LANE_TITLES[name], count);
  const cards = h("div", { class: "lane-cards", tabindex: "0", role: "group", "aria-label": `${LANE_TITLES[name]} tasks` }, list, empty);
  const node = h("section", { class: "lane", id: `lane-${name}`, "data-stage": name, "aria-labelledby": `lane-title-${name}` }, title, cards);
  return { node, list, count, empty };
}

function buildCard(card) {
  const parts = {
    id: h("span", {}),
    cost: h("span", {}),
    title: h("div", { class: "card-title" }),
    state: h("span", {}),
    agent: h("span", {}),
    reason: h("div", { class: "card-reason" }),
    fill: h("span", {}),
    lane: "",
  };
  parts.bar = h("div", { class: "card-bar" }, parts.fill);
  parts.node = h(
    "a",
    { class: "card", href: address("task", card.id), "data-task": card.id },
    h("div", { class: "card-head" }, parts.id, parts.cost),
    parts.title,
    h("div", { class: "card-state" }, parts.state, parts.agent),
    parts.reason,
    parts.bar,
  );
  return parts;
}

function writeCard(parts, card) {
  setAttribute(parts.node, "data-tone", card.question ? "trouble" : card.tone);
  setAttribute(parts.node, "data-stage", card.lane);
  setAttribute(parts.node, "data-status", card.status);
  setText(parts.id, card.priority === 1 ? `${card.id} ↑` : card.id);
  setText(parts.cost, card.cost_usd ? money(card.cost_usd) : "");
  setText(parts.title, plain(card.title, 300));
  setText(parts.state, describeState(card));
  setText(parts.agent, describeWork(card));
  const reason = card.question || card.reason || (card.status === "done" ? "" : card.failure);
  setText(parts.reason, reason ? plain(reason, 300) : "");
  setAttribute(parts.reason, "hidden", reason ? null : "");
  const share = card.max_iterations ? card.iteration / card.max_iterations : 0;
  setAttribute(parts.bar, "hidden", card.status === "in_progress" && card.max_iterations ? null : "");
  setShare(parts.fill, share);
}

function describeWork(card) {
  if (card.question || card.paused_by) return ""; // there is no room for more
  if (card.status === "in_progress") return card.agent ? `· ${agentName(card.agent)}` : "";
  return card.iterations > 0 ? `· ${plural(card.iterations, "iteration")}` : "";
}

function describeState(card) {
  if (card.question) return "asks a question";
  if (card.paused_by) return `paused by ${card.paused_by}`;
  return plain(card.text, 120);
}
