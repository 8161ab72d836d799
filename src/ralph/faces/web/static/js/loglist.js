// A list of log lines that follows the newest, until someone scrolls up.
import { h, setAttribute, setText } from "./dom.js";
import { plain, timeOfDay } from "./words.js";

const MAX_NODES = 1500;
const NEAR_END = 40; // pixels
const KINDS = { said: "said", faint: "result", tool: "tool", good: "passed", bad: "failed", warning: "warning", heading: "loop" };
export const FILTERS = [
  ["", "Everything"],
  ["said", "What agents say"],
  ["tool", "Tools"],
  ["checks", "Checks and results"],
  ["trouble", "Failures and warnings"],
];
const FILTER_KINDS = { said: ["said"], tool: ["tool", "result"], checks: ["passed", "failed", "loop"], trouble: ["failed", "warning"] };

export class LogList {
  constructor({ label, emptyWords, showsRun = true }) {
    this.showsRun = showsRun;
    this.words = [];
    this.kinds = null;
    this.follows = true;
    this.empty = h("p", { class: "log-empty" }, emptyWords);
    this.list = h("div", {});
    this.node = h("div", { class: "log", role: "log", "aria-label": label, "aria-live": "off", tabindex: "0" }, this.list, this.empty);
    this.node.addEventListener("scroll", () => {
      this.follows = this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < NEAR_END;
    }, { passive: true });
  }

  clear() {
    this.list.replaceChildren();
    this.follows = true;
    setAttribute(this.empty, "hidden", null);
  }

  add(lines) {
    if (lines.length === 0) return;
    const nodes = lines.slice(-MAX_NODES).map((line) => this.buildLine(line));
    this.list.append(...nodes);
    const surplus = this.list.childElementCount - MAX_NODES;
    for (let index = 0; index < surplus; index += 1) this.list.firstElementChild.remove();
    setAttribute(this.empty, "hidden", "");
    if (this.follows) this.scrollToEnd();
  }

  setFilter(words, kind) {
    this.words = words;
    this.kinds = FILTER_KINDS[kind] ?? null;
    let shown = 0;
    for (const node of this.list.children) {
      node.hidden = !this.matches(node);
      shown += node.hidden ? 0 : 1;
    }
    setAttribute(this.empty, "hidden", shown > 0 ? "" : null);
    if (shown === 0 && this.list.childElementCount > 0) setText(this.empty, "No line matches the filter.");
    if (this.follows) this.scrollToEnd();
  }

  scrollToEnd() {
    this.node.scrollTop = this.node.scrollHeight;
  }

  matches(node) {
    if (this.kinds && !this.kinds.includes(node.dataset.kind)) return false;
    if (this.words.length === 0) return true;
    const text = node.textContent.toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  buildLine(line) {
    const who = this.showsRun ? line.label : line.role;
    const node = h(
      "div",
      { class: "log-line", "data-kind": KINDS[line.tone] ?? line.tone, "data-stage": line.role },
      h("span", { class: "log-time" }, timeOfDay(line.at)),
      h("span", { class: "log-who", title: plain(who, 200) }, plain(who, 200)),
      h("span", { class: "log-text" }, plain(line.text)),
    );
    node.hidden = !this.matches(node);
    return node;
  }
}

/** The fields above a log. */
export function buildLogFilter(apply) {
  const words = h("input", { class: "plain-input", type: "search", placeholder: "Filter", "aria-label": "Filter the log", autocomplete: "off" });
  const kind = h("select", { class: "plain-select", "aria-label": "Kind of lines" }, FILTERS.map(([value, text]) => h("option", { value }, text)));
  const run = () => apply(words.value.toLowerCase().split(/\s+/).filter(Boolean), kind.value);
  words.addEventListener("input", run);
  kind.addEventListener("change", run);
  return { words, kind };
}
