"""Takes the picture of the web page from a real run: part of `make pictures`; needs Chromium and Playwright."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from draw_pictures import PICTURES, RALPH, ROOT, open_stage, prepare_tasks

SIZE = (1440, 900)
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MOST_BYTES = 400_000
WAIT_MS = 60_000
LATER_TASKS = {  # beside those that are worked on: they wait
    "refunds": ("Refund a payment", "totals"),
    "coupons": ("Accept coupon codes at the checkout", "discount"),
    "invoices": ("Send invoices as PDF", "receipt"),
    "export": ("Export orders as CSV", "receipt"),
}


def take_picture(folder: Path, variables: Mapping[str, str], path: Path) -> None:
    """The board while three agents are at work and the first task is done."""
    prepare_tasks(folder, variables)
    (folder / ".ralph" / "settings.json").write_text(json.dumps({"agent": {"command": "claude"}}))
    variables = {**variables, "PATH": f"{folder / 'bin'}:{variables['PATH']}"}  # a short name in the log
    add_later_tasks(folder, variables)
    with (
        run_beside((RALPH, "execute", "-j", "3"), folder, variables),
        open_link(folder, variables) as link,
        sync_playwright() as driver,
    ):
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = driver.chromium.launch(executable_path=find_program(), args=arguments)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
        page.goto(link)
        wait_for_good_moment(page)
        page.screenshot(path=path)
        browser.close()


def wait_for_good_moment(page: Page) -> None:
    for selector in (
        ".card[data-stage=done]",
        ".tile[data-run] >> nth=2",
        ".card[data-stage=reviewer], .card[data-stage=tester]",
    ):
        page.wait_for_selector(selector, state="attached", timeout=WAIT_MS)


def add_later_tasks(folder: Path, variables: Mapping[str, str]) -> None:
    tasks = [
        {
            "id": name,
            "title": title,
            "dependencies": [needed],
            "completion": {"outcome": title, "acceptance_criteria": [title]},
        }
        for name, (title, needed) in LATER_TASKS.items()
    ]
    file = folder / ".git" / "later.yaml"
    file.write_text(json.dumps({"tasks": tasks}))
    words = (RALPH, "task", "import", str(file), "--spec", "shop")
    subprocess.run(words, cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def run_beside(words: tuple[str, ...], folder: Path, variables: Mapping[str, str]) -> Iterator[None]:
    with subprocess.Popen(
        words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        yield
        process.terminate()


@contextmanager
def open_link(folder: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """`ralph web`, and the link that it prints first."""
    with subprocess.Popen(
        (RALPH, "web", "--port", "0"), cwd=folder, env=variables, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def find_program() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        sys.exit("no Chromium here: apt install chromium")
    return found


def main() -> int:
    PICTURES.mkdir(exist_ok=True)
    picture = PICTURES / "web.png"
    with open_stage() as (folder, variables):
        take_picture(folder, variables, picture)
    size = picture.stat().st_size
    print(f"{picture.relative_to(ROOT)}: {size:,} bytes")
    return 0 if size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
