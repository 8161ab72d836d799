"""What one run ignores: the rules as they were when it began, kept for a later life of it."""

import os
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ralph.workspaces.ignore_rules import IgnoreRules, read_ignore_rules

MAX_FILES_OUTSIDE_GIT = 20_000
_OUR_FILES = "**/.ralph/*.log\n**/.ralph/prompt_*.txt\n.ralph/state/\n.ralph/worktrees/\n"
_SKIPPED_OUTSIDE_GIT = (  # where nobody has said what is not worth keeping
    *("node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache"),
    *(".ruff_cache", ".gradle", "target", ".next", ".cache", ".git"),
)


class SavedRules(Struct, frozen=True, kw_only=True):
    """As they are on disk; bytes that are no text are kept as they are, one character each."""

    folders: tuple[str, ...]
    texts: dict[str, str]


class RunRules:
    """Of one run, in a folder of ours. `users`: what the user ignores; None: there is no repository."""

    def __init__(self, folder: str, root: str, users: str | None, ours: Sequence[str] = ()) -> None:
        """`ours`: patterns of files that ralph itself writes for this run."""
        self.folder, self._root = folder, root
        self._ours = "".join(f"{pattern}\n" for pattern in ours)
        self._in_git = users is not None
        self._users = users if users is not None else "".join(f"{name}/\n" for name in _SKIPPED_OUTSIDE_GIT)

    @property
    def exclude_file(self) -> str:
        """The user's own rules as they were; written by `find_problem`, which comes first."""
        return os.path.join(self.folder, "exclude")

    def find_problem(self) -> str:
        """Why nobody should look here; empty where all is well."""
        if not os.path.exists(self.exclude_file):
            os.makedirs(self.folder, exist_ok=True)
            self._write("exclude", f"{self._users}\n{_OUR_FILES}{self._ours}")
        if self._in_git or _has_few_files(self._root, MAX_FILES_OUTSIDE_GIT):
            return ""
        return f"all of it: there are more than {MAX_FILES_OUTSIDE_GIT:,} files and no git repository"

    def open(self, tracked: Sequence[bytes]) -> IgnoreRules:
        """Those of the start; of a run that starts now, as they are now."""
        with open(self.exclude_file, encoding="utf-8", errors="surrogateescape") as file:
            users = file.read()
        if (saved := self._load()) is not None:
            texts = {_from_disk(folder): _from_disk(text) for folder, text in saved.texts.items()}
            return IgnoreRules(self._root, texts, map(_from_disk, saved.folders), users)
        folders = {os.fsdecode(name.rpartition(b"/")[0]) for name in tracked} | {""}
        rules = read_ignore_rules(self._root, sorted(folders), users)
        texts = {_to_disk(folder): _to_disk(text) for folder, text in rules.texts.items()}
        saved = SavedRules(folders=tuple(map(_to_disk, sorted(folders))), texts=texts)
        self._write("rules.json", msgspec.json.encode(saved).decode())
        return rules

    def write_all(self, rules: IgnoreRules) -> str:
        """The path of all rules as one file."""
        return self._write("all_rules", rules.combine())

    def _load(self) -> SavedRules | None:
        try:
            with open(os.path.join(self.folder, "rules.json"), "rb") as file:
                return msgspec.json.decode(file.read(), type=SavedRules)
        except (OSError, msgspec.MsgspecError):
            return None

    def _write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return path


def _has_few_files(root: str, most: int) -> bool:
    folders = [root]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        most -= len(entries)
        if most < 0:
            return False
        inner = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
        folders.extend(entry.path for entry in inner if entry.name not in _SKIPPED_OUTSIDE_GIT)
    return True


def _to_disk(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _from_disk(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "surrogateescape")
