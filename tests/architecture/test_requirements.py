"""docs/requirements.md names real tests, and every requirement of the specifications it covers."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "requirements.md"
COUNTS = {"000": 26, "001": 34, "002": 30, "003": 17, "004": 33}  # how many each specification has
DECISIONS = 35
COVERED = ("000", "001", "002", "003", "004")
COVERED_DECISIONS = frozenset(
    """
    C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C18 C19 C20 C21 C22
    C23 C24 C25 C26 C27 C28 C29 C30 C31 C32 C33 C34 C35
    """.split()
)
LATER: dict[str, frozenset[str]] = {}  # work that has not begun, by what its rows say instead of a test

ROW = re.compile(r"^\| (\d{3}-\d{2}|C\d+) \| ([^|]+) \| (.*) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
MENTIONED = re.compile(r"`([\w/]+\.py)?::(\w+)`")  # without a file: the one named before
COMMENT = re.compile(r"#.*")
NUMBER = re.compile(r"(?<![\w-])(00\d-\d{2}|C\d{1,2})(?![\w-])")


def numbers(specification: str) -> set[str]:
    return {f"{specification}-{number:02}" for number in range(1, COUNTS[specification] + 1)}


def valid() -> set[str]:
    decisions = {f"C{number}" for number in range(1, DECISIONS + 1)}
    return decisions.union(*map(numbers, COUNTS))


def rows() -> dict[str, list[tuple[str, str]]]:
    return {number: NAMED.findall(tests) for number, _, tests in ROW.findall(PAGE.read_text(encoding="utf-8"))}


def later() -> set[str]:
    """Whose row says that all of it is left to a later work."""
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {number for number, _, tests in found if any(part in LATER for part in tests.split("<br>"))}


@cache
def functions_of(path: str) -> frozenset[str]:
    file = TESTS / path
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def mentioned() -> Iterator[tuple[str, str, str]]:
    """Document, file and name of every test the documents speak of."""
    for page in sorted(DOCS.rglob("*.md")):
        before = ""
        for path, name in MENTIONED.findall(page.read_text(encoding="utf-8")):
            before = path or before
            yield page.name, before, name


def test_every_test_that_is_named_exists() -> None:
    missing = [
        f"{page}: {path}::{name}"
        for page, path, name in mentioned()
        if not name.startswith("test_") or name not in functions_of(path)
    ]
    assert missing == []


def test_every_requirement_of_the_covered_specifications_has_a_test() -> None:
    covered = COVERED_DECISIONS.union(*map(numbers, COVERED))
    assert [number for number in sorted(covered) if not rows().get(number) and number not in later()] == []


def test_only_what_was_agreed_is_left_for_later() -> None:
    assert later() == frozenset().union(*LATER.values())


def test_every_row_is_read_and_stands_once() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| (\d|C\d)", line)]
    assert len(lines) == len(rows())
    assert [number for number in rows() if number not in valid()] == []


def test_every_number_in_a_comment_is_a_requirement() -> None:
    unknown = [
        f"{path.relative_to(TESTS)}:{number}: {found}"
        for path in sorted(TESTS.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for comment in COMMENT.findall(line)
        for found in NUMBER.findall(comment)
        if found not in valid()
    ]
    assert unknown == []
