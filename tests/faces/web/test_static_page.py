"""The page's own files: no agent's text can become markup, nothing comes from elsewhere, and all parts are there."""

import re
from pathlib import Path

import pytest

from ralph.faces import web

STATIC = Path(web.__file__).parent / "static"
OWN_FILES = sorted(path for path in STATIC.rglob("*") if path.is_file() and path.parent.name != "vendor")
MODULES = sorted((STATIC / "js").glob("*.js"))
MARKUP_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|setHTML"
    r"|\beval\(|new Function|setTimeout\([\"'`]|setInterval\([\"'`]|javascript:"
)
SVG_NAMESPACE = "http://www.w3.org/2000/svg"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_can_make_markup_or_code_of_a_text(module: Path) -> None:
    assert not MARKUP_FROM_TEXT.search(read(module))
    assert 'setAttribute("style"' not in read(module)  # the page's policy forbids it: it would do nothing


def test_the_page_has_no_inline_script_style_or_handler() -> None:
    page = read(STATIC / "index.html")

    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []


@pytest.mark.parametrize("path", OWN_FILES, ids=lambda path: path.name)
def test_nothing_is_asked_of_another_host(path: Path) -> None:
    text = read(path).replace(SVG_NAMESPACE, "")

    assert re.findall(r"https?://|[\"'(]//\w", text) == []


def test_every_file_that_is_named_is_there() -> None:
    named = {
        STATIC / address for path in OWN_FILES for address in re.findall(r"[\"(]/static/([\w./-]+)", read(path))
    } | {module.parent / name for module in MODULES for name in re.findall(r'from "\./([\w.]+)"', read(module))}

    assert [path for path in named if not path.is_file()] == []
    assert [module.name for module in MODULES if module not in named] == []  # nothing lies about unused


def test_every_name_that_is_imported_is_exported() -> None:
    exported = {
        module.name: set(re.findall(r"export (?:async )?(?:function|class|const|let) (\w+)", read(module)))
        for module in MODULES
    }
    missing = [
        (module.name, name.strip())
        for module in MODULES
        for names, source in re.findall(r'import \{([^}]*)\} from "\./([\w.]+)"', read(module))
        for name in names.split(",")
        if name.strip() and name.strip() not in exported[source]
    ]

    assert missing == []


def test_every_icon_that_is_used_is_drawn() -> None:
    drawn = set(re.findall(r'<symbol id="i-(\w+)"', read(STATIC / "index.html")))
    used = {name for module in MODULES for name in re.findall(r'\bicon(?:Button)?\("(\w+)"', read(module))}

    assert used - drawn == set()


def test_the_chart_library_comes_with_its_licence() -> None:
    assert "Leon Sorokin" in read(STATIC / "vendor" / "uplot.LICENSE")
    assert "1.6.32" in read(STATIC / "vendor" / "uplot.min.js")[:400]
