"""What the pages for developers say of the code is so."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from ralph.model.loop import Decision, Fact

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ralph"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
# A path of ours: beside the page, or below the root, the package or its tests.
PATH = re.compile(r"`([\w./-]+\.(?:py|sql|svg))(?:::\w+)?`")
HOMES = (ROOT, SOURCE, ROOT / "tests", ROOT / "docs", ROOT / ".ralph")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)")
IMPORT = re.compile(r"^from (ralph[\w.]*) import ([\w, ]+)$", re.MULTILINE)
CLASS = re.compile(r"`(?:\w+\.)*([A-Z][a-z]\w*)(?:[.(][^`]*)?`")


def known_names() -> set[str]:
    """Every name that is defined anywhere in the package or its tests."""
    found: set[str] = set()
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Name(id=name) | ast.alias(name=name):
                    found.add(name)
                case ast.Attribute(attr=name):
                    found.add(name)
                case _:
                    pass
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_a_page_names_is_there(page: Path) -> None:
    named = set(PATH.findall(page.read_text(encoding="utf-8")))
    missing = [path for path in named if not any((home / path).exists() for home in (*HOMES, page.parent))]
    assert sorted(path for path in missing if "NAME" not in path) == []


def test_every_class_the_architecture_names_is_there() -> None:
    known = known_names()
    pages = [ROOT / "docs" / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "adr").glob("*.md"))]
    named = {(page.name, name) for page in pages for name in CLASS.findall(page.read_text(encoding="utf-8"))}
    assert sorted((page, name) for page, name in named if name not in known) == []


def test_the_architecture_names_every_fact_and_every_decision() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    chapter = page.partition("## Facts, decisions, outcomes\n")[2].partition("\n## ")[0]
    facts, decisions = chapter.partition("- Facts")[2].split("- Decisions")
    for text, union in ((facts, Fact), (decisions, Decision)):
        named = re.findall(r"`([A-Z]\w+)`", text)
        assert sorted(named) == sorted(each.__name__ for each in get_args(union))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if IMPORT.search(page.read_text())], ids=lambda page: page.name
)
def test_what_a_page_imports_is_there(page: Path) -> None:
    lines = IMPORT.findall(page.read_text(encoding="utf-8"))
    names = [(module, name.strip()) for module, names in lines for name in names.split(",")]
    assert [(module, name) for module, name in names if not hasattr(importlib.import_module(module), name)] == []


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = [(target, anchor) for target, anchor in LINK.findall(page.read_text(encoding="utf-8"))]
    broken = []
    for target, anchor in links:
        found = page.parent / target if target else page
        if not found.exists() or (anchor and anchor not in list_anchors(found)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def list_anchors(page: Path) -> set[str]:
    """As GitHub and most site builders make them of headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_site_has_every_page_and_the_list_of_decisions_every_decision() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES]
    assert [page for page in pages if not page.startswith("adr/0") and f": {page}" not in text] == []
    decided = (ROOT / "docs" / "adr" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs" / "adr").glob("0*.md") if f"({page.name})" not in decided] == []


def read_quoted_messages() -> list[str]:
    """The first column of every table in the page about messages; what varies is `…`."""
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    cells = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    return [message for cell in cells for message in re.findall(r"`([^`]+)`", cell) if " " in message]


@pytest.mark.parametrize("message", [one for one in read_quoted_messages() if not one.startswith("ralph ")])
def test_every_message_that_is_explained_is_one_of_ours(message: str) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    pieces = [piece.strip() for piece in message.split("…") if len(piece.strip()) > 3]
    assert pieces
    assert [piece for piece in pieces if piece not in text] == []


def test_the_reference_pages_are_fresh() -> None:  # 001-33
    # a process of its own: click remembers in its commands how they were called before
    words = [sys.executable, "tools/write_reference.py", "--check"]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == 0, "run: python tools/write_reference.py"


def test_the_picture_of_the_rooms_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import draw_rooms

    assert draw_rooms.main(["--check"]) == 0, "run: python tools/draw_rooms.py"
    sys.modules.pop("draw_rooms")
