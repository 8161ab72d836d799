// Short words about what was done, or why not; read out by screen readers.
import { h } from "./dom.js";
import { plain } from "./words.js";

const SHOWN_MS = 5000;
const ERROR_SHOWN_MS = 12000;

export function say(text) {
  show(h("div", { class: "toast" }, plain(text)), SHOWN_MS);
}

export function sayError(error) {
  const hint = error.hint ? h("small", {}, plain(error.hint)) : null;
  show(h("div", { class: "toast bad" }, plain(error.message), hint), ERROR_SHOWN_MS);
}

function show(node, ms) {
  const region = document.getElementById("toasts");
  region.append(node);
  while (region.childElementCount > 4) region.firstElementChild.remove();
  node.addEventListener("click", () => node.remove());
  setTimeout(() => node.remove(), ms);
}
