"""What the page shows: safe from what agents print, readable on both sizes, by keyboard and by screen reader."""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.browser import AXE, OpenPage, find_serious_problems
from support.browser_room import PageRoom, wait_until
from support.stories import make_approval, make_story, write_plan
from support.workshop import RALPH_ARGV

pytestmark = pytest.mark.browser

HOSTILE_WORDS = (
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m",
    "\u202egnp.exe\u2066 \u200f",
    "x" * 100_000,
    "</div></body><a href='javascript:document.title=1'>click</a>",
    "${document.title='taken'} {{7*7}} &lt;b&gt;",
)
VIEWS = ("", "runs", "stories", "costs", "log", "task/T-1", "task/T-2")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageRoom]:
    """A task that is done, one that failed, one that is open, and a run, all by an agent of ill will."""
    room = PageRoom(tmp_path_factory.mktemp("told"))
    room.say(*HOSTILE_WORDS)
    room.add_tasks("T-1")
    room.add_tasks("T-2", title="<img src=x onerror=alert(1)>", description="<script>alert(2)</script>")
    room.work_badly("T-2")
    assert room.workshop.ralph("execute", "-j", "2").returncode == 1
    room.add_tasks("T-3")
    assert room.workshop.ralph("run", "-p", "<b>Make it</b>\nwork", "-m", "1").returncode == 0
    (room.repo / "ralph").mkdir()
    write_plan(room.repo, make_story("US-1", notes="done", **make_approval(1)), make_story("US-2", title="<u>Two</u>"))
    yield room
    room.close()


@pytest.fixture(scope="module")
def link(told: PageRoom) -> str:
    return told.serve()


@pytest.fixture
def page(link: str, open_page: OpenPage) -> Any:
    return open_page(link)


def show(page: Any, address: str) -> None:
    page.evaluate(f"location.hash = '#/{address}'")
    page.wait_for_selector(".panel, .board")
    page.wait_for_load_state("networkidle") if address not in ("", "log") else None


def find_run(page: Any) -> str:
    show(page, "runs")
    return str(page.locator("tr[data-run]").first.get_attribute("data-run"))


def test_nothing_an_agent_prints_becomes_markup(page: Any) -> None:
    before = set(page.evaluate("[...document.querySelectorAll('img, script, iframe, object')].map(n => n.src || '')"))
    run = find_run(page)

    for address in (*VIEWS, f"run/{run}"):
        show(page, address)
        if address.startswith("run/"):
            page.locator("[data-tab=log]").click()
            page.wait_for_selector(".log-line:has-text('<script>document.title')")
            shown = page.locator("[data-pane=log]").inner_text()
            assert "\x1b" not in shown
            assert "\u202e" not in shown
        found = page.evaluate("[...document.querySelectorAll('img, script, iframe, object')].map(n => n.src || '')")
        assert {source for source in found if "/static/" not in source} <= before
        assert page.evaluate("document.querySelectorAll('[onerror], a[href^=javascript]').length") == 0
        assert "taken" not in page.title()


def test_every_view_fits_its_window(page: Any, open_page: OpenPage) -> None:
    for address in (*VIEWS, f"run/{find_run(page)}"):
        show(page, address)
        width = page.evaluate(
            "Math.max(document.documentElement.scrollWidth, document.getElementById('main').scrollWidth)"
        )
        assert width <= open_page.size[0], address


