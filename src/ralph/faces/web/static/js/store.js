// What the server told last: cards, active runs, the latest log lines. Views read it and hear what changed.

const MAX_LINES = 2000;
const PAINT_MS = 110; // at most nine paints a second, however much happens

export const store = {
  session: null,
  head: null,
  cards: new Map(), // by id, in the board's order
  runs: new Map(), // active ones, and the newest of those without a task
  lines: [],
  activity: new Map(), // by run: the last thing it did
  clockOffset: 0, // seconds the server's clock is ahead of ours
};

const listeners = new Set();
let pending = emptyChanges();
let timer = 0;

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function activeRuns() {
  return [...store.runs.values()].filter((run) => run.active);
}

/** How long a run has worked; one that is paused does not. */
export function workedSeconds(run) {
  if (!run.active || run.paused_by) return run.seconds;
  return run.changed_at ? run.seconds + serverNow() - run.changed_at : serverNow() - run.started_at;
}

export function serverNow() {
  return Date.now() / 1000 + store.clockOffset;
}

export function applyReset(board) {
  store.cards = new Map(board.cards.map((card) => [card.id, card]));
  store.runs = new Map(board.runs.map((run) => [run.id, run]));
  store.lines = [];
  store.activity.clear();
  pending = emptyChanges();
  pending.reset = true;
  takeHead(board);
  addLines(board.lines ?? []);
  schedule();
}

export function applyChange(change) {
  takeHead(change);
  for (const id of change.gone ?? []) {
    store.cards.delete(id);
    pending.cards.add(id);
  }
  for (const card of change.cards ?? []) {
    store.cards.set(card.id, card);
    pending.cards.add(card.id);
  }
  for (const run of change.runs ?? []) {
    if (!run.active && store.runs.get(run.id)?.active) pending.ended.add(run.id);
    store.runs.set(run.id, run);
    pending.runs.add(run.id);
  }
  for (const id of change.runs_gone ?? []) {
    store.runs.delete(id);
    store.activity.delete(id);
    pending.runs.add(id);
    pending.ended.add(id);
  }
  if (change.order) {
    const known = store.cards;
    store.cards = new Map(change.order.filter((id) => known.has(id)).map((id) => [id, known.get(id)]));
    for (const [id, card] of known) if (!store.cards.has(id)) store.cards.set(id, card);
    pending.ordered = true;
  }
  schedule();
}

export function applyLines(told) {
  addLines(told.lines ?? []);
  schedule();
}

function takeHead(message) {
  store.head = message.head;
  store.clockOffset = message.now - Date.now() / 1000;
  pending.head = true;
}

function addLines(lines) {
  for (const line of lines) {
    store.lines.push(line);
    pending.lines.push(line);
    store.activity.set(line.run, line);
    pending.runs.add(line.run);
  }
  if (store.lines.length > MAX_LINES) store.lines.splice(0, store.lines.length - MAX_LINES);
  if (pending.lines.length > MAX_LINES) pending.lines.splice(0, pending.lines.length - MAX_LINES);
}

function emptyChanges() {
  return { reset: false, head: false, ordered: false, cards: new Set(), runs: new Set(), ended: new Set(), lines: [] };
}

function schedule() {
  if (!timer) timer = setTimeout(() => requestAnimationFrame(paint), PAINT_MS);
}

function paint() {
  timer = 0;
  const changes = pending;
  pending = emptyChanges();
  for (const listener of listeners) listener(changes);
}
