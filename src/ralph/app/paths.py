"""Where things live: settings and logs beside the user's files, durable state out of the agent's way."""

import os
from binascii import crc32
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.config.location import locate_settings
from ralph.model.errors import MachineError
from ralph.process.atomic_file import open_regular_file


class Paths(Struct, frozen=True, kw_only=True):
    """The folders of one run."""

    folder: str  # what settings speak of, and where agents and guardrails work
    root: str  # of the work tree; the folder itself outside git
    state: str  # shared by all work trees of a repository, untouched by `git clean`
    in_git: bool
    started_in: str  # what paths on the command line are relative to
    has_settings: bool = False  # of a project; the user's own do not count
    foreign_settings: str = ""  # settings above that are ignored, because they are another user's

    @property
    def dot_ralph(self) -> str:
        """Settings, prompts, guardrail logs."""
        return os.path.join(self.folder, ".ralph")

    @property
    def database(self) -> str:
        return os.path.join(self.state, "ralph.db")

    @property
    def lock(self) -> str:
        return self.lock_for(self.root)

    @property
    def execute_lock(self) -> str:
        """The same for `ralph execute`, which works in work trees of its own."""
        return self.lock_for(os.path.join(self.root, "execute"))

    def lock_for(self, folder: str) -> str:
        """What is held by whoever works in that folder."""
        # Two folders of one name rarely share a checksum too, and then they only take turns.
        name = f"{os.path.basename(folder)}-{crc32(os.fsencode(folder)):08x}"
        return os.path.join(self.state, "locks", name)

    @property
    def main_root(self) -> str:
        """Of the main checkout, which linked work trees belong to; where there is none, the root of this one."""
        git = os.path.dirname(self.state)
        return os.path.dirname(git) if self.in_git and os.path.basename(git) == ".git" else self.root

    def run_dir(self, run: str) -> str:
        return os.path.join(self.state, "runs", run)


def find_paths(folder: str) -> Paths:
    """By looking for `.git` upwards; git itself is not asked."""
    folder = os.path.realpath(folder)
    at = folder
    while True:
        if git := _find_common_dir(os.path.join(at, ".git")):
            return Paths(folder=folder, root=at, state=os.path.join(git, "ralph"), in_git=True, started_in=folder)
        at, below = os.path.dirname(at), at
        if at == below:
            state = os.path.join(folder, ".ralph", "state")
            return Paths(folder=folder, root=folder, state=state, in_git=False, started_in=folder)


def find_project_paths(folder: str) -> Paths:
    """Those of the nearest settings, from this folder upwards; where there are none, of the folder itself."""
    here = find_paths(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    found = locate_settings(here.folder, here.root if here.in_git else None, home)
    paths = here if found.folder in ("", here.folder) else find_paths(found.folder)
    return replace(paths, started_in=here.folder, has_settings=bool(found.folder), foreign_settings=found.foreign)


def refuse_missing_folder(paths: Paths) -> None:
    """For whoever lives long: a folder that was deleted or moved since must not be brought back by a write."""
    git = os.path.dirname(paths.state) if paths.in_git else paths.folder
    missing = next((folder for folder in (paths.folder, git) if not os.path.isdir(folder)), None)
    if missing is not None:
        raise MachineError(f"{missing} is gone", "was it deleted or moved? start ralph again where it is now")


def describe_settings_choice(paths: Paths, files: Sequence[str], works_in: str = "") -> tuple[str, ...]:
    """What a user who is not in the folder of the settings has to know; `files` are those that were read."""
    lines = []
    if paths.has_settings and paths.started_in != paths.folder:
        lines.append(f"settings: {', '.join(files)}; working in {works_in or paths.folder}")
    if foreign := paths.foreign_settings:
        where = os.path.dirname(os.path.dirname(foreign))
        lines.append(f"{foreign} belongs to another user and is ignored in this directory; run ralph from {where}")
    return tuple(lines)


def resolve_typed_path(path: str, paths: Paths) -> str:
    """What was typed on the command line, as a path from the folder of the settings."""
    return path if paths.started_in == paths.folder else os.path.join(paths.started_in, path)


def read_branch(places: Paths) -> str:
    """What is checked out: a branch, or the beginning of a commit; empty outside git."""
    try:
        path = os.path.join(_find_git_dir(os.path.join(places.root, ".git")), "HEAD")
        with open(path, encoding="utf-8", opener=open_regular_file) as file:
            head = file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:12]


def list_commit_folders(folder: str) -> tuple[str, ...]:
    """What `git commit` writes to: all of `.git`; of a linked work tree, what has no hooks and no settings."""
    paths = find_paths(folder)
    common, own = os.path.dirname(paths.state), _find_git_dir(os.path.join(paths.root, ".git"))
    if not paths.in_git or not own:
        return ()
    if os.path.realpath(own) == os.path.realpath(common):
        return (common,)
    shared = (os.path.join(common, name) for name in ("objects", "refs", "logs", "reftable"))
    return (os.path.normpath(own), *filter(os.path.isdir, shared))


def _find_common_dir(path: str) -> str:
    """The repository behind a `.git` folder, or behind the file that stands for it in a linked work tree."""
    if os.path.isdir(path):
        return path if os.path.exists(os.path.join(path, "HEAD")) else ""
    own = _find_git_dir(path)
    if not own or not os.path.isdir(own):
        return ""
    try:
        with open(os.path.join(own, "commondir"), encoding="utf-8", opener=open_regular_file) as file:
            return os.path.normpath(os.path.join(own, file.read().strip()))
    except OSError:
        return os.path.normpath(own)  # a submodule: its own repository


def _find_git_dir(path: str) -> str:
    """Git's folder for one work tree: `.git` itself, or what that file names."""
    if os.path.isdir(path):
        return path
    try:
        with open(path, encoding="utf-8", opener=open_regular_file) as file:
            word, _, target = file.read().strip().partition(": ")
    except OSError:
        return ""
    return os.path.join(os.path.dirname(path), target) if word == "gitdir" else ""
