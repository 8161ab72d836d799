"""A run's journal as iterations: every agent run, and what was found, saved and waited for after it."""

from collections.abc import Iterable
from typing import Literal, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.check_output import summarize_output, take_last_lines
from ralph.core.text.secrets import redact
from ralph.model.events import NO_USAGE, Usage
from ralph.model.loop import (
    AnswersLost,
    Await,
    Awaited,
    Began,
    Brief,
    Checked,
    Decision,
    Fact,
    Forbidden,
    GateResult,
    Interrupted,
    Landed,
    Limits,
    Looked,
    Observation,
    PauseLoop,
    Reported,
    Restore,
    Restored,
    Resumed,
    RunAgent,
    RunOutcome,
    Saved,
    SnapshotTaken,
    Surveyed,
    Verified,
    Wait,
    Waited,
)

MIN_REPORTED_WAIT_SECONDS = 1.0  # for others; less than that is a look
DONE_CHECK_NAME = "DONE"
VERIFICATION_CHECK_NAME = "verification"

RemarkKind = Literal["waited", "interrupted", "resumed", "sent_back", "put_back", "paused", "told"]


class CheckLine(Struct, frozen=True, kw_only=True):
    """A gate, a promise or a mark that was looked at."""

    name: str
    passed: bool
    exit_code: int | None = None  # None: no command of its own was run
    seconds: float = 0.0
    reason: str = ""
    summary: str = ""  # the line of its output that tells most, when it did not pass
    log: str = ""
    run_log: str = ""  # the same, as a file of the run's own folder
    cost_usd: float | None = None  # of a judge
    command: str = ""  # what was run, where the name does not tell
    tail: str = ""  # the last lines it printed, when it did not pass


class SavedLine(Struct, frozen=True, kw_only=True):
    """What SCM tasks did."""

    done: tuple[str, ...]
    message: str
    problems: tuple[str, ...]
    cost_usd: float | None


class ReviewLine(Struct, frozen=True):
    """Where the story stood after the run."""

    status: str | None
    count: int
    feedback: str


class LandedLine(Struct, frozen=True, kw_only=True):
    """Whether a task's branch was merged; else one of the others says why not."""

    done: bool
    commit: str
    conflict: str
    red: str
    problem: str
    stale: bool


class Remark(Struct, frozen=True, kw_only=True):
    """What else happened before the next agent run."""

    kind: RemarkKind
    text: str
    at: float  # unix time
    seconds: float = 0.0
    snapshot: str | None = None  # what the run found when it was resumed


class Iteration(Struct, frozen=True, kw_only=True):
    """One agent run and what came after it. Number 0 has no agent: it stands for what was before the first."""

    iteration: int
    role: str = ""
    story: str = ""
    turn: int = 0  # which of this role's runs it is, and of how many
    turns: int = 0
    started_at: float | None = None
    outcome: RunOutcome | Literal["interrupted", "not_started"] | None = None  # None: nobody told
    detail: str = ""
    seconds: float | None = None
    cost_usd: float | None = None
    usage: Usage | None = None
    tools: int = 0
    exit_code: int | None = None
    checks: tuple[CheckLine, ...] = ()
    saved: SavedLine | None = None
    reviewed: ReviewLine | None = None
    landed: LandedLine | None = None
    remarks: tuple[Remark, ...] = ()
    snapshot: str | None = None  # the commit that keeps the tree as it was then
    estimated_usd: float | None = None  # where the agent told no cost and somebody gave a price

    @property
    def is_unpriced(self) -> bool:
        """Its agent cost something, and nobody knows how much."""
        is_priced = self.cost_usd is not None or self.estimated_usd is not None
        return not is_priced and (self.usage is not None or self.outcome == "finished")


class _StoryReview(Struct, frozen=True, kw_only=True):
    """What of a story is told here."""

    id: str
    status: str | None = msgspec.field(name="reviewStatus", default=None)
    count: int = msgspec.field(name="reviewCount", default=0)
    feedback: str = msgspec.field(name="reviewFeedback", default="")


class _StoryFile(Struct, frozen=True):
    """A tasks.json, not judged: that was done when it was seen."""

    stories: tuple[_StoryReview, ...] = msgspec.field(name="userStories", default=())


_decode_story_file = msgspec.json.Decoder(_StoryFile).decode


