"""Puts together what a sandbox opens for one work tree."""

import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ralph.app import registry
from ralph.app.paths import Paths
from ralph.app.sandbox.choice import CONTAINED_VARIABLE
from ralph.app.sandbox.git_folders import list_git_folders
from ralph.app.sandbox.home import read_home
from ralph.app.sandbox.used_files import UsedFiles
from ralph.config.schema import SandboxSettings
from ralph.core.watched_files import HOST_SETTINGS
from ralph.model.errors import ConfigError, MachineError
from ralph.model.proofs import ClosedSettings
from ralph.model.sandbox import SandboxPlan

_OWN_SETTINGS = (".ralph", *HOST_SETTINGS)
_OWN_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # hooks run our Python
_OWN_HIDDEN = (".ralph/worktrees", ".ralph/state")
_BESIDE_PROGRAMS = ("lib", "lib64", "libexec", "share", "pyvenv.cfg")
WINDOWS_DISKS = "/mnt/"  # of WSL: a program from there runs outside


class SandboxRequest(Struct, frozen=True, kw_only=True):
    """What one run wants of its sandbox, besides what settings say."""

    run: str
    paths: Paths  # of the work tree
    settings: SandboxSettings
    protected: Sequence[str] = ()  # patterns of `protected` in the settings
    adapters: Sequence[str] = ()
    programs: Sequence[str] = ()  # the agents', absolute
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    used: Sequence[str] = ()  # absolute; files there that ralph itself reads or writes
    used_folders: Sequence[str] = ()  # absolute; the same for what is right in them
    variables: Mapping[str, str]


def build_plan(request: SandboxRequest, *, scratch: str, caches: str) -> SandboxPlan:
    """All of it is looked up now: what an agent makes later opens nothing."""
    root, variables = os.path.realpath(request.paths.root), request.variables
    home = os.path.normpath(variables.get("HOME") or "/")
    _refuse_home_as_tree(root, home)
    cards = [registry.load_agent_card(adapter) for adapter in request.adapters]
    git = list_git_folders(root)
    mounts = [_parse_mount(text, request.paths.folder, variables) for text in request.settings.mounts]
    programs = [
        *_list_program_folders(variables),
        *(path for name in request.programs for path in _list_link_targets(name)),
        *(sys.prefix, sys.base_prefix, _OWN_PACKAGE),
    ]
    closed = _list_own_hidden(request)
    return SandboxPlan(
        run=request.run,
        folder=root,
        scratch=scratch,
        home=read_home(home, cards, variables, caches),
        writable=_drop_repeats(
            (*git.writable, *request.writable, *(path for path, is_writable in mounts if is_writable))
        ),
        readable=_drop_repeats(
            (
                *(path for path in programs if _is_harmless(path, home, root)),
                *git.readable,
                *request.readable,
                *(path for path, is_writable in mounts if not is_writable),
            )
        ),
        protected=_drop_repeats((*git.protected, *_list_protected(request, root))),
        hidden=_drop_repeats((*git.hidden, *filter(os.path.exists, closed))),
        absent=(*git.absent, *(os.path.join(root, name) for name in list_closed_settings(request).absent)),
        network=request.settings.network,
        image=request.settings.image,
        adapters=tuple(request.adapters),
        cards=tuple(cards),
        environment={CONTAINED_VARIABLE: "1"}
        | {name: value for card in cards for name, value in card.sandbox_environment.items()},
    )


def list_used_files(request: SandboxRequest) -> UsedFiles:
    """A link to git's own folder would show what is hidden there."""
    root = os.path.realpath(request.paths.root)
    return UsedFiles(
        paths=tuple(request.used),
        folders=tuple(request.used_folders),
        opened=_drop_repeats((root, *map(os.path.realpath, request.writable))),
        closed=(os.path.join(root, ".git"), *map(os.path.realpath, _list_own_hidden(request))),
    )


