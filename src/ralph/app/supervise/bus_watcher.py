"""A watcher that tells a task's message bus what the loop does. Best effort: a bus never stops a run."""

from collections.abc import Sequence
from pathlib import Path

from ralph.app.messages import MessageOrigin, post_message, read_messages
from ralph.core.policies.done_file import COMPLETED_REASON, WAIT_EXIT_CODE
from ralph.model.errors import RalphError
from ralph.model.events import AgentEnded, Event, GateEnded, RunEnded
from ralph.model.message import PROJECT_BUS_FILE, TASK_BUS_FILE, WAIT_MESSAGE_TYPE
from ralph.model.supervised import AttemptRecord, TaskPaths


class BusWatcher:
    """Messages of the loop, and the wishes of its agents."""

    def __init__(self, place: TaskPaths) -> None:
        self._place = place
        self._bus = Path(place.path(TASK_BUS_FILE))
        self._project_bus = Path(place.folder).parent / PROJECT_BUS_FILE
        self._attempt_id = ""
        self._last_seen_id: str | None = None

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """Tell what others should know."""
        for event in events:
            match event:
                case AgentEnded(outcome="finished" | "empty", exit_code=0):
                    self._post("RUN_STOP", event.detail)
                case AgentEnded(exit_code=code) if code == WAIT_EXIT_CODE:
                    self._post("RUN_STOP", f"exit code {WAIT_EXIT_CODE}: waiting, not restarted")
                case AgentEnded(iteration=number):
                    self._post("RUN_CRASH", event.detail)
                    self._post("WARNING", f"agent failed on restart #{number - 1}: {event.detail}")
                case GateEnded(passed=False, gate=gate):
                    self._post("WARNING", f"DONE does not count: {gate} failed")
                case RunEnded():
                    self._post_ending(event)
                case _:
                    pass

    def announce_attempt(self, attempt: AttemptRecord) -> None:
        """An agent starts: only what is said from now on is its own wish."""
        self._attempt_id = attempt.id
        self._last_seen_id = (
            self._post("RUN_START", f"starting root agent (restart #{attempt.number})") or self._last_seen_id
        )

    def read_wait_request(self) -> str:
        """Whether an agent asked on the bus not to be restarted."""
        try:
            messages = read_messages(self._bus, since=self._last_seen_id, last=None)
        except RalphError:
            return ""
        asked = [m.body for m in messages if m.type.lower() == WAIT_MESSAGE_TYPE]
        return f"it said so on the message bus: {asked[-1].strip()}" if asked else ""

    def _post_ending(self, event: RunEnded) -> None:
        match event.outcome:
            case "completed":
                is_plain = event.why.startswith(COMPLETED_REASON)
                self._post("INFO" if is_plain else "WARNING", COMPLETED_REASON if is_plain else event.why)
                self._post("FACT", f"task {self._place.task} completed", self._project_bus)
            case "blocked":
                self._post("INFO", event.why)
            case "interrupted":
                self._post("INFO", f"loop stopped: {event.why}")
            case _:
                self._post("ERROR", event.why)

    def _post(self, kind: str, body: str, bus: Path | None = None) -> str | None:
        origin = MessageOrigin(self._place.project, self._place.task, self._attempt_id)
        try:
            return post_message(bus or self._bus, kind, body, origin)
        except RalphError:
            return None
