"""What is where in a sandbox: mounts in the order they are made, as bubblewrap wants to hear them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ralph.model.command import Bind, Command
from ralph.model.sandbox import SandboxPlan
from ralph.sandboxes._home import CACHE_FOLDER
from ralph.sandboxes._system import (
    KERNEL_FOLDERS,
    SYSTEM_FOLDERS,
    VARIABLE_FOLDERS,
    is_in_system,
    list_resolver_files,
    list_secrets,
)

EMPTY_FILE = "/dev/null"


class Mount(Struct, frozen=True):
    """One place and what is to be seen there."""

    path: str
    kind: Literal["bind", "ro-bind", "tmpfs", "symlink", "dir"]
    source: str = ""  # empty: what is at that path outside

    def as_words(self) -> tuple[str, ...]:
        if self.kind in ("tmpfs", "dir"):
            return (f"--{self.kind}", self.path)
        return (f"--{self.kind}", self.source or self.path, self.path)


def list_mounts(plan: SandboxPlan) -> list[Mount]:
    """Of every command: this machine's system, and what the plan says."""
    return order_mounts((*_list_system(), *list_plan_mounts(plan)))


def list_plan_mounts(plan: SandboxPlan) -> list[Mount]:
    """Private places, the home, the work tree, and what is kept closed in it."""
    opened = (plan.folder, *plan.writable)
    readable = (*plan.home.tools, *plan.home.folders, *plan.readable)
    found = [
        *_list_private(plan),
        *_list_readable(readable, opened),
        *(Mount(path, "bind") for path in (*plan.home.logins, *opened)),
        *(Mount(path, "bind") for path in _list_parents((*plan.protected, *plan.hidden, *plan.writable), opened)),
        *(Mount(path, "ro-bind") for path in plan.protected),
        *map(_hide_path, plan.hidden),
    ]
    return order_mounts(found)


def list_command_mounts(command: Command) -> list[Mount]:
    """Of one command alone, made after all others."""
    return order_mounts(
        (
            *(_bind_path(each) for each in command.binds),
            *(Mount(path, "ro-bind") for path in command.reads),
            *(Mount(path, "bind") for path in command.writes),
        )
    )


def order_mounts(mounts: Iterable[Mount]) -> list[Mount]:
    """Parents first; of several for one path the last, which is the strictest."""
    last = {mount.path: mount for mount in mounts}
    return sorted(last.values(), key=lambda mount: mount.path.rstrip("/").count("/"))


def _list_system() -> Iterator[Mount]:
    for name in SYSTEM_FOLDERS:
        path = f"/{name}"
        if os.path.islink(path):
            yield Mount(path, "symlink", os.readlink(path))
        elif os.path.isdir(path):
            yield Mount(path, "ro-bind")
    yield from (Mount(path, "ro-bind") for path in _list_single_folders())
    yield from map(_hide_path, list_secrets())
    yield Mount("/run", "dir")
    yield Mount("/var/run", "symlink", "/run")


def _list_single_folders() -> Iterator[str]:
    yield from filter(os.path.isdir, VARIABLE_FOLDERS)
    yield from (path for path in KERNEL_FOLDERS if os.path.isdir(path) and not _is_old_cgroup(path))
    yield from list_resolver_files()


def _is_old_cgroup(path: str) -> bool:
    """Of the first version, with a mount for every controller."""
    return path.endswith("cgroup") and not os.path.exists(os.path.join(path, "cgroup.controllers"))


def _list_private(plan: SandboxPlan) -> Iterator[Mount]:
    yield Mount("/tmp", "bind", os.path.join(plan.scratch, "tmp"))
    yield Mount("/var/tmp", "bind", os.path.join(plan.scratch, "tmp"))
    yield Mount(plan.home.folder, "bind", os.path.join(plan.scratch, "home"))
    if plan.home.caches:
        yield Mount(os.path.join(plan.home.folder, CACHE_FOLDER), "bind", plan.home.caches)


def _list_readable(paths: Sequence[str], opened: Sequence[str]) -> Iterator[Mount]:
    """A link is made anew, unless the folder it is in is there."""
    for path in paths:
        if is_in_system(path) or any(is_below(path, folder) for folder in paths if not os.path.islink(folder)):
            continue
        if not os.path.islink(path):
            yield Mount(path, "ro-bind")
        elif not any(is_below(path, folder) for folder in opened):
            yield Mount(path, "symlink", os.readlink(path))


def _list_parents(closed: Sequence[str], opened: Sequence[str]) -> Iterator[str]:
    """A folder on the way to a closed path could be renamed and another put in its place, unless it is a mount."""
    for path in closed:
        parent = os.path.dirname(path)
        while any(is_below(parent, folder) for folder in opened):
            yield parent
            parent = os.path.dirname(parent)


def _hide_path(path: str) -> Mount:
    return Mount(path, "tmpfs") if os.path.isdir(path) else Mount(path, "ro-bind", EMPTY_FILE)


def _bind_path(bind: Bind) -> Mount:
    return Mount(bind.path, "bind" if bind.writable else "ro-bind", bind.source)


def is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")