def _list_own_hidden(request: SandboxRequest) -> tuple[str, ...]:
    return (request.paths.state, *(os.path.join(request.paths.folder, name) for name in _OWN_HIDDEN))


def _refuse_home_as_tree(root: str, home: str) -> None:
    if root in ("/", os.path.realpath(home)):
        raise MachineError(
            f"the work tree {root} is your home folder: a sandbox would hold all of it",
            "work in a separate folder, or use --no-sandbox",
        )


def list_closed_settings(request: SandboxRequest) -> ClosedSettings:
    """What the host's programs read in the work tree and run: mounts close only what is there."""
    root, folder = os.path.realpath(request.paths.root), os.path.realpath(request.paths.folder)
    places = _drop_repeats([os.path.join(base, name) for base in (root, folder) for name in HOST_SETTINGS])
    return ClosedSettings(
        paths=tuple(os.path.relpath(path, root) for path in places),
        absent=tuple(os.path.relpath(path, root) for path in places if not os.path.lexists(path)),
    )


def _list_protected(request: SandboxRequest, root: str) -> Iterator[str]:
    folder = os.path.realpath(request.paths.folder)
    for base in dict.fromkeys((root, folder)):
        yield from filter(os.path.exists, (os.path.join(base, name) for name in _OWN_SETTINGS))
    for pattern in (*request.protected, *request.settings.protected):
        yield from _expand(pattern, root)


def _expand(pattern: str, root: str) -> Iterator[str]:
    """As .gitignore means it: a pattern without a slash is meant at any depth."""
    inner = pattern if "/" in pattern.rstrip("/") else f"**/{pattern}"
    for found in glob.iglob(os.path.join(glob.escape(root), inner.lstrip("/")), recursive=True, include_hidden=True):
        if "/.git/" not in found:
            yield found.rstrip("/")


def _list_program_folders(variables: Mapping[str, str]) -> Iterator[str]:
    """PATH, and what programs have beside them."""
    for entry in variables.get("PATH", "").split(":"):
        if not entry.startswith("/") or not os.path.isdir(entry) or entry.startswith(WINDOWS_DISKS):
            continue
        yield os.path.normpath(entry)
        yield from _list_beside(os.path.normpath(entry), variables.get("HOME", ""))


def _list_beside(folder: str, home: str) -> Iterator[str]:
    prefix, name = os.path.split(folder)
    if name in ("bin", "sbin") and prefix not in ("/", home):
        yield from filter(os.path.exists, (os.path.join(prefix, beside) for beside in _BESIDE_PROGRAMS))


def _list_link_targets(program: str) -> Iterator[str]:
    """A program and all it is a link to; of a package of Node.js the whole package."""
    while True:
        yield program
        if not os.path.islink(program):
            break
        program = os.path.normpath(os.path.join(os.path.dirname(program), os.readlink(program)))
    real = os.path.realpath(program)
    yield real
    head, mark, _ = real.rpartition("/node_modules/")
    if mark:
        yield f"{head}/node_modules"


def _is_harmless(path: str, home: str, root: str) -> bool:
    """Whether bringing it in brings nothing else: not the home, nor what is around it or the work tree; and closes
    nothing in the work tree."""
    around = (f"{home}/", f"{root}/")
    is_around = any(each.startswith(f"{path.rstrip('/')}/") for each in around)
    return os.path.exists(path) and not is_around and not path.startswith(f"{root}/")


def _parse_mount(text: str, folder: str, variables: Mapping[str, str]) -> tuple[str, bool]:
    """Absolute, and whether it is writable."""
    path, _, mode = text.rpartition(":") if text.endswith((":rw", ":ro")) else (text, "", "ro")
    home = variables.get("HOME", "")
    path = home + path[1:] if path.startswith("~/") and home else path
    found = os.path.realpath(os.path.join(folder, path))
    if not os.path.exists(found):
        raise ConfigError(f"sandbox.mounts: {found} does not exist", "create it, or remove it from the settings")
    return found, mode == "rw"


def _drop_repeats(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
