"""Where ralph's own git directory of a repository lies, and what is in it before git is first asked."""

import os
import time
from collections.abc import Iterator, Mapping

from ralph.model.errors import MachineError
from ralph.process.atomic_file import open_regular_file
from ralph.workspaces.own_git import replace_file
from ralph.workspaces.project_dir import ProjectDir

UNUSED_DAYS = 30  # after so long the directory of a repository that is gone is removed
_OWNER_FILE = "repository"  # which one it belongs to
_FOLDERS = ("objects/info", "objects/pack", "store/pack", "info", "refs", "work", "runs")
_CONFIG = """[core]
repositoryFormatVersion = {version}
bare = false
fileMode = true
symlinks = true
ignoreCase = false
protectNTFS = false
protectHFS = false
autocrlf = false
safecrlf = false
trustctime = true
preloadIndex = true
untrackedCache = false
splitIndex = false
fsmonitor = false
hooksPath = /dev/null
attributesFile = /dev/null
logAllRefUpdates = false
looseCompression = 1
quotePath = false
[gc]
auto = 0
[index]
version = 4
"""
_SHA256_EXTENSION = "[extensions]\nobjectFormat = sha256\n"
# The highest of all attributes: what a .gitattributes says neither alters bytes nor hides a difference.
_ATTRIBUTES = "* -text !eol !crlf -ident !working-tree-encoding -filter !diff !merge !whitespace\n"


def open_own_dir(environment: Mapping[str, str], *, root: str, project: ProjectDir | None, fallback: str) -> str:
    """Its path; made where there is none. A home that cannot be written to leaves the `fallback`."""
    owner = os.path.realpath(project.common if project else root)
    problem = ""
    for base in _list_bases(environment, fallback):
        folder = os.path.join(base, _name_dir(owner, root if project is None else os.path.dirname(owner)))
        try:
            if _read_text(os.path.join(folder, _OWNER_FILE)) != owner:
                _make_dir(base, folder, owner=owner)
            _write_settings(folder, project)
        except OSError as error:
            problem = f"{error.strerror}: {folder}"
        else:
            return folder
    raise MachineError(f"ralph cannot keep trees: {problem}", "make that folder writable, or set XDG_STATE_HOME")


def find_own_dir(environment: Mapping[str, str], *, root: str, project: ProjectDir | None, fallback: str) -> str:
    """The one that is there; empty where there is none."""
    owner = os.path.realpath(project.common if project else root)
    name = _name_dir(owner, root if project is None else os.path.dirname(owner))
    known = (os.path.join(base, name) for base in _list_bases(environment, fallback))
    return next((folder for folder in known if _read_text(os.path.join(folder, _OWNER_FILE)) == owner), "")


def adopt_own_dir(environment: Mapping[str, str], before: str, now: str) -> None:
    """The repository was moved: its snapshots and baselines go along. Both are git's folder of it."""
    old, new = os.path.realpath(before), os.path.realpath(now)
    for base in _list_bases(environment, os.path.join(now, "ralph")):
        folder = os.path.join(base, _name_dir(old, os.path.dirname(old)))
        target = os.path.join(base, _name_dir(new, os.path.dirname(new)))
        if _read_text(os.path.join(folder, _OWNER_FILE)) == old and not os.path.exists(target):
            os.rename(folder, target)
            replace_file(os.path.join(target, _OWNER_FILE), os.fsencode(new))


def _list_bases(environment: Mapping[str, str], fallback: str) -> Iterator[str]:
    state, home = environment.get("XDG_STATE_HOME", ""), environment.get("HOME", "")
    if state.startswith("/"):
        yield os.path.join(state, "ralph", "trees")
    elif home.startswith("/"):
        yield os.path.join(home, ".local/state/ralph/trees")
    yield os.path.join(fallback, "trees")


def _name_dir(owner: str, place: str) -> str:
    import hashlib

    digest = hashlib.sha1(os.fsencode(owner), usedforsecurity=False).hexdigest()
    return f"{os.path.basename(place)[:40] or 'root'}-{digest[:16]}"


def _make_dir(base: str, folder: str, *, owner: str) -> None:
    os.makedirs(base, mode=0o700, exist_ok=True)
    _remove_unused(base)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(folder, 0o700)
    for name in _FOLDERS:
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    _write_text(os.path.join(folder, "HEAD"), "ref: refs/heads/none\n")
    _write_text(os.path.join(folder, _OWNER_FILE), owner)  # last: from now on it is whole


def _write_settings(folder: str, project: ProjectDir | None) -> None:
    """Again at every start: another version has other settings, and nobody else's count."""
    sha256 = project is not None and project.uses_sha256
    config = _CONFIG.format(version=1 if sha256 else 0) + (_SHA256_EXTENSION if sha256 else "")
    lines = [os.path.join(folder, "store"), *([project.objects] if project else [])]
    wanted = {
        "config": config,
        "info/attributes": _ATTRIBUTES,
        "info/exclude": "",
        "objects/info/alternates": "\n".join((*lines, "")),
    }
    for name, text in wanted.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path) or _read_text(path) != text:
            _write_text(path, text)


def _remove_unused(base: str) -> None:
    """The directories of repositories that are gone, once a new one is made."""
    import shutil

    for entry in list(os.scandir(base)):
        owner = _read_text(os.path.join(entry.path, _OWNER_FILE))
        if owner and not os.path.exists(owner) and entry.stat().st_mtime < time.time() - UNUSED_DAYS * 86_400:
            shutil.rmtree(entry.path, ignore_errors=True)


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular_file) as file:
            return file.read()
    except OSError:
        return ""


def _write_text(path: str, text: str) -> None:
    """At once: another run may read it meanwhile."""
    replace_file(path, text.encode("utf-8", "surrogateescape"))
