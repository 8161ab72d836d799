"""Writes the plugin's copy of `ralph.core.stories.review`, the one file the runner and the Stop hook judge by.

python tools/sync_plugin.py           write it
python tools/sync_plugin.py --check   exit 1 when it is stale
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "ralph" / "core" / "stories" / "review.py"
COPY = ROOT / "plugins" / "ralph" / "hooks" / "scripts" / "review.py"
HEADER = "# Generated from src/ralph/core/stories/review.py by tools/sync_plugin.py: change it there.\n"


def main(arguments: list[str]) -> int:
    """Write the copy, or say whether it is fresh."""
    wanted = HEADER + SOURCE.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        fresh = COPY.exists() and COPY.read_text(encoding="utf-8") == wanted
        if not fresh:
            sys.stderr.write("plugins/ralph/hooks/scripts/review.py is stale; run: python tools/sync_plugin.py\n")
        return 0 if fresh else 1
    COPY.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
