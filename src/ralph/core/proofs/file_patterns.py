"""Whether a path is meant by a pattern of file names."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache


def matches_any(path: str, patterns: Sequence[str]) -> bool:
    """By patterns as .gitignore has them: without a slash a name in any folder, `**` over folders; a folder stands for
    all it holds."""
    return any(compile_pattern(pattern).fullmatch(path) for pattern in patterns)


def is_named(path: str, names: Iterable[str]) -> bool:
    """By its path, or by a pattern as shells and make have them."""
    return any(path == name or ("*" in name and fnmatchcase(path, name)) for name in names)


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of file names as a regular expression over whole paths."""
    plain = pattern.removeprefix("./").strip("/")
    anchored = "/" in plain or pattern.startswith("/")
    text = re.escape(plain).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    text = text.replace(r"\?", "[^/]")
    return re.compile(f"{'' if anchored else '(?:.*/)?'}{text}(?:/.*)?", re.DOTALL)
