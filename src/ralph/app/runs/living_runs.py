"""Runs that are under way on this machine, in whichever repository: what an agent starts finds its run by them, without
being told where that keeps its state."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.repositories import find_machine_state
from ralph.model.runs import RunOwner
from ralph.process.identity import ProcessIdentity, is_alive, read_pid_namespace

LIVING_FOLDER = "living"


class LivingRun(Struct, frozen=True, kw_only=True):
    """Where a run keeps its state, and whose it is."""

    run: str
    state: str
    task: str = ""
    pid: int
    ticks: int
    boot: str
    guardian: int = 0
    pid_namespace: int = 0

    @property
    def is_alive(self) -> bool:
        """Seen from another namespace, a pid says nothing: then it may well live."""
        elsewhere = self.pid_namespace not in (0, read_pid_namespace())
        return elsewhere or is_alive(ProcessIdentity(self.pid, self.ticks, self.boot))


@contextmanager
def announce_run(
    run: str, owner: RunOwner, paths: Paths, variables: Mapping[str, str], *, task: str = ""
) -> Iterator[None]:
    """For as long as the block lasts. Where that cannot be written, the run works all the same."""
    path = _locate_announcement(run, paths, variables)
    living = LivingRun(
        run=run,
        state=paths.state,
        task=task,
        pid=owner.pid,
        ticks=owner.ticks,
        boot=owner.boot,
        guardian=owner.guardian,
        pid_namespace=read_pid_namespace(),
    )
    with suppress(OSError):
        os.unlink(path)  # of an earlier life
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, 0o600)) as file:
            file.write(msgspec.json.encode(living))
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)


def withdraw_announcement(run: str, paths: Paths, variables: Mapping[str, str]) -> None:
    """Of a run that is known to be dead."""
    with suppress(OSError):
        os.unlink(_locate_announcement(run, paths, variables))


def list_living_runs(paths: Paths, variables: Mapping[str, str]) -> list[LivingRun]:
    """Those of this user, and of the repository around the folder; what the dead left is removed."""
    folders = (_locate_folder(variables), os.path.join(paths.state, LIVING_FOLDER))
    return [living for folder in folders if folder for living in _read_folder(folder)]


def is_in_our_namespace(living: LivingRun) -> bool:
    """Whether its pids mean something here."""
    return living.pid_namespace in (0, read_pid_namespace())


def find_living_run(run: str, paths: Paths, variables: Mapping[str, str]) -> LivingRun | None:
    return next((living for living in list_living_runs(paths, variables) if living.run == run), None)


def _locate_announcement(run: str, paths: Paths, variables: Mapping[str, str]) -> str:
    return os.path.join(_locate_folder(variables) or os.path.join(paths.state, LIVING_FOLDER), f"{run}.json")


def _locate_folder(variables: Mapping[str, str]) -> str:
    base = find_machine_state(variables)
    return os.path.join(base, LIVING_FOLDER) if base else ""


def _read_folder(folder: str) -> Iterator[LivingRun]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                living = msgspec.json.decode(file.read(), type=LivingRun)
        except (OSError, msgspec.MsgspecError):
            continue
        if living.is_alive:
            yield living
        else:
            with suppress(OSError):
                os.unlink(path)
