"""A supervised task: where it lives, and the agent runs it has seen."""

from msgspec import Struct

DONE_FILE = "DONE"
WAIT_FILE = "WAIT_WITHOUT_RESTART"
TASK_FILE = "TASK.md"
ATTEMPTS_FOLDER = "runs"  # one folder for each agent run
TASK_CONFIG_FILE = "TASK-CONFIG.yaml"


class TaskPaths(Struct, frozen=True):
    """The folder of a supervised task: `<root>/<project>/<task>/`."""

    folder: str
    project: str
    task: str

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"


class AttemptRecord(Struct, frozen=True, kw_only=True):
    """One agent run of a task."""

    id: str
    run: str
    number: int  # 0 for the first
    previous: str | None
    project: str
    folder: str  # where its words are kept
    pid: int  # of the guardian that holds it
    started_at: float
    ended_at: float | None = None
    exit_code: int | None = None
    status: str = "running"  # then completed, failed or stopped
    error: str = ""


class ChildRun(Struct, frozen=True, kw_only=True):
    """A run started by an agent of ours, identified by pid, start time and boot id."""

    parent: str
    run: str
    pid: int
    ticks: int
    boot: str
    guardian: int
