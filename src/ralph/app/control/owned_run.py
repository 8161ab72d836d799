"""The run that a board was opened with: it goes on in the background, whatever becomes of the board."""

from ralph.app.control.background import BackgroundStart
from ralph.app.control.stopping import stop_execute
from ralph.app.paths import Paths
from ralph.app.runs.status import cancel_run
from ralph.process.detached import read_exit

QUIT_CHOICES = (
    ("d", "detach: it keeps running in the background"),
    ("s", "stop it now; its work is kept"),
)
QUIT_EXECUTE_CHOICES = (
    *QUIT_CHOICES,
    ("g", "stop it gently: running agents finish, no others start"),
)


class OwnedRun:
    """Knows whether it still runs, and how to stop it."""

    def __init__(self, started: BackgroundStart, *, is_execute: bool) -> None:
        self.run, self.log, self.pid = started.run, started.log, started.pid
        self.is_execute = is_execute
        self.exit_code = started.exit_code
        self.is_stopping = False

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        return QUIT_EXECUTE_CHOICES if self.is_execute else QUIT_CHOICES

    def is_running(self) -> bool:
        """Asked often: a child that has ended is reaped by it."""
        if self.exit_code is None:
            self.exit_code = read_exit(self.pid)
        return self.exit_code is None

    def stop(self, paths: Paths, key: str) -> str:
        """By the key of the choice; what became of it. A run ends before this returns."""
        self.is_stopping = key != "g"
        if self.is_execute:
            stop_execute(paths, "agents" if key == "g" else "now")
            return "`ralph execute` stops" + (" after the agents at work." if key == "g" else ".")
        cancel_run(paths, self.run)
        return f"Stopped run {self.run}."
