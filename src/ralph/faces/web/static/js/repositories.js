// Every repository of this machine that ralph has run in.
import { h, emptyState } from "./dom.js";
import { get } from "./api.js";
import { plain } from "./words.js";

export class RepositoriesView {
  constructor(open) {
    this.open = open;
    this.body = h("div", { class: "panel tall" });
    this.node = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", { class: "page-title" }, h("h1", {}, "Repositories"), h("p", { class: "soft" }, "Every repository of this machine that ralph has run in."))), this.body);
  }

  async show() {
    document.title = "Repositories · ralph";
    try {
      const { repositories } = await get("repositories");
      const head = h("tr", {}, h("th", { scope: "col" }, "Repository"), h("th", { scope: "col", class: "right" }, "Running"), h("th", { scope: "col", class: "right" }, "Tasks done"));
      this.body.replaceChildren(h("table", { class: "table" }, h("thead", {}, head), h("tbody", {}, repositories.map((each) => this.buildRow(each)))));
    } catch (error) {
      this.body.replaceChildren(emptyState(plain(error.message), [error.hint ?? ""]));
    }
  }

  buildRow(each) {
    const name = h("button", { type: "button", class: "button", onclick: () => this.open(each.key) }, plain(each.name, 100));
    return h("tr", { "data-repository": each.key }, h("td", {}, name, h("div", { class: "why" }, plain(each.problem || each.root, 300))), h("td", { class: "right" }, String(each.running)), h("td", { class: "right" }, each.tasks ? `${each.done}/${each.tasks}` : "—"));
  }
}
