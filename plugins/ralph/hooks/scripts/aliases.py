"""Git aliases, read from the settings of the project and of the user. Running git to ask it would not be free."""

from __future__ import annotations

import os
import re

from session import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from places import Ground

_KNOWN = frozenset(
    "add am apply archive bisect blame branch bundle cat-file check-ignore checkout cherry-pick clean clone commit"
    " config describe diff diff-tree difftool fetch filter-branch format-patch fsck gc grep help init log ls-files"
    " ls-remote ls-tree maintenance merge merge-base mv notes prune pull push range-diff rebase reflog remote reset"
    " restore rev-list rev-parse revert rm shortlog show show-ref sparse-checkout stash status submodule switch"
    " symbolic-ref tag update-index update-ref version worktree write-tree".split()
)
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)\s*(?:\"[^\"]*\")?\s*\](.*)")
_SETTING = re.compile(r"\s*([\w-]+)\s*=\s*(.*)")


def read_alias(name: str, ground: Ground) -> str:
    """What the word stands for; empty for git's own commands and for unknown ones."""
    if name in _KNOWN or not re.fullmatch(r"[\w-]+", name):
        return ""
    found = ""
    for path in _list_files(ground):
        found = _read_aliases(text_of(path) or "").get(name.lower(), found)
    return found


def _list_files(ground: Ground) -> Iterator[str]:
    """The later one wins."""
    yield os.path.join(ground.home, ".config", "git", "config")
    yield os.path.join(ground.home, ".gitconfig")
    git = os.path.join(ground.root, ".git")
    linked = re.match(r"gitdir: (.+)", text_of(git) or "") if os.path.isfile(git) else None
    if linked:
        git = os.path.normpath(os.path.join(ground.root, linked[1].strip()))
        common = (text_of(os.path.join(git, "commondir")) or "").strip()
        git = os.path.normpath(os.path.join(git, common)) if common else git
    yield os.path.join(git, "config")


def _read_aliases(text: str) -> dict[str, str]:
    found, section = {}, ""
    for line in text.replace("\\\n", "").splitlines():
        head = _SECTION.match(line)
        section = head[1].lower() if head else section
        setting = _SETTING.match(head[2] if head else line)
        if setting and section == "alias":
            found[setting[1].lower()] = _unquoted(setting[2])
    return found


def _unquoted(value: str) -> str:
    """Git's own quotes: `"` around, `\\` before."""
    plain, quoted, escaped = [], False, False
    for char in value.strip():
        if escaped:
            plain.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            plain.append(char)
    return "".join(plain).strip()
