"""Runs as cards: what each is about, how its iterations went, and what it does now. A journal is read once: after that
only what was added to it."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ralph.app.board.iteration_strip import StripMark, build_strip
from ralph.app.board.run_titles import describe_request
from ralph.app.runs.journal_reader import CheckLine, Iteration, JournalReader, add_rows
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore

TASK_KIND = "execute"  # its runs are on the board as tasks
MAX_STRIP_MARKS = 200  # the last ones


class RunCard(Struct, frozen=True, kw_only=True):
    """As much of a run as a board shows."""

    id: str
    kind: str
    title: str  # the first line of its prompt, its stories or its task
    agent: str
    task: str = ""
    strip: tuple[StripMark, ...] = ()
    iteration: int = 0
    limit: int = 0
    part: str = ""  # which part its last agent plays, and for which story
    checks: tuple[tuple[str, bool], ...] = ()  # the last ones: name, passed
    failure: str = ""  # the line that tells most of the last check, agent or review that failed; empty once all is well
    cost_usd: float | None = None
    doing: str = ""  # while it goes on
    paused_by: str = ""
    question: str = ""  # of its agent, which nobody has answered
    outcome: str | None = None
    why: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    elapsed: float = 0.0  # seconds it has worked, as of `changed_at`
    changed_at: float = 0.0

    @property
    def is_active(self) -> bool:
        return self.ended_at is None

    def count_seconds(self, now: float) -> float:
        return self.elapsed + (max(0.0, now - self.changed_at) if self.is_active else 0.0)


class _KnownRun(Struct, kw_only=True):
    title: str
    journal: JournalReader
    row_count: int = 0
    record: RunRecord | None = None
    card: RunCard | None = None


class RunCardReader:
    """Remembers what it has read of each run it is asked for."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownRun] = {}

    def read_cards(self, runs: RunStore, records: Iterable[RunRecord]) -> tuple[RunCard, ...]:
        """In the order of the records; what is not among them is forgotten."""
        self._known = {record.id: self._update_run(runs, record) for record in records}
        return tuple(known.card for known in self._known.values() if known.card is not None)

    def _update_run(self, runs: RunStore, record: RunRecord) -> _KnownRun:
        known = self._known.get(record.id)
        if known is None:
            title = describe_request(record.kind, runs.read_request(record.id), record.task)
            known = _KnownRun(title=title, journal=JournalReader())
        if known.record is None or _get_place_in_journal(known.record) != _get_place_in_journal(record):
            rows = runs.list_transitions(record.id, after=known.row_count)
            add_rows(known.journal, rows)
            known.row_count += len(rows)
            known.card = build_run_card(record, known.title, known.journal.iterations)
        known.record = record
        return known


def build_run_card(record: RunRecord, title: str, iterations: Sequence[Iteration]) -> RunCard:
    """Of a run with these iterations on record."""
    is_active = record.ended_at is None
    last = iterations[-1] if iterations else Iteration(iteration=0)
    judged = next((each for each in reversed(iterations) if each.checks), None)
    return RunCard(
        id=record.id,
        kind=record.kind,
        title=title,
        agent=record.agent,
        task=record.task,
        strip=build_strip(iterations, is_active=is_active, outcome=record.outcome)[-MAX_STRIP_MARKS:],
        iteration=record.iteration,
        limit=record.limit,
        part=" ".join(filter(None, (last.role, last.story))),
        checks=tuple((check.name, check.passed) for check in _keep_last_of_each(judged)),
        failure="" if record.outcome == "completed" else find_failure(iterations),
        cost_usd=record.cost_usd,
        doing=record.doing if is_active else "",
        paused_by=record.paused_by,
        question=record.question,
        outcome=record.outcome,
        why=record.why or "",
        started_at=record.started_at,
        ended_at=record.ended_at,
        elapsed=record.elapsed,
        changed_at=record.changed_at,
    )


def find_failure(iterations: Sequence[Iteration]) -> str:
    """What the last iteration that tells anything failed with, in one line."""
    for each in reversed(iterations):
        if each.reviewed is not None and each.reviewed.feedback and not _is_passed(each):
            return f"review: {each.reviewed.feedback}"
        failed = [check for check in _keep_last_of_each(each) if not check.passed]
        if failed:
            return f"{failed[0].name}: {failed[0].summary or failed[0].reason or f'exit code {failed[0].exit_code}'}"
        if each.landed is not None and not each.landed.done:
            return each.landed.conflict or each.landed.red or each.landed.problem
        if each.outcome not in (None, "finished", "interrupted", "not_started"):
            return each.detail or str(each.outcome)
        if each.checks:
            return ""
    return ""


def _is_passed(each: Iteration) -> bool:
    return build_strip([each]) == ("passed",)


def _keep_last_of_each(each: Iteration | None) -> list[CheckLine]:
    return list({check.name: check for check in each.checks}.values()) if each else []


def _get_place_in_journal(record: RunRecord) -> tuple[object, ...]:
    return (record.changed_at, record.elapsed, record.doing, record.ended_at, record.paused_by, record.question)


def list_shown_runs(runs: RunStore, count: int) -> list[RunRecord]:
    """Those without tasks: all that go on, then the newest of the others."""
    latest = runs.list_latest(count, besides=TASK_KIND)
    known = {record.id for record in latest}
    open_runs = [each for each in runs.list_unfinished() if each.kind != TASK_KIND and each.id not in known]
    return sorted((*latest, *open_runs), key=lambda record: record.ended_at is not None)
