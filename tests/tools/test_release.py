"""What a release is made of besides the packages: its notes and a formula."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## [Unreleased]

- Later.

## [0.2.0] - 2026-12-01

- Sandboxes.

## [0.1.0] - 2026-11-01

- First.
"""


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module


@pytest.mark.parametrize(("version", "notes"), [("0.2.0", "- Sandboxes.\n"), ("0.1.0", "- First.\n"), ("0.3.0", "")])
def test_the_notes_are_the_section_of_the_changelog(tools: Any, version: str, notes: str) -> None:  # 001-34
    assert tools("write_release_notes").extract_notes(CHANGELOG, version) == notes
    sys.modules.pop("write_release_notes")


def test_the_formula_pins_every_dependency_to_its_sdist(tools: Any, tmp_path: Path) -> None:  # 001-34
    sdist = tmp_path / "ralph_verified-0.2.0.tar.gz"
    sdist.write_bytes(b"sdist")
    wheel = {"archive_info": {"hashes": {"sha256": "cd" * 32}}, "url": "https://example.org/click.whl"}
    report = {
        "install": [
            {"metadata": {"name": "ralph-verified", "version": "0.2.0"}, "download_info": wheel},
            {"metadata": {"name": "Type_Ext", "version": "1.2"}, "download_info": wheel},
        ]
    }
    page = "".join(
        f'<a href="https://example.org/{name}#sha256={digit * 64}">{name}</a>\n'
        for digit, name in (("a", "type_ext-1.1.tar.gz"), ("b", "type_ext-1.2.tar.gz"), ("c", "type_ext-1.2.whl"))
    )
    module = tools("write_formula")
    render = {"repository": "https://example.org/ralph", "tag": "v0.2.0"}
    text = module.render_formula(sdist, report, **render, read_index={"type-ext": page}.__getitem__)
    assert 'url "https://example.org/ralph/releases/download/v0.2.0/ralph_verified-0.2.0.tar.gz"' in text
    assert text.count("resource ") == 1
    assert f'url "https://example.org/type_ext-1.2.tar.gz"\n    sha256 "{"b" * 64}"' in text
    with pytest.raises(SystemExit, match="no sdist of Type_Ext"):
        module.render_formula(sdist, report, **render, read_index=lambda name: "")
    sys.modules.pop("write_formula")


def test_every_action_is_pinned_by_its_digest() -> None:  # 001-34
    lines = [line for path in (ROOT / ".github/workflows").glob("*.yml") for line in path.read_text().splitlines()]
    used = [line.partition("uses:")[2].split() for line in lines if "uses:" in line]
    assert used
    assert [words for words in used if len(words[0].partition("@")[2]) != 40 or words[1] != "#"] == []


def test_links_are_whole_where_the_files_are_not(tools: Any) -> None:  # 001-34
    module = tools("make_links_whole")
    text = module.make_links_whole(
        "![A run](docs/run.svg) [here](docs/git.md#a) [there](https://example.org) [below](#safety)",
        repository="https://example.org/ralph",
        tag="v1",
    )
    sys.modules.pop("make_links_whole")
    assert text == (
        "![A run](https://example.org/ralph/raw/v1/docs/run.svg) [here](https://example.org/ralph/blob/v1/docs/git.md#a)"
        " [there](https://example.org) [below](#safety)"
    )


def test_ci_tries_every_python_the_package_names(tools: Any) -> None:  # 001-34
    named = tools("pythons").list_supported_versions((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sys.modules.pop("pythons")
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert "python: " + json.dumps(named) in workflow


def test_the_changelog_tells_this_version_on_two_screens(tools: Any) -> None:  # 001-34
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version
    notes = tools("write_release_notes").extract_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version[1])
    sys.modules.pop("write_release_notes")
    assert "### Upgrading" in notes
    assert 20 < notes.count("\n") <= 100
