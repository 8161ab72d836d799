"""Prints the notes of a release from CHANGELOG.md: python tools/write_release_notes.py 0.2.0"""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"


def extract_notes(text: str, version: str) -> str:
    """The section of that version, without its heading; empty where there is none."""
    found = re.search(rf"^## \[{re.escape(version)}\].*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() + "\n" if found else ""


def main(words: list[str]) -> int:
    """The exit code."""
    notes = extract_notes(CHANGELOG.read_text(encoding="utf-8"), words[0])
    print(notes, end="")
    return 0 if notes else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
