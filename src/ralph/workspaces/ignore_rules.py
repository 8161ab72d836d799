"""What is ignored in a work tree, as it was when the run began: an agent that adds a rule hides no file by it."""

import os
from collections.abc import Iterable, Mapping

from ralph.process.atomic_file import read_regular_file

IGNORE_FILE = ".gitignore"
MAX_IGNORE_CHARS = 1 << 20
_Stamp = tuple[int, int, int]  # a change cannot leave all of these as they were


class IgnoreRules:
    """The `.gitignore` files of the folders that held tracked files, and the user's own rules. `texts`: by folder."""

    def __init__(self, root: str, texts: Mapping[str, str], folders: Iterable[str], users: str) -> None:
        self._root, self.texts, self._users = root, dict(texts), users
        self._folders = tuple(folders)
        self._unchanged: dict[str, _Stamp | None] = {}

    def combine(self) -> str:
        """All of them as one file at the root."""
        rules = (rebase_rules(text, folder) for folder, text in sorted(self.texts.items()))
        return "\n".join((self._users, *rules, ""))

    def have_changed(self) -> bool:
        """Whether any of the files is another now."""
        return any(self._has_changed(folder) for folder in self._folders)

    def _has_changed(self, folder: str) -> bool:
        path = os.path.join(self._root, folder, IGNORE_FILE)
        stamp = _read_stamp(path)
        if folder in self._unchanged and self._unchanged[folder] == stamp:
            return False
        if _read_rules(path) != self.texts.get(folder, ""):
            return True
        self._unchanged[folder] = stamp
        return False


def read_ignore_rules(root: str, folders: Iterable[str], users: str) -> IgnoreRules:
    """As they are now."""
    known = tuple(folders)
    texts = {folder: _read_rules(os.path.join(root, folder, IGNORE_FILE)) for folder in known}
    return IgnoreRules(root, {folder: text for folder, text in texts.items() if text}, known, users)


def rebase_rules(text: str, folder: str) -> str:
    """The same rules, written in a file at the root."""
    if not folder:
        return text
    place = "".join(f"\\{char}" if char in "\\*?[" else char for char in folder)
    return "\n".join(filter(None, (_rebase_rule(line, place) for line in text.splitlines())))


def _rebase_rule(line: str, place: str) -> str:
    if not line.strip() or line.startswith("#"):
        return ""
    sign, rule = ("!", line[1:]) if line.startswith("!") else ("", line)
    is_anchored = "/" in rule.rstrip().rstrip("/")
    return f"{sign}/{place}/{rule.removeprefix('/')}" if is_anchored else f"{sign}/{place}/**/{rule}"


def _read_stamp(path: str) -> _Stamp | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ctime_ns, found.st_ino, found.st_size


def _read_rules(path: str) -> str:
    """Nothing where there is none, nor where it is a link, which git does not follow either."""
    if os.path.islink(path):
        return ""
    try:
        return read_regular_file(path, MAX_IGNORE_CHARS, "surrogateescape")
    except OSError:
        return ""