class JournalReader:
    """Takes rows in their order. One that cannot be read is counted and passed over."""

    def __init__(self) -> None:
        self.iterations = [Iteration(iteration=0)]
        self.limits: Limits | None = None
        self.earlier_usd: float | None = None
        self.usage = NO_USAGE
        self.unreadable_rows = 0
        self._at = self._wall = 0.0  # of the row before
        self._fact: Fact | None = None
        self._wanted: Decision | None = None

    def skip_row(self) -> None:
        """A row nobody can read: what it wanted is not known."""
        self.unreadable_rows += 1
        self._fact = self._wanted = None

    def add_row(self, seen: Observation, decision: Decision) -> None:
        self._apply_fact(seen, max(0.0, seen.at - self._at))
        if seen.interrupted_by and not isinstance(seen.fact, Interrupted):
            self._remark("interrupted", seen.interrupted_by, seen.wall)
        match decision:
            case RunAgent(brief):
                self._begin(brief, seen)
            case Restore(text, why):
                self._review(text)
                for line in why:
                    self._remark("put_back", line, seen.wall)
            case _:
                pass
        self._at, self._wall, self._fact, self._wanted = seen.at, seen.wall, seen.fact, decision

    def _apply_fact(self, seen: Observation, took: float) -> None:
        match seen.fact:
            case Began(limits, earlier):
                self.limits, self.earlier_usd = limits, earlier
            case Resumed(limits):
                self.limits = limits
                self._remark("resumed", "", seen.wall)
            case Reported() as fact:
                self._report(fact)
            case Checked(results):
                self._check(*map(_check_line, results))
            case Saved() as fact:
                self._save(fact)
            case Verified(verified=passed, reason=reason, cost_usd=cost, usage=usage, logs=logs, detail=detail):
                self.usage += usage
                checks = [check.name for check in seen.fact.evidence if check.argv and check.passed == passed]
                self._check(
                    CheckLine(
                        name=VERIFICATION_CHECK_NAME,
                        passed=passed,
                        exit_code=None,
                        seconds=took,
                        reason=reason,
                        summary="" if passed else redact(summarize_output(detail)),
                        cost_usd=cost,
                        run_log=next(iter(logs), ""),
                        command=redact("; ".join(checks) if passed else "".join(checks[:1])),
                        tail="" if passed else redact(take_last_lines(detail)),
                    )
                )
            case Landed(done=done, commit=commit, conflict=conflict, red=red, problem=problem, stale=stale):
                self._amend(
                    landed=LandedLine(
                        done=done, commit=commit, conflict=conflict, red=red, problem=problem, stale=stale
                    )
                )
            case Looked() as fact if isinstance(self._fact, Reported | SnapshotTaken):
                self._check(
                    CheckLine(
                        name=DONE_CHECK_NAME,
                        passed=fact.done,
                        exit_code=None,
                        seconds=took,
                        reason=fact.waits or fact.problem,
                    )
                )
            case Surveyed(text=text):
                self._review(text)
            case Waited() | Awaited() as fact:
                self._wait(fact, took, seen.wall)
            case Forbidden(why):
                self._amend(outcome="not_started", detail=why)
            case Interrupted(by, paused=paused):
                self._interrupt("stopped for a pause" if paused else by, took, seen.wall)
            case Looked() | Restored() | SnapshotTaken() | AnswersLost():
                pass
            case _:
                assert_never(seen.fact)

    # -- an agent -------------------------------------------------------------------------------
    def _begin(self, brief: Brief, seen: Observation) -> None:
        if isinstance(seen.fact, Reported | SnapshotTaken) and brief.changes and brief.role != self.iterations[-1].role:
            self._remark("sent_back", brief.changes, seen.wall)
        begun = Iteration(
            iteration=brief.iteration,
            role=brief.role,
            story=brief.story,
            turn=brief.turn,
            turns=brief.turns,
            started_at=seen.wall or None,
        )
        self.iterations.append(begun)
        for note in brief.notes:
            what = "answer" if note.question else "note"
            self._remark("told", redact(f"{what} from {note.by}: {note.text}"), seen.wall)

    def _report(self, fact: Reported) -> None:
        self.usage += fact.usage
        if not isinstance(self._wanted, RunAgent):  # the row that began it could not be read
            self.iterations.append(Iteration(iteration=self.iterations[-1].iteration + 1))
        self._amend(
            outcome=fact.outcome,
            detail=fact.detail,
            seconds=fact.seconds,
            cost_usd=fact.cost_usd,
            usage=None if fact.usage == NO_USAGE else fact.usage,
            tools=fact.tools,
            exit_code=fact.exit_code,
            estimated_usd=fact.estimated_usd if fact.cost_usd is None else None,
        )

    def _interrupt(self, by: str, took: float, wall: float) -> None:
        if isinstance(self._wanted, RunAgent):
            self._amend(outcome="interrupted", detail=by, seconds=took)
        else:
            self._remark("interrupted", by, wall)

    # -- what came after it ---------------------------------------------------------------------
    def _check(self, *lines: CheckLine) -> None:
        self._amend(checks=(*self.iterations[-1].checks, *lines))

    def _save(self, fact: Saved) -> None:
        self.usage += fact.usage
        if fact.done or fact.problems:
            self._amend(
                saved=SavedLine(done=fact.done, message=fact.message, problems=fact.problems, cost_usd=fact.cost_usd)
            )

    def _review(self, text: str | None) -> None:
        """As the last list that counts has it: the one that was put back stands for the agent's."""
        name = self.iterations[-1].story
        for story in _parse_stories(text) if text and name else ():
            if story.id == name:
                self._amend(reviewed=ReviewLine(story.status, story.count, story.feedback))

    def _wait(self, fact: Waited | Awaited, took: float, wall: float) -> None:
        """For a service or for others; the pause before a restart is no news."""
        match fact, self._wanted:
            case Waited(), Wait(why=why) if isinstance(self._fact, Reported | SnapshotTaken):
                self._remark("waited", why, wall - took, took)
            case Waited(), PauseLoop(by):  # the run's own clock stood still
                self._remark("paused", f"by {by}", self._wall, max(0.0, wall - self._wall))
            case Awaited(left), Await(whom) if took >= MIN_REPORTED_WAIT_SECONDS:
                missing = f"; still missing: {', '.join(left)}" if left else ""
                self._remark("waited", f"for {whom}{missing}", wall - took, took)
            case _:
                pass

    def _remark(self, kind: RemarkKind, text: str, at: float, seconds: float = 0.0) -> None:
        self._amend(remarks=(*self.iterations[-1].remarks, Remark(kind=kind, text=text, at=at, seconds=seconds)))

    def _amend(self, **fields: object) -> None:
        self.iterations[-1] = replace(self.iterations[-1], **fields)


