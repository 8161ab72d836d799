"""The web page under load, in Chromium: 1,000 tasks, 50 events a second. PYTHONPATH=tests python bench/web_page.py

Prints how long the first 1,000 cards take, how busy the browser's main thread and the server are, and how much moves.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from support.browser import find_browser
from support.browser_room import PageRoom

TASKS = 1000
JOBS = 10
EVENTS_A_SECOND = 50
WATCHED_SECONDS = 20.0
CHATTY_AGENT = """#!/usr/bin/env python3
import json, sys, time
if "--version" in sys.argv:
    sys.exit(print("2.1.325 (Claude Code)"))
sys.stdin.read()
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s"}}), flush=True)
for number in range(2000):
    content = [{{"type": "text", "text": f"Step {{number}}: I look at the next file and change what is wrong in it."}}]
    print(json.dumps({{"type": "assistant", "message": {{"role": "assistant", "content": content}}}}), flush=True)
    time.sleep({pause})
"""
WATCHER = """
window.watched = { moved: 0, full: 0 };
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.watched.moved += entry.hadRecentInput ? 0 : entry.value;
}).observe({ type: "layout-shift", buffered: true });
new MutationObserver(() => {
  if (!window.watched.full && document.querySelectorAll("[data-task]").length >= %d) {
    requestAnimationFrame(() => setTimeout(() => { window.watched.full = performance.now(); }));
  }
}).observe(document, { childList: true, subtree: true });
"""


def prepare(folder: Path) -> PageRoom:
    room = PageRoom(folder)
    room.add_tasks(*(f"T-{number:04d}" for number in range(1, TASKS + 1)))
    agent = room.home / "claude"
    agent.write_text(CHATTY_AGENT.format(pause=JOBS / EVENTS_A_SECOND))
    return room


def read_metrics(session: CDPSession) -> dict[str, float]:
    told: dict[str, Any] = session.send("Performance.getMetrics")
    return {each["name"]: each["value"] for each in told["metrics"]}


def watch(page: Page) -> dict[str, float]:
    """Shares of one core, by the processor's clock: others may be at work on this machine."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before, began = read_metrics(session), time.monotonic()
    page.wait_for_timeout(WATCHED_SECONDS * 1000)
    after, seconds = read_metrics(session), time.monotonic() - began
    return {
        name: (after[name] - before[name]) / seconds
        for name in ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    }


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="ralph-bench-") as scratch:
        room = prepare(Path(scratch))
        with room.workshop.start("execute", "-j", str(JOBS)) as executing, sync_playwright() as driver:
            link = room.serve()
            arguments = ["--no-sandbox"] if os.getuid() == 0 else []
            browser = driver.chromium.launch(executable_path=find_browser(), args=arguments)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(link)
            page.wait_for_selector(".tile[data-run] >> nth=9", state="attached", timeout=60_000)
            page.add_init_script(WATCHER % TASKS)
            page.reload()
            page.wait_for_selector("[data-task] >> nth=999", state="attached", timeout=60_000)
            shares = watch(page)
            watched = page.evaluate("window.watched")
            lines = page.locator(".log-line").count()
            browser.close()
            for _ in range(2):  # the second time, agents are not waited for
                executing.terminate()
                time.sleep(0.5)
        room.close()
    told = {
        "first 1,000 cards, ms": round(watched["full"]),
        "main thread, % of a core": round(shares["TaskDuration"] * 100, 1),
        "of that scripts, %": round(shares["ScriptDuration"] * 100, 1),
        "layout and style, %": round((shares["LayoutDuration"] + shares["RecalcStyleDuration"]) * 100, 1),
        "layout shift": round(watched["moved"], 4),
        "log lines shown": lines,
        "load average": os.getloadavg()[0],
        "peak of this process, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(told, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
