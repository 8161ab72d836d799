"""Makes the answers about what runs said: the log of one, and lines with certain words."""

from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from ralph.app.board.live_log import LiveEvent
from ralph.app.paths import Paths
from ralph.app.runs.logs import read_log
from ralph.app.runs.status import find_run
from ralph.faces.glyphs import UNICODE_GLYPHS
from ralph.faces.log_words import LogFormatter
from ralph.faces.views.shapes import LogAnswer, LogLineView
from ralph.model.events import EventRecord, IterationStarted
from ralph.model.runs import RunRecord
from ralph.model.spec import ROLES

MAX_LINES_ANSWERED = 2000


def build_log_answer(paths: Paths, name: str, *, after: int | None, limit: int, words: Sequence[str]) -> LogAnswer:
    """The lines after so many events, or the last ones; only those with all of the words."""
    record, most = find_run(paths, name), min(limit, MAX_LINES_ANSWERED)
    found: deque[tuple[int, LogLineView]] = deque(maxlen=most if after is None else None)
    number = 0
    for number, line in enumerate(_read_lines(paths, record), 1):
        if line is not None and number > (after or 0) and has_words(line.text, words):
            found.append((number, line))
            if len(found) > most:
                break
    shown = [*found][:most]
    more = len(found) > most
    return LogAnswer(run=record.id, lines=[line for _, line in shown], next=shown[-1][0] if more else number, more=more)


def find_lines(paths: Paths, record: RunRecord, words: Sequence[str], most: int) -> Sequence[LogLineView]:
    """The last ones that have all of the words."""
    found = (line for line in _read_lines(paths, record) if line is not None and has_words(line.text, words))
    return [*deque(found, maxlen=most)]


def has_words(text: str, words: Sequence[str]) -> bool:
    """In any order; the case does not matter."""
    folded = text.casefold()
    return all(word in folded for word in words)


def shape_line(live: LiveEvent, formatter: LogFormatter) -> LogLineView | None:
    """None for what is not worth a line."""
    line = formatter.format_line(live)
    if line is None:
        return None
    return LogLineView(at=line.at, run=live.run, label=line.who, role=line.role, tone=line.tone, text=line.text)


def _read_lines(paths: Paths, record: RunRecord) -> Iterator[LogLineView | None]:
    """One for each event on record."""
    decoder, formatter, role = msgspec.json.Decoder(EventRecord), LogFormatter(UNICODE_GLYPHS), record.kind
    for block in read_log(paths, record.id):
        for row in block.splitlines():
            try:
                moment = decoder.decode(row)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield None  # torn, or of another ralph
                continue
            event = moment.event
            if isinstance(event, IterationStarted) and (part := event.about.partition(" ")[0]) in ROLES:
                role = part
            live = LiveEvent(at=moment.at, run=record.id, label=record.task or role, role=role, event=event)
            yield shape_line(live, formatter)
