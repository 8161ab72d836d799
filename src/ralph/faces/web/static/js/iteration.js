// One iteration of a run in full: outcome, cost, checks with what they printed, commits, notes.
import { h } from "./dom.js";
import { get, part } from "./api.js";
import { date, duration, humane, money, plain, usage } from "./words.js";

const STRIP_TONES = { passed: "green", failed: "red", active: "blue", open: "" };

export function iterationTone(each, mark) {
  if (mark === "open" && ["interrupted", "limited", "overloaded", "offline"].includes(each.outcome)) return "amber";
  return STRIP_TONES[mark] ?? "";
}

/** What stands beside the diff. */
export function buildIteration(run, each, shown) {
  const panels = [];
  if (each) panels.push(panel(`Iteration ${each.iteration}`, buildFacts(each, shown.run.kind)), panel("Checks", buildChecks(run, each.checks)));
  if (each?.saved) panels.push(panel("Commit", buildSaved(each.saved)));
  if (each?.reviewed) panels.push(panel("Review", h("div", { class: "panel-body prose" }, humane(each.reviewed.status ?? "no verdict"), each.reviewed.feedback && `\n${plain(each.reviewed.feedback, 4000)}`)));
  if (each?.landed) panels.push(panel("Merge", buildLanded(each.landed)));
  if (each?.remarks.length) panels.push(panel("What happened on the way", each.remarks.map((remark) => h("p", { class: "remark" }, `${humane(remark.kind)}: ${plain(remark.text, 2000)}`))));
  if (shown.notes.length > 0) panels.push(panel("Notes", buildNotes(shown.notes)));
  if (shown.before?.checks.length) panels.push(panel("Checks before the first iteration", buildChecks(run, shown.before.checks)));
  if (shown.unread > 0) panels.push(panel("Journal", h("p", { class: "panel-body" }, `${shown.unread} rows of the journal cannot be read.`)));
  return panels;
}

export function panel(title, ...content) {
  return h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, title)), content);
}

function buildFacts(each, kind) {
  const pairs = [
    ["Outcome", each.outcome ? humane(each.outcome) : "running"],
    ["Detail", each.outcome === "finished" ? "" : plain(each.detail, 2000)],
    ["Role", each.role && `${each.role}${each.turns ? ` ${each.turn}/${each.turns}` : ""}`],
    [kind === "execute" ? "Task" : "Story", each.story],
    ["Time", duration(each.seconds)],
    ["Cost", money(each.cost_usd, "unknown")],
    ["Tokens", usage(each.usage)],
    ["Tool calls", each.tools ? String(each.tools) : ""],
    ["Exit code", each.exit_code ? String(each.exit_code) : ""],
    ["Started", each.started_at ? date(each.started_at) : ""],
    ["Snapshot", each.snapshot ? each.snapshot.slice(0, 12) : ""],
  ];
  const rows = pairs.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  return h("dl", { class: "panel-body pairs" }, rows);
}

function buildChecks(run, checks) {
  if (checks.length === 0) return h("p", { class: "panel-body soft" }, "No checks ran.");
  return checks.map((check) => buildCheck(run, check));
}

function buildCheck(run, check) {
  const mark = h("span", { class: "mark", "data-ok": String(check.passed) }, check.passed ? "✓" : "✗");
  const state = h("span", { class: "visually-hidden" }, check.passed ? "passed" : "failed");
  const facts = [check.exit_code ? `exit ${check.exit_code}` : "", check.seconds ? duration(check.seconds) : "", check.cost_usd ? money(check.cost_usd) : ""].filter(Boolean).join(" · ");
  const line = [mark, state, h("span", { class: "name" }, plain(check.name, 400)), h("span", { class: "soft number" }, facts)];
  const reason = check.reason && !check.passed ? h("p", { class: "remark" }, plain(check.reason, 3000)) : null;
  if (!check.run_log) return h("div", { class: "check" }, h("div", { class: "check-plain" }, line), reason);
  const output = h("pre", { class: "output", tabindex: "0", "aria-label": `Output of ${plain(check.name, 100)}` }, "Loading…");
  const details = h("details", { class: "check", "data-check": check.name }, h("summary", {}, line), reason, output);
  details.addEventListener("toggle", () => details.open && loadOutput(run, check.run_log, output), { once: true });
  if (!check.passed) details.open = true;
  return details;
}

async function loadOutput(run, name, output) {
  try {
    const answer = await get(`runs/${part(run)}/outputs/${part(name)}`);
    const cut = answer.truncated ? `… (the end of ${answer.size.toLocaleString("en-US")} bytes)\n` : "";
    const lines = answer.text.split("\n").map((line) => plain(line));
    output.textContent = cut + (lines.join("\n").trim() || "It printed nothing.");
  } catch (error) {
    output.textContent = plain(error.message);
  }
}

function buildSaved(saved) {
  return h("div", { class: "panel-body prose" }, [plain(saved.message, 4000) || saved.done.join(", "), ...saved.problems.map((text) => `✗ ${plain(text, 1000)}`)].filter(Boolean).join("\n"));
}

function buildLanded(landed) {
  const words = landed.done ? `Merged as ${landed.commit.slice(0, 12)}` : landed.conflict || landed.red || landed.problem || (landed.stale ? "The target branch moved on; it is tried again." : "Not merged");
  return h("div", { class: "panel-body prose" }, plain(words, 4000));
}

export function buildNotes(notes) {
  return h("ul", { class: "items" }, notes.map((note) => h("li", {}, h("div", { class: "line soft" }, `${note.kind === "answer" ? "Answer" : "Note"} by ${plain(note.author, 100)} · ${date(note.at)}`, h("span", { class: "chip", "data-tone": note.heard ? "green" : "amber" }, note.heard ? "in a prompt" : "waits for the next prompt")), h("p", { class: "prose" }, plain(note.text, 4000)))));
}
