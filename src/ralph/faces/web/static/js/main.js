// Puts the page together: which view is shown, the connection, the search, the keys.
import { h, setText, withCode } from "./dom.js";
import * as actions from "./actions.js";
import { chooseRepository, get, openSession, takeSecret } from "./api.js";
import { BoardView } from "./board.js";
import { CostsView } from "./costs.js";
import { restartFeed, startFeed } from "./feed.js";
import { openChoices } from "./dialogs.js";
import { listenToKeys, showHelp } from "./keys.js";
import { LogView } from "./logview.js";
import { RepositoriesView } from "./repositories.js";
import { RunView } from "./run.js";
import { RunsView } from "./runs.js";
import { go, parseAddress } from "./router.js";
import { SearchView } from "./search.js";
import { store, subscribe } from "./store.js";
import { StoriesView } from "./stories.js";
import { TaskView } from "./task.js";
import { plain } from "./words.js";

const NAV_OF = { run: "runs", task: "board" };
const search = document.getElementById("search");
const main = document.getElementById("main");
const views = {
  board: new BoardView(),
  runs: new RunsView(),
  run: new RunView(),
  task: new TaskView(),
  stories: new StoriesView(),
  costs: new CostsView(),
  log: new LogView(),
  search: new SearchView(),
  repositories: new RepositoriesView(openRepository),
};
let shown = null;

function showAddress() {
  const target = parseAddress(location.hash);
  const name = target.view in views ? target.view : "board";
  const isOther = shown?.name !== name;
  shown?.view.hide?.();
  shown = { name, view: views[name] };
  if (isOther) main.replaceChildren(shown.view.node);
  main.scrollTop = 0;
  for (const link of document.querySelectorAll(".nav a")) {
    if (link.dataset.view === (NAV_OF[name] ?? name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  shown.view.show(target);
  shown.view.setFilter?.(searchWords());
}

function searchWords() {
  return search.value.toLowerCase().split(/\s+/).filter(Boolean);
}

const NOTICE_MS = 4000; // what comes back sooner needs no words
let noticeTimer = 0;

function showLink(state, words) {
  const notice = document.getElementById("notice");
  document.getElementById("link-state").dataset.state = state;
  setText(document.getElementById("link-words"), words);
  clearTimeout(noticeTimer);
  if (state !== "lost") notice.hidden = true;
  else if (words === "signed out") showNotice("Signed out: the server was started again. Open the link that `ralph web` printed.");
  else noticeTimer = setTimeout(showNotice, NOTICE_MS, "The server does not answer; runs continue without it. Retrying… To start it: `ralph web`");
}

function showNotice(text) {
  const notice = document.getElementById("notice");
  notice.replaceChildren(...withCode(text));
  notice.hidden = false;
}

function showPlace() {
  const place = document.getElementById("place");
  if (store.session?.all_repositories || !store.head) return;
  setText(place, plain(store.head.place, 120));
  place.title = store.head.root;
}

async function showRepositories() {
  if (!store.session.all_repositories) return;
  const { repositories } = await get("repositories");
  const choice = h("select", { class: "plain-select", "aria-label": "Repository" }, repositories.map((each) => h("option", { value: each.key }, plain(each.name, 60))), h("option", { value: "*" }, "All repositories…"));
  choice.value = store.session.repository;
  choice.addEventListener("change", () => (choice.value === "*" ? go("repositories") : openRepository(choice.value)));
  document.getElementById("place").replaceChildren(choice);
}

function openRepository(key) {
  chooseRepository(key);
  const choice = document.querySelector("#place select");
  if (choice) choice.value = key;
  restartFeed();
  go("board");
  showAddress();
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).colorScheme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem("ralph-theme", root.dataset.theme);
  } catch {
    // storage is switched off: it lasts as long as the page
  }
  shown?.view.onTheme?.();
}

/** Typing narrows the view at once; Enter looks everywhere. */
function searchEverywhere() {
  if (search.value.trim()) go("search", "", { q: search.value.trim() });
}

function showMore() {
  openChoices("More", [
    ["Add a task", actions.askAddTask],
    ["Link for another browser", actions.showLink],
    ["Switch between light and dark", switchTheme],
    ["Keyboard shortcuts", showHelp],
  ]);
}

async function start() {
  takeSecret();
  document.getElementById("more").addEventListener("click", showMore);
  document.getElementById("theme").addEventListener("click", switchTheme);
  document.getElementById("start").addEventListener("click", () => actions.askStart());
  document.getElementById("add-task").addEventListener("click", actions.askAddTask);
  search.addEventListener("input", () => shown?.view.setFilter?.(searchWords()));
  search.addEventListener("keydown", (event) => event.key === "Enter" && searchEverywhere());
  try {
    store.session = await openSession();
  } catch (error) {
    main.replaceChildren(h("div", { class: "empty" }, h("strong", {}, plain(error.message)), h("p", {}, plain(error.hint || "Run ralph web and open the link it prints."))));
    showLink("lost", "signed out");
    return;
  }
  addEventListener("hashchange", showAddress);
  showAddress();
  showRepositories();
  subscribe((changes) => {
    if (changes.head) showPlace();
    shown?.view.update?.(changes);
    for (const view of [views.board, views.log]) if (view !== shown?.view) view.isStale = true;
  });
  startFeed(showLink);
  setInterval(() => shown?.view.tick?.(), 1000);
  listenToKeys({ shown: () => shown, search, lanes: views.board.lanes });
}

start();
