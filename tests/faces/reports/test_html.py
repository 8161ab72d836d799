"""The report as a page: complete without a network, and no word of an agent becomes markup."""

import re
from html.parser import HTMLParser

from ralph.faces.reports.html import MAX_PAGE_ITERATIONS, render_report_html
from support.reports import HOSTILE_WORDS, make_iteration, make_receipt, make_report

OUR_TAGS = set(
    "html head meta title style body header h1 h2 h3 p section ul li br strong code small span i figure figcaption svg"
    " line text path circle rect div table thead tbody tr th td footer pre main".split()
)


class TagCollector(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_what_an_agent_wrote_becomes_no_markup() -> None:
    receipt = make_receipt(make_iteration(1, HOSTILE_WORDS, passed=False), words=HOSTILE_WORDS)
    page = render_report_html(make_report(receipt, words=HOSTILE_WORDS))
    found = TagCollector(page)
    assert set(found.tags) <= OUR_TAGS
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "src")]
    assert "\x1b" not in page
    assert any("<script>alert(1)</script>" in words for words in found.words)  # shown, as words


def test_nothing_comes_from_elsewhere() -> None:
    page = render_report_html(make_report(make_receipt(make_iteration(1))))
    assert not re.search(r"https?:|url\(|@import|<script|<link", page)
    assert "default-src 'none'" in page
    assert "@media print" in page
    assert "prefers-color-scheme: dark" in page


def test_every_plot_is_there_and_has_words_for_who_cannot_see_it() -> None:
    page = render_report_html(make_report(make_receipt(make_iteration(1), make_iteration(2, passed=False))))
    for title in ("Timeline", "Cost so far", "Tokens of each agent run", "Checks: failed of all"):
        assert f'<svg role="img" aria-label="{title}"' in page
    assert page.count('<rect class="trouble"') == 1
    assert page.count('class="mark"') == 2
    assert "<title>T-1 iteration 2, reviewer make test: crashed, 30s</title>" in page


def test_a_thousand_iterations_stay_a_page() -> None:
    receipt = make_receipt(*(make_iteration(number + 1, "x" * 500) for number in range(1000)))
    page = render_report_html(make_report(receipt))
    assert f"Only the last {MAX_PAGE_ITERATIONS} of 1000 iterations." in page
    assert len(page) < 2_500_000


def test_a_run_that_goes_on_and_one_without_an_agent_are_shown() -> None:
    page = render_report_html(make_report(make_receipt(outcome=None), make_receipt(outcome="failed")))
    assert "1 failed · 1 running" in page
    assert "No agent ran." in page
    assert "<svg" not in page
