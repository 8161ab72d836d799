"""Markdown for a pull request: whatever an agent wrote, it links and mentions nothing."""

import re

import pytest

from ralph.faces.reports.markdown import quote_words, render_receipt_markdown, render_report_markdown
from support.reports import HOSTILE_WORDS, make_iteration, make_receipt, make_report


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", "`plain`"),
        ("", "—"),
        ("a\nb", "`a b`"),
        ("a `b` c", "``a `b` c``"),
        ("`b", "`` `b ``"),
        ("\x1b[31mred", "`red`"),
        ("key sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None),
    ],
)
def test_foreign_words_stand_in_code(text: str, quoted: str | None) -> None:
    found = quote_words(text)
    assert found == quoted if quoted else "sk-ant-api03-aaaa" not in found


@pytest.mark.parametrize(("text", "cell"), [("a|b", "`a\\|b`"), ("a\\|b", "`a\\\\\\|b`"), ("a\\\\|b", "`a\\\\\\|b`")])
def test_no_word_ends_a_cell_of_a_table(text: str, cell: str) -> None:
    assert quote_words(text, in_table=True) == cell


def test_what_an_agent_wrote_becomes_no_markup() -> None:
    receipt = make_receipt(make_iteration(1, HOSTILE_WORDS, passed=False), words=HOSTILE_WORDS)
    page = render_report_markdown(make_report(receipt, words=HOSTILE_WORDS))
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", page)
    assert "`" not in outside
    assert not re.search(r"<(?!/?details>|/?summary>|br>)|@|\bevil\b|!\[", outside)
    tables = [line for line in page.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in tables} <= {5, 4, 8}
    assert "| `T-1` | reviewer | `sent back` |" in page
    assert "- `T-1`" in page
    assert page.endswith("\n")


def test_one_run_fits_a_pull_request() -> None:
    page = render_receipt_markdown(make_receipt(*(make_iteration(number + 1) for number in range(150))))
    assert page.startswith("## ✗ `T-1`\n")
    assert "<details><summary>150 iterations</summary>" in page
    assert "Only the last 100." in page
    assert len(page) < 65_000  # what the services take


def test_a_run_without_an_agent_says_so() -> None:
    assert "No agent ran." in render_receipt_markdown(make_receipt())
