// How amounts, times and texts of agents read.

const LONGEST_LINE = 4000; // characters: more nobody reads in one line

export const LANES = ["todo", "coder", "reviewer", "tester", "qa", "done"];
export const LANE_TITLES = { todo: "Todo", coder: "Coder", reviewer: "Reviewer", tester: "Tester", qa: "QA", done: "Done" };

export function money(usd, unknown = "—") {
  if (usd === null || usd === undefined) return unknown;
  if (usd > 0 && usd < 0.005) return "<$0.01";
  return "$" + usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "—";
  if (seconds < 10) return `${(Math.round(Math.max(0, seconds) * 10) / 10).toFixed(1)}s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours) return `${hours}h ${minutes}m`;
  return minutes ? `${minutes}m ${whole % 60}s` : `${whole}s`;
}

/** A clock that runs: 0:07, 12:40, 1:02:03. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

export function tokens(count) {
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 1000 ? `${Math.round(count / 1000)}K` : String(count);
}

export function usage(used) {
  if (!used) return "";
  const cached = (used.cache_read_tokens ?? 0) + (used.cache_write_tokens ?? 0);
  const input = used.input_tokens ?? 0;
  const whole = input >= cached ? input : input + cached;
  return `${tokens(whole)} in${cached ? ` (${tokens(cached)} cached)` : ""} / ${tokens(used.output_tokens ?? 0)} out`;
}

export function plural(count, noun, many = `${noun}s`) {
  return `${count.toLocaleString("en-US")} ${count === 1 ? noun : many}`;
}

const CLOCK_FORMAT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY_FORMAT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export function timeOfDay(at) {
  return CLOCK_FORMAT.format(at * 1000);
}

export function date(at) {
  return at ? DAY_FORMAT.format(at * 1000) : "—";
}

export function ago(at, now = Date.now() / 1000) {
  const seconds = now - at;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return date(at);
}

// Escape sequences of terminals; control characters; marks that turn the direction of a line around.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** An agent's text as it may be shown: no escapes, hidden marks made visible, no line without an end. */
export function plain(text, longest = LONGEST_LINE) {
  const clean = String(text ?? "")
    .replace(ESCAPES, "")
    .replace(CONTROLS, "")
    .replace(TURNING, (mark) => `[U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
  if (clean.length <= longest) return clean;
  return `${clean.slice(0, longest)}… (${(clean.length - longest).toLocaleString("en-US")} more characters)`;
}

export function firstLine(text, longest = 200) {
  return plain(String(text ?? "").trim().split("\n", 1)[0], longest);
}

const OUTCOME_TONES = {
  completed: "green",
  finished: "green",
  interrupted: "amber",
  cancelled: "amber",
  limited: "amber",
  lost: "amber",
  blocked: "amber",
  not_started: "",
};

export function outcomeTone(outcome) {
  if (!outcome) return "";
  return OUTCOME_TONES[outcome] ?? "red";
}

/** An agent by its name, where its command is a whole path. */
export function agentName(command) {
  return plain(String(command ?? "").split("/").at(-1), 60);
}

const TELLING = /\b(fail(ed|ure)?|error|assert|expected|exception|traceback|not found|denied)\b/i;

/** Of all that a check printed, the line that tells most: the last one that speaks of a failure, else the last. */
export function decisiveLine(output) {
  const lines = String(output ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  return plain(lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1) ?? "", 300);
}

export function isoDate(text) {
  const at = Date.parse(text);
  return Number.isNaN(at) ? plain(text, 40) : date(at / 1000);
}

export function humane(name) {
  return String(name ?? "").replaceAll("_", " ");
}

const DOING_WORDS = { run_agent: "the agent is working", check: "checks are running", verify: "verifying", save: "committing", land: "merging", wait: "waiting", await: "waiting", pause: "paused", survey: "reading the stories" };

export function describeDoing(doing) {
  return doing ? (DOING_WORDS[doing] ?? humane(doing)) : "starting";
}
