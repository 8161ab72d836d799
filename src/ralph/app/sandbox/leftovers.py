"""Containers are no processes of ours: a run writes down which it has, and the next start ends what was left."""

import os
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct

from ralph.app import registry
from ralph.app.processes import open_short_lived_processes
from ralph.model.ports import Sandbox

SANDBOXES_FILE = "sandboxes.ndjson"
_WITH_ENGINES = ("docker", "podman")


class UsedSandbox(Struct, frozen=True):
    """One line of the file."""

    kind: str
    name: str


def remember_sandbox(run_dir: str, sandbox: Sandbox) -> None:
    """On disk before anything is started in it. A full disk costs the clean-up after a `kill -9`, never the run."""
    if sandbox.kind not in _WITH_ENGINES:
        return
    line = msgspec.json.encode(UsedSandbox(sandbox.kind, getattr(sandbox, "name", "")))
    with suppress(OSError), open(os.path.join(run_dir, SANDBOXES_FILE), "ab") as file:
        file.write(line + b"\n")


def sweep_sandboxes(run_dir: str, run: str, variables: Mapping[str, str]) -> None:
    """What this run, which is dead, left running is ended. Only engines it used are asked."""
    used = read_used_sandboxes(run_dir)
    kinds = {each.kind for each in used}.intersection(_WITH_ENGINES)
    if not kinds:
        return
    with open_short_lived_processes() as processes:
        for kind in sorted(kinds):
            names = tuple(sorted({each.name for each in used if each.kind == kind}))
            registry.load_extension("sandboxes", kind).sweep(run, names, variables, processes)


def read_used_sandboxes(run_dir: str) -> list[UsedSandbox]:
    """Those it can read: an agent without a sandbox could have written there."""
    try:
        with open(os.path.join(run_dir, SANDBOXES_FILE), "rb") as file:
            lines = file.read(1 << 20).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(msgspec.DecodeError):
            found.append(msgspec.json.decode(line, type=UsedSandbox))
    return found