def test_axe_finds_nothing_serious(link: str, open_page: OpenPage) -> None:
    if not AXE.exists():
        pytest.skip("NOT RUN: axe-core is missing (npm)")
    scheme = "dark" if open_page.is_phone else "light"
    page = open_page(link, bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    problems = {}
    for address in (*VIEWS, f"run/{find_run(page)}"):
        show(page, address)
        problems[address] = find_serious_problems(page)
    for key in ("s", "t", "?"):
        show(page, "")
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        problems[key] = find_serious_problems(page)
        page.keyboard.press("Escape")
    assert {address: found for address, found in problems.items() if found} == {}


def test_the_task_page_tells_the_last_failure_first(page: Any) -> None:
    show(page, "task/T-2")
    page.wait_for_selector(".banner[data-tone=red]")

    assert "Last failure: coder after 2 iterations" in page.locator(".banner").first.inner_text()
    assert page.locator("h1").inner_text() == "T-2 <img src=x onerror=alert(1)>"
    show(page, "task/T-1")
    page.wait_for_selector(".criteria .box[data-ok=true]")
    assert page.locator(".stage[data-state=passed]").count() == 4


def test_everything_is_reached_by_keys(page: Any, open_page: OpenPage) -> None:
    for key, view in (("r", "runs"), ("c", "costs"), ("l", "log"), ("s", "stories"), ("b", "")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_selector(f".nav a[data-view={view or 'board'}][aria-current=page]")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.task") in ("T-2", "T-3")
    page.keyboard.press("Enter")
    page.wait_for_selector(".page h1:has-text('T-')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".board")
    page.keyboard.press("/")
    page.keyboard.type("T-3")
    visible = page.locator(".card:not([hidden])").evaluate_all("nodes => nodes.map(node => node.dataset.task)")
    assert visible == ["T-3"]
    page.keyboard.press("Enter")
    page.locator(".items a", has_text="T-3").click()
    page.wait_for_selector(".page h1:has-text('T-3')")


def test_costs_are_drawn_by_day_agent_and_task(page: Any) -> None:
    show(page, "costs")
    page.wait_for_selector(".plot canvas")
    assert "$1" in page.locator(".figure b").first.inner_text()
    page.get_by_label("Group by").select_option("task")
    page.wait_for_selector(".bars a:has-text('T-1')")


def test_nothing_moves_while_the_board_is_loaded(page: Any) -> None:
    page.reload()
    page.wait_for_selector("#link-state[data-state=live]")
    page.wait_for_selector(".card", state="attached")
    moved = page.evaluate(
        """() => new Promise(resolve => new PerformanceObserver(list => resolve(
            list.getEntries().reduce((sum, entry) => sum + entry.value, 0)
        )).observe({ type: 'layout-shift', buffered: true }) || setTimeout(() => resolve(0), 500))"""
    )
    assert moved < 0.05


def test_stories_are_listed_with_their_reviews(page: Any) -> None:
    show(page, "stories")
    page.wait_for_selector("tr[data-story=US-1] .chip[data-tone=green]")
    assert "<u>Two</u>" in page.locator("tr[data-story=US-2]").inner_text()


def test_an_unknown_address_says_where_to_look(page: Any, open_page: OpenPage) -> None:
    for address in ("run/nothing", "task/nothing"):
        page.evaluate(f"location.hash = '#/{address}'")
        page.wait_for_selector(".empty a.button")
        assert "nothing" in page.locator(".empty strong").inner_text()
    open_page.complaints[:] = [each for each in open_page.complaints if "404" not in each]


def test_a_connection_that_breaks_is_shown_and_comes_back(link: str, open_page: OpenPage) -> None:
    page = open_page(link)
    page.wait_for_selector(".card[data-task='T-1']", state="attached")
    page.route("**/api/v1/events*", lambda route: route.abort())
    page.evaluate("window.dispatchEvent(new Event('online'))")  # as a browser does that changes networks
    page.wait_for_selector("#link-state[data-state=lost]")
    assert page.locator(".card[data-task='T-1']").count() == 1  # what was known stays in sight
    page.wait_for_selector("#notice:not([hidden]):has-text('ralph web')")
    page.unroute("**/api/v1/events*")
    page.wait_for_selector("#link-state[data-state=live]")
    page.wait_for_selector("#notice", state="hidden")


def test_every_repository_of_the_machine_can_be_chosen(told: PageRoom, open_page: OpenPage, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "README").write_text("x")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Start")):
        subprocess.run(["git", *words], cwd=other, env=told.workshop.environment, check=True)
    run = [*RALPH_ARGV, "run", "-p", "Elsewhere", "-m", "1"]
    subprocess.run(run, cwd=other, env=told.workshop.environment, check=True, capture_output=True)
    page = open_page(told.serve("--all"))

    choice = page.get_by_label("Repository")
    assert "elsewhere" in choice.inner_text()
    choice.select_option(label="elsewhere")
    page.wait_for_selector("tr[data-run]:has-text('Elsewhere')")
    choice.select_option(label="All repositories…")
    page.wait_for_selector("tr[data-repository]:has-text('elsewhere')")
    page.locator("tr[data-repository] button", has_text="repo").first.click()
    page.wait_for_selector(".card[data-task='T-1']", state="attached")


FOREIGN_PAGE = """<!doctype html><title>waiting</title><body><script>
const base = "BASE", found = {};
const attempt = async (name, path, options) => {
  try {
    const answer = await fetch(base + path, { credentials: "include", ...options });
    found[name] = (await answer.text()) || "let in";
  } catch { found[name] = "refused"; }
};
const load = (name, node, source) => new Promise((done) => {
  node.onload = () => done((found[name] = "let in"));
  node.onerror = () => done((found[name] = "refused"));
  node.src = base + source;
  document.body.append(node);
});
(async () => {
  const write = { method: "POST", body: "{}" };
  await attempt("read", "/api/v1/board", {});
  await attempt("read blindly", "/api/v1/board", { mode: "no-cors" });
  await attempt("write", "/api/v1/tasks/T-3/pause", { ...write, headers: { "Content-Type": "application/json" } });
  await attempt("write blindly", "/api/v1/tasks/T-3/pause", { ...write, mode: "no-cors" });
  await load("script", document.createElement("script"), "/static/theme.js");
  await load("picture", new Image(), "/static/icon.svg");
  await new Promise((done) => {
    const events = new EventSource(base + "/api/v1/events", { withCredentials: true });
    events.addEventListener("reset", () => done((found.events = "let in")));
    events.onerror = () => { events.close(); done((found.events = "refused")); };
  });
  document.title = JSON.stringify(found);
})();
</script>"""


def test_a_page_from_elsewhere_reads_nothing_and_does_nothing(page: Any) -> None:
    base = page.evaluate("location.origin")
    body = FOREIGN_PAGE.replace("BASE", base).encode()

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Into no test's output."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        other = page.context.new_page()  # with the cookie of ours: it is of the same host
        other.goto(f"http://127.0.0.1:{server.server_port}/")
        wait_until(lambda: other.title().startswith("{"), "the other page has tried everything")
        found = json.loads(other.title())
        server.shutdown()
    assert {*found.values()} == {"refused"}, found
    assert len(found) == 7
    page.evaluate("location.hash = '#/task/T-3'")
    page.locator(".actions [data-action=pause]").wait_for()  # nobody has paused it
