// What has the words, in tasks, runs and their logs.
import { h, emptyState } from "./dom.js";
import { get } from "./api.js";
import { address } from "./router.js";
import { ago, firstLine, plain } from "./words.js";

const KINDS = { task: "Tasks", run: "Runs", line: "Log" };

export class SearchView {
  constructor() {
    this.title = h("h1", {});
    this.body = h("div", {});
    this.node = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", { class: "page-title" }, this.title)), this.body);
  }

  async show({ query }) {
    const words = query.get("q") ?? "";
    this.words = words;
    document.title = `${words} · ralph`;
    this.title.textContent = `Search: ${words}`;
    try {
      const answer = await get("search", { q: words });
      if (words === this.words) this.draw(answer);
    } catch (error) {
      this.body.replaceChildren(emptyState(plain(error.message), [error.hint ?? ""]));
    }
  }

  draw({ hits, more }) {
    const groups = Object.entries(KINDS).map(([kind, title]) => [title, hits.filter((hit) => hit.kind === kind)]);
    const panels = groups.filter(([, found]) => found.length > 0).map(([title, found]) => h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, title)), h("ul", { class: "items" }, found.map(buildHit))));
    this.body.replaceChildren(...(panels.length > 0 ? panels : [h("div", { class: "panel" }, emptyState("Nothing found", ["Every word has to be in a task, a run or a line of its log."]))]));
    if (more) this.body.append(h("p", { class: "soft" }, "There is more. Add a word to narrow it down."));
  }
}

function buildHit(hit) {
  const href = address(hit.kind === "task" ? "task" : "run", hit.id);
  return h("li", {}, h("div", { class: "line" }, h("a", { class: "link mono", href }, hit.id), h("span", {}, firstLine(hit.title, 200)), hit.at && h("span", { class: "soft" }, ago(hit.at))), hit.text && h("div", { class: "soft prose" }, plain(hit.text, 400)));
}
