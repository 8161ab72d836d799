"""The project's own git directory, read as files: whatever an agent wrote into it, nothing of it is run."""

import os
import re

from msgspec import Struct

from ralph.process.atomic_file import open_regular_file

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SHA256_REPOSITORY = re.compile(r"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)
_BRANCH_HEAD = "ref: refs/heads/"
MAX_LINKED_REFS = 5  # a ref may name another; git follows as many


class ProjectDir(Struct, frozen=True, kw_only=True):
    """Where git keeps what belongs to one work tree, and what all work trees of a repository share."""

    git_dir: str
    common: str

    @property
    def objects(self) -> str:
        return os.path.join(self.common, "objects")

    @property
    def uses_sha256(self) -> bool:
        return bool(_SHA256_REPOSITORY.search(_read_text(os.path.join(self.common, "config"))))

    def read_head(self) -> str:
        """The commit that is checked out; empty before the first, and where the files do not tell."""
        return self._read_ref("HEAD", self.git_dir)

    def read_checked_out_branch(self) -> str:
        """Its name; empty where none is, and where the files do not tell."""
        text = _read_text(os.path.join(self.git_dir, "HEAD")).strip()
        return text.removeprefix(_BRANCH_HEAD) if text.startswith(_BRANCH_HEAD) else ""

    def read_branch(self, branch: str) -> str:
        """The commit it is at; empty where there is none, and where the files do not tell."""
        return self._read_ref(f"refs/heads/{branch}", self.common)

    def _read_ref(self, name: str, folder: str) -> str:
        for _ in range(MAX_LINKED_REFS):
            text = _read_text(os.path.join(folder, name)).strip() or self._find_packed_ref(name)
            if not text.startswith("ref: "):
                return text if _COMMIT.fullmatch(text) else ""
            name, folder = text.removeprefix("ref: ").strip(), self.common
            if not name.startswith("refs/") or ".." in name:
                return ""
        return ""

    def _find_packed_ref(self, name: str) -> str:
        for line in _read_text(os.path.join(self.common, "packed-refs")).splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name:
                return commit
        return ""


def find_project_dir(root: str) -> ProjectDir | None:
    """That of the work tree whose root this is; None where there is no repository."""
    git_dir = find_git_dir(root)
    if not os.path.exists(os.path.join(git_dir, "HEAD")):
        return None
    return ProjectDir(git_dir=git_dir, common=find_common_dir(git_dir))


def find_common_dir(git_dir: str) -> str:
    """By where it lies. A file `commondir` tells it too, and whoever writes one into a main checkout's folder would
    have git take settings and hooks from anywhere."""
    parent = os.path.dirname(git_dir)
    return os.path.dirname(parent) if os.path.basename(parent) == "worktrees" else git_dir


def find_git_dir(root: str) -> str:
    """Where git keeps what is the work tree's own; a folder that is not there when it is none."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    word, _, target = _read_text(path).strip().partition(": ")
    return os.path.normpath(os.path.join(root, target)) if word == "gitdir" else os.path.join(path, "none")


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular_file) as file:
            return file.read()
    except OSError:
        return ""
