"""Which repositories of this machine ralph has run in."""

import os
from collections.abc import Mapping
from contextlib import suppress
from zlib import crc32

from msgspec import DecodeError, Struct, json

from ralph.app.paths import Paths
from ralph.process.atomic_file import write_atomic


class KnownRepository(Struct, frozen=True):
    """Where a repository is, and where ralph remembers its runs."""

    root: str
    state: str


def find_machine_state(variables: Mapping[str, str]) -> str:
    """The folder for what concerns all repositories of this user; empty where the environment names none."""
    state, home = variables.get("XDG_STATE_HOME", ""), variables.get("HOME", "")
    if state.startswith("/"):
        return os.path.join(state, "ralph")
    return os.path.join(home, ".local", "state", "ralph") if home.startswith("/") else ""


def remember_repository(paths: Paths, variables: Mapping[str, str]) -> None:
    """So that others find its runs. Where that cannot be written, nothing else suffers."""
    path = _locate_record(paths, variables)
    if not path or os.path.exists(path):
        return
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_atomic(path, json.encode(KnownRepository(paths.main_root, paths.state)).decode())


def forget_repository(paths: Paths, variables: Mapping[str, str]) -> None:
    """Nobody looks for its runs any more."""
    with suppress(OSError):
        os.unlink(_locate_record(paths, variables))


def list_repositories(variables: Mapping[str, str]) -> list[Paths]:
    """Those that are still there, by their folders."""
    base = os.path.join(find_machine_state(variables), "repositories")
    found: dict[str, Paths] = {}
    with suppress(OSError):
        for name in os.listdir(base):
            known = _read_repository(os.path.join(base, name))
            if known and os.path.isdir(known.state):
                root = known.root
                found[known.state] = Paths(folder=root, root=root, state=known.state, in_git=True, started_in=root)
    return sorted(found.values(), key=lambda paths: paths.root)


def _locate_record(paths: Paths, variables: Mapping[str, str]) -> str:
    name = f"{os.path.basename(paths.main_root)}-{crc32(os.fsencode(paths.state)):08x}"
    base = find_machine_state(variables)
    return os.path.join(base, "repositories", name) if base else ""


def _read_repository(path: str) -> KnownRepository | None:
    try:
        with open(path, "rb") as file:
            return json.decode(file.read(), type=KnownRepository)
    except (OSError, DecodeError):
        return None
