"""Files that tests read: what they expect may stand in a file that is no test and lies nowhere near one."""

import re
from collections.abc import Iterable

from ralph.core.proofs.suites import detect_language

_DATA = re.compile(
    r"(?i).*\.(?:json|jsonl|ndjson|ya?ml|csv|tsv|txt|xml|toml|ini|sql|html?|out|golden|snap|dat|expected|ref|approved)"
)
_NEVER_DATA = re.compile(
    r"(?i)(?:.*/)?(?:package(?:-lock)?\.json|pyproject\.toml|.*requirements.*\.txt|.*\.lock|tsconfig.*\.json|pnpm-lock\.yaml"
    r"|cargo\.toml|setup\.cfg|tox\.ini|license.*|changelog.*|readme.*|robots\.txt|cmakelists\.txt|\..*)"
)
_QUOTED_NAME = re.compile(r"""["'`/]([\w.-]+\.\w+)["'`]""")


def may_be_tested_data(path: str) -> bool:
    """Whether it is a file that holds values, and not code, settings of tools or words for people."""
    return not detect_language(path) and bool(_DATA.fullmatch(path)) and not _NEVER_DATA.fullmatch(path)


def find_named_files(tests: Iterable[str]) -> frozenset[str]:
    """The names of files that texts of tests have in quotes."""
    return frozenset(name for text in tests for name in _QUOTED_NAME.findall(text))
