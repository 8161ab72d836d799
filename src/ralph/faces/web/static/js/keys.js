// Keys: the same letters as on the board in a terminal, as far as a browser lets us.
import * as actions from "./actions.js";
import { isDialogOpen, openHelp } from "./dialogs.js";
import { go } from "./router.js";
import { store } from "./store.js";
import { pressTaskKey } from "./task.js";

const PLACES = { b: "board", r: "runs", s: "stories", c: "costs", l: "log" };
const CHORD_MS = 1200;
const SHORTCUTS = [
  [["/"], "Narrow this view; with Enter, search tasks, runs and logs"],
  [["g", "b"], "Board"],
  [["g", "r"], "Runs"],
  [["g", "s"], "Stories"],
  [["g", "c"], "Costs"],
  [["g", "l"], "Log"],
  [["←", "↑", "↓", "→"], "Move between cards, or between iterations of a run (or h j k l)"],
  [["Enter"], "Open the card"],
  [["p"], "Pause or resume"],
  [["n"], "Send a note"],
  [["a"], "Answer a question"],
  [["r"], "Retry a failed task, resume a run that ended"],
  [["x"], "Cancel"],
  [["e"], "Edit the task"],
  [["+", "-"], "Raise or lower its priority"],
  [["t"], "Add a task"],
  [["s"], "Start a run"],
  [["Esc"], "Back to the board"],
  [["?"], "Show this list"],
];
const MOVES = { ArrowLeft: [-1, 0], h: [-1, 0], ArrowRight: [1, 0], l: [1, 0], ArrowUp: [0, -1], k: [0, -1], ArrowDown: [0, 1], j: [0, 1] };

export function showHelp() {
  openHelp(SHORTCUTS);
}

export function listenToKeys({ shown, search, lanes }) {
  let chordAt = 0;
  document.getElementById("help").addEventListener("click", showHelp);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isDialogOpen()) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") leaveField(event.target, search);
      return;
    }
    const isChord = Date.now() - chordAt < CHORD_MS;
    chordAt = event.key === "g" && !isChord ? Date.now() : 0;
    const isHandled = isChord ? goTo(event.key) : press(event.key, shown(), search, lanes);
    if (isHandled) event.preventDefault();
  });
}

function goTo(key) {
  if (!(key in PLACES)) return false;
  go(PLACES[key] === "board" ? "" : PLACES[key]);
  return true;
}

function press(key, shown, search, lanes) {
  if (key === "/") search.focus();
  else if (key === "?") showHelp();
  else if (key === "t") actions.askAddTask();
  else if (key === "s") actions.askStart();
  else if (key === "Escape") go("");
  else if (shown.view.onKey?.(key)) return true;
  else if (shown.name === "board") return pressOnBoard(key, lanes);
  else return false;
  return true;
}

function pressOnBoard(key, lanes) {
  if (key in MOVES) return move(lanes, ...MOVES[key]);
  const card = store.cards.get(document.activeElement?.dataset.task);
  return card ? pressTaskKey(key, card) : false;
}

/** From card to card; sideways to the nearest lane that has one. */
function move(lanes, across, down) {
  const rows = lanes.visible();
  const here = document.activeElement;
  const column = rows.findIndex((cards) => cards.includes(here));
  if (column < 0) {
    focusCard(lanes, rows.find((cards) => cards.length > 0)?.[0]);
    return true;
  }
  const at = rows[column].indexOf(here);
  if (down) focusCard(lanes, rows[column][at + down]);
  for (let next = column + across; across && next >= 0 && next < rows.length; next += across) {
    if (rows[next].length > 0) {
      focusCard(lanes, rows[next][Math.min(at, rows[next].length - 1)]);
      break;
    }
  }
  return true;
}

function focusCard(lanes, card) {
  if (!card) return;
  lanes.choose(card.dataset.stage);
  card.focus();
}

function isTyping(target) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function leaveField(field, search) {
  if (field === search && search.value) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  }
  field.blur();
}
