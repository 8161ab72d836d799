// The stream of changes: reconnects by itself, without a loss, and rests while nobody looks.
import { buildUrl, openSession } from "./api.js";
import { applyChange, applyLines, applyReset } from "./store.js";

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15000;
const HIDDEN_MS = 20000; // a browser has few connections: a tab nobody sees gives its own back

let source = null;
let lastId = "";
let retryMs = FIRST_RETRY_MS;
let retryTimer = 0;
let hiddenTimer = 0;
let showState = () => {};

export function startFeed(onState) {
  showState = onState;
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("online", connect);
  connect();
}

/** Another repository was chosen: everything anew. */
export function restartFeed() {
  lastId = "";
  connect();
}

function connect() {
  close();
  if (document.hidden && lastId) return;
  source = new EventSource(buildUrl("events", { after: lastId }));
  source.addEventListener("open", () => {
    retryMs = FIRST_RETRY_MS;
    showState("live", "live");
  });
  source.addEventListener("error", onError);
  listen("reset", applyReset);
  listen("change", applyChange);
  listen("log", applyLines);
}

function listen(name, apply) {
  source.addEventListener(name, (message) => {
    lastId = message.lastEventId || lastId;
    apply(JSON.parse(message.data));
  });
}

function close() {
  clearTimeout(retryTimer);
  source?.close();
  source = null;
}

function onError() {
  showState("lost", "reconnecting");
  close(); // one way to come back, ours: the browser's own waits as long as it likes
  retryTimer = setTimeout(retry, retryMs);
  retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
}

async function retry() {
  try {
    await openSession(); // a server that was started anew has another secret
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      showState("lost", "signed out");
      return;
    }
  }
  connect();
}

function onVisibility() {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(() => {
      close();
      showState("connecting", "resting");
    }, HIDDEN_MS);
  } else if (!source) {
    connect();
  }
}
