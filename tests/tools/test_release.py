"""What a release is made of besides the packages: its notes and a formula."""

import importlib
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


def test_the_formula_pins_every_dependency(tools: Any, tmp_path: Path) -> None:  # 001-34
    sdist = tmp_path / "ralph_verified-0.2.0.tar.gz"
    sdist.write_bytes(b"sdist")
    hashed = {"archive_info": {"hashes": {"sha256": "ab" * 32}}, "url": "https://example.org/click.tar.gz"}
    report = {
        "install": [
            {"metadata": {"name": "ralph-verified"}, "download_info": hashed},
            {"metadata": {"name": "click"}, "download_info": hashed},
        ]
    }
    module = tools("write_formula")
    text = module.render_formula(sdist, report, repository="https://example.org/ralph", tag="v0.2.0")
    sys.modules.pop("write_formula")
    assert 'url "https://example.org/ralph/releases/download/v0.2.0/ralph_verified-0.2.0.tar.gz"' in text
    assert text.count("resource ") == 1
    assert f'sha256 "{"ab" * 32}"' in text


def test_every_action_is_pinned_by_its_digest() -> None:  # 001-34
    lines = [line for path in (ROOT / ".github/workflows").glob("*.yml") for line in path.read_text().splitlines()]
    used = [line.partition("uses:")[2].split() for line in lines if "uses:" in line]
    assert used
    assert [words for words in used if len(words[0].partition("@")[2]) != 40 or words[1] != "#"] == []
