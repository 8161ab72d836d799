"""What the log panel can show: the lines of all agents, of one run that goes on, or of one that has ended."""

from collections import deque
from collections.abc import Iterable, Sequence

from ralph.app.board.live_log import LiveEvent, LiveLog, read_ended_run
from ralph.app.board.view import WorkerSlot
from ralph.app.paths import Paths
from ralph.faces.log_words import LogFormatter, LogLine

MAX_LOG_LINES = 1000  # lines, of all and of each run


class LogBook:
    """Keeps the last lines of all and of each living run; those of ended runs are read when asked for."""

    def __init__(self, paths: Paths, formatter: LogFormatter) -> None:
        self._paths = paths
        self._live = LiveLog(paths)
        self._formatter = formatter
        self._all: deque[LogLine] = deque(maxlen=MAX_LOG_LINES)
        self._by_run: dict[str, deque[LogLine]] = {}
        self.activities: dict[str, str] = {}  # by run: what its agent does now

    def read_new_lines(self, running: Sequence[WorkerSlot]) -> list[LogLine]:
        """What happened since the last time."""
        events = self._live.read_events(running)
        for each in events:
            doing = self._formatter.format_activity(each.event)
            if doing is not None:
                self.activities[each.run] = doing
        lines = self._format(events)
        self._all.extend(lines)
        for line in lines:
            self._by_run.setdefault(line.run, deque(maxlen=MAX_LOG_LINES)).append(line)
        if len(self.activities) > len(running) or len(self._by_run) > len(running):
            alive = {slot.run for slot in running}
            self.activities = {run: doing for run, doing in self.activities.items() if run in alive}
            self._by_run = {run: lines for run, lines in self._by_run.items() if run in alive}
        return lines

    def list_lines(self, run: str, label: str) -> Iterable[LogLine]:
        """Of one run, or of all where none is given."""
        if not run:
            return self._all
        known = self._by_run.get(run)
        return known if known is not None else self._format(read_ended_run(self._paths, run, label))

    def close(self) -> None:
        self._live.close()

    def _format(self, events: Iterable[LiveEvent]) -> list[LogLine]:
        return [line for each in events for line in self._formatter.format_lines(each)]
