"""Tests of the web page in a real browser run only when asked for: `make test-browser`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browser import SIZES, OpenPage, find_browser
from support.browser_room import PageRoom

MARK = "browser"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: the web page in Chromium, by `make test-browser`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if MARK in config.option.markexpr:
        return
    ours = [item for item in items if item.get_closest_marker(MARK)]
    config.hook.pytest_deselected(items=ours)
    items[:] = [item for item in items if item not in ours]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for all tests; each has windows of its own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="NOT RUN: playwright is missing: make test-browser")
    program = find_browser()
    if program is None:
        pytest.skip("NOT RUN: no Chromium here (apt install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.getuid() == 0 else []
        )  # Chromium refuses to run as root otherwise
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def logins() -> dict[str, Any]:
    return {}


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def open_page(request: pytest.FixtureRequest, chromium: Any, logins: dict[str, Any]) -> Iterator[OpenPage]:
    """Opens windows of one size; a page that complains fails the test."""
    opener = OpenPage(chromium, request.param, logins)
    yield opener
    opener.close()
    assert opener.complaints == []


@pytest.fixture
def room(tmp_path: Path) -> Iterator[PageRoom]:
    made = PageRoom(tmp_path)
    yield made
    made.close()
