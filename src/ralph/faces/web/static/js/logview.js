// The log of all running agents on a page of its own.
import { h } from "./dom.js";
import { LogList, buildLogFilter } from "./loglist.js";
import { store } from "./store.js";

export class LogView {
  constructor() {
    this.list = new LogList({ label: "Log of all running agents", emptyWords: "What agents do appears here as it happens. To read the log of an ended run, open the run." });
    this.filter = buildLogFilter((words, kind) => this.list.setFilter(words, kind));
    const newest = h("button", { type: "button", class: "button", onclick: () => this.follow() }, "Newest");
    this.node = h("div", { class: "page log-page" }, h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h1", {}, "Log"), h("span", { class: "spread" }), this.filter.words, this.filter.kind, newest), this.list.node));
    this.isStale = true;
    this.isShown = false;
  }

  show() {
    document.title = "Log · ralph";
    this.isShown = true;
    if (this.isStale) this.refill();
    this.follow();
  }

  hide() {
    this.isShown = false;
  }

  update(changes) {
    if (!this.isShown) this.isStale = true;
    else if (changes.reset) this.refill();
    else this.list.add(changes.lines);
  }

  setFilter(words) {
    this.filter.words.value = words.join(" ");
    this.list.setFilter(words, this.filter.kind.value);
  }

  follow() {
    this.list.follows = true;
    this.list.scrollToEnd();
  }

  refill() {
    this.isStale = false;
    this.list.clear();
    this.list.add(store.lines);
  }
}