def read_journal(rows: Iterable[tuple[bytes, bytes]]) -> JournalReader:
    """The whole journal, as far as it can be read."""
    book = JournalReader()
    add_rows(book, rows)
    return book


def add_rows(book: JournalReader, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """The rows that come next."""
    observation = msgspec.json.Decoder(Observation).decode
    decision = msgspec.json.Decoder(Decision).decode
    for row in rows:
        try:
            seen, decided = observation(row[0]), decision(row[1])
        except (msgspec.DecodeError, ValueError, RecursionError):
            book.skip_row()
        else:
            book.add_row(seen, decided)


def sum_estimates(observations: Iterable[bytes]) -> tuple[float, int]:
    """What the agents that told no cost are thought to have cost, and of how many runs nobody knows it."""
    decode = msgspec.json.Decoder(Observation).decode
    total, unpriced = 0.0, 0
    for row in observations:
        try:
            fact = decode(row).fact
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
        if isinstance(fact, Reported) and fact.cost_usd is None:
            total += fact.estimated_usd or 0.0
            unpriced += fact.is_unpriced
    return total, unpriced


def _parse_stories(text: str) -> tuple[_StoryReview, ...]:
    try:
        return _decode_story_file(text).stories
    except (msgspec.DecodeError, ValueError, RecursionError):
        return ()  # whatever an agent made of the list


def _check_line(result: GateResult) -> CheckLine:
    return CheckLine(
        name=redact(result.gate),
        passed=result.passed,
        exit_code=result.exit_code,
        seconds=result.seconds,
        reason=result.reason,
        summary=redact(result.summary),
        tail=redact(result.tail),
        log=result.log,
        run_log=result.run_log,
    )
