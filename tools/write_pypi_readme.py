"""Prints README.md for PyPI, with whole addresses: python tools/write_pypi_readme.py REPOSITORY TAG

Links and pictures of the README lead to files of the repository; PyPI has none of these files.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|mailto:|#)([^)\s]+)\)")


def make_links_whole(text: str, *, repository: str, tag: str) -> str:
    def whole(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}({repository}/{kind}/{tag}/{found[3]})"

    return LINK.sub(whole, text)


def main(words: list[str]) -> int:
    """The exit code."""
    print(make_links_whole(README.read_text(encoding="utf-8"), repository=words[0], tag=words[1]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
