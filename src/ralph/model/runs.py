"""A run as it is remembered: who runs it, what it began with, how far it is."""

from msgspec import Struct


class RunOwner(Struct, frozen=True, kw_only=True):
    """The processes that run it: harness and guardian, by pid and start time."""

    pid: int
    ticks: int
    boot: str
    guardian: int
    guardian_ticks: int
    host: str = ""
    pid_namespace: int = 0


class NewRun(Struct, frozen=True, kw_only=True):
    """What is known of a run before it starts."""

    id: str
    kind: str
    folder: str
    agent: str
    request: bytes
    owner: RunOwner
    started_at: float
    parent: str | None = None
    task: str = ""


class RunRecord(Struct, frozen=True, kw_only=True):
    """One run as it is on record, with the last line of its journal."""

    id: str
    kind: str
    folder: str
    agent: str
    pid: int
    ticks: int
    boot: str
    guardian: int
    guardian_ticks: int
    parent: str | None
    task: str
    started_at: float
    ended_at: float | None
    outcome: str | None
    why: str | None
    iteration: int
    limit: int
    cost_usd: float | None
    doing: str
    elapsed: float
    changed_at: float
    host: str = ""
    pid_namespace: int = 0
    beat: float | None = None  # unix time of its last sign of life between two transitions
    paused_by: str = ""
    question: str = ""  # of its agent, which nobody has answered
    wakes_at: float | None = None  # unix time, of one that waits for a limit or an outage


class CostlyTransition(Struct, frozen=True, kw_only=True):
    """A line of a journal that tells a cost or tokens, with what is known of its run."""

    run: str
    kind: str
    task: str
    agent: str
    request: bytes
    wall: float
    iteration: int
    seen: bytes
