// A unified diff, file by file, each line a text node.
import { h } from "./dom.js";
import { plain, plural } from "./words.js";

const LINES_AT_ONCE = 1500; // of one file; the rest is a click away
const OPEN_FILES = 12;
const WORTH_READING = /^(new|deleted|old|rename|copy|similarity|Binary|\\)/; // of what stands above the lines; the rest is git's own
const OWN_FOLDER = ".ralph/"; // logs of checks and the like: last, and folded

export function buildDiff(answer) {
  const files = splitFiles(answer.text);
  if (files.length === 0) return h("p", { class: "diff-foot" }, "No changes.");
  const nodes = files.map((file, index) => buildFile(file, index < OPEN_FILES && !file.name.startsWith(OWN_FOLDER)));
  const foot = answer.truncated ? h("p", { class: "diff-foot" }, "The diff is too long to be shown whole. See all of it with git.") : null;
  return h("div", { class: "diff" }, nodes, foot);
}

function splitFiles(text) {
  const files = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) files.push({ name: nameOf(line), lines: [], added: 0, removed: 0, inHunk: false });
    const file = files.at(-1);
    if (!file) continue; // a summary above the first file
    if (line.startsWith("@@")) file.inHunk = true;
    if (file.inHunk && line.startsWith("+")) file.added += 1;
    if (file.inHunk && line.startsWith("-")) file.removed += 1;
    const kind = kindOf(line, file.inHunk);
    if (kind !== "head" || WORTH_READING.test(line)) file.lines.push({ kind, text: line });
  }
  for (const file of files) if (file.lines.at(-1)?.text === "") file.lines.pop();
  const isOwn = (file) => file.name.startsWith(OWN_FOLDER);
  return [...files.filter((file) => !isOwn(file)), ...files.filter(isOwn)];
}

function nameOf(line) {
  const found = / b\/(.*)$/.exec(line) ?? / "b\/(.*)"$/.exec(line);
  return found ? found[1] : line.slice("diff --git ".length);
}

function kindOf(line, inHunk) {
  if (line.startsWith("@@")) return "hunk";
  if (!inHunk) return "head";
  if (line.startsWith("+")) return "add";
  if (line.startsWith("-")) return "cut";
  return line.startsWith("\\") ? "head" : "same";
}

function buildFile(file, isOpen) {
  const lines = h("div", { class: "diff-lines", tabindex: "0", role: "group", "aria-label": `Changes of ${plain(file.name, 200)}` });
  const fill = () => lines.childElementCount === 0 && fillLines(lines, file.lines, 0);
  if (isOpen) fill();
  const summary = h("summary", {}, h("b", {}, plain(file.name, 300)), h("span", { class: "diff-plus" }, `+${file.added}`), h("span", { class: "diff-minus" }, `−${file.removed}`));
  return h("details", { class: "diff-file", open: isOpen, ontoggle: fill }, summary, lines);
}

function fillLines(parent, lines, from) {
  const upTo = Math.min(lines.length, from + LINES_AT_ONCE);
  parent.append(...lines.slice(from, upTo).map((line) => h("div", { "data-kind": line.kind }, plain(line.text, 1000) || " ")));
  if (upTo < lines.length) {
    const rest = lines.length - upTo;
    const more = h("button", { type: "button", class: "button", onclick: () => { more.remove(); fillLines(parent, lines, upTo); } }, `Show ${plural(rest, "more line")}`);
    parent.append(more);
  }
}
