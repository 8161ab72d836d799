"""Makes links to files of the repository whole: python tools/make_links_whole.py REPOSITORY TAG < README.md

PyPI shows the README and a GitHub release its notes, and neither has the files that their links lead to.
"""

import re
import sys

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|mailto:|#)([^)\s]+)\)")


def make_links_whole(text: str, *, repository: str, tag: str) -> str:
    def whole(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}({repository}/{kind}/{tag}/{found[3]})"

    return LINK.sub(whole, text)


if __name__ == "__main__":
    print(make_links_whole(sys.stdin.read(), repository=sys.argv[1], tag=sys.argv[2]), end="")
