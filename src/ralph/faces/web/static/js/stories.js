// The stories of `ralph story run`, with their reviews and what they cost.
import { h, emptyState } from "./dom.js";
import { get } from "./api.js";
import { duration, humane, money, plain, plural } from "./words.js";

export class StoriesView {
  constructor() {
    this.words = [];
    this.body = h("div", { class: "panel tall" });
    this.lead = h("p", { class: "soft" }, "What ralph story run works through.");
    this.node = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", { class: "page-title" }, h("h1", {}, "Stories"), this.lead)), this.body);
  }

  show() {
    document.title = "Stories · ralph";
    this.load();
  }

  update(changes) {
    if (changes.reset || changes.ended.size > 0 || changes.lines.some((line) => line.tone === "heading")) this.load();
  }

  setFilter(words) {
    this.words = words;
    if (this.shown) this.draw();
  }

  async load() {
    try {
      this.shown = await get("stories");
      this.draw();
    } catch (error) {
      this.body.replaceChildren(emptyState(plain(error.message), [error.hint]));
    }
  }

  draw() {
    const { shown } = this;
    if (shown.stories.length === 0) {
      const isMissing = !shown.problem || shown.problem.includes("No such file");
      this.body.replaceChildren(isMissing ? emptyState("No stories here yet", ["Create a list with `ralph story init`, then start it with `ralph story run`."]) : emptyState(plain(shown.problem), [shown.hint]));
      return;
    }
    const done = shown.stories.filter((story) => story.done).length;
    this.lead.textContent = [plain(shown.project, 200), `${done}/${shown.stories.length} approved`, plural(shown.iterations, "iteration"), duration(shown.seconds), money(shown.cost_usd, "")].filter(Boolean).join(" · ");
    const rows = shown.stories.filter((story) => this.words.every((word) => `${story.id} ${story.title} ${story.status}`.toLowerCase().includes(word))).map(buildRow);
    const head = h("tr", {}, h("th", { scope: "col" }, "Story"), h("th", { scope: "col" }, "State"), ["Reviews", "Iterations", "Time"].map((text) => h("th", { scope: "col", class: "right hide-small" }, text)), h("th", { scope: "col", class: "right" }, "Cost"));
    this.body.replaceChildren(h("table", { class: "table" }, h("thead", {}, head), h("tbody", {}, rows)));
  }
}

function buildRow(story) {
  const tone = story.done ? "green" : /change|reject/.test(story.status) ? "amber" : "";
  return h(
    "tr",
    { "data-story": story.id },
    h("td", {}, h("span", { class: "mono soft" }, story.id), " ", plain(story.title, 300)),
    h("td", { class: "tight" }, h("span", { class: "chip", "data-tone": tone }, humane(story.status))),
    h("td", { class: "right hide-small" }, String(story.reviews)),
    h("td", { class: "right hide-small" }, String(story.iterations)),
    h("td", { class: "right hide-small" }, story.seconds ? duration(story.seconds) : "—"),
    h("td", { class: "right" }, money(story.cost_usd)),
  );
}
