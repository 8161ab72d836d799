"""The world of one task of `ralph execute`: an agent a stage, in a work tree of its own, and a record of everything."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.policies.staged import unpromised, wanted_changes
from ralph.core.tasks.criteria import claimed
from ralph.core.tasks.stage_prompt import ATTEMPTS, StageBrief, looped, single_pass
from ralph.core.tasks.task_rules import iso
from ralph.core.text.secrets import hidden
from ralph.engine.agent_run import Call, Caller, Papers
from ralph.engine.emit import tell
from ralph.model import board
from ralph.model.board import Change, Entry, IterationEnded
from ralph.model.errors import RalphError
from ralph.model.events import GateEnded, GateStarted, Noted
from ralph.model.loop import (
    Brief,
    Decision,
    Fact,
    Forbidden,
    Interrupted,
    Land,
    Landed,
    Reported,
    RunAgent,
    Verified,
    Verify,
    Wait,
    Waited,
)
from ralph.model.ports import Inbox, Watcher
from ralph.model.spec import CompletionCriteria, Role, VerificationAttempt
from ralph.model.verdict import Claim, Verdict

OVER_BUDGET = "the budget of all tasks together is spent"
UNSEEN = "Its promise has not been looked at"
RESOLVED = "It was to resolve a merge conflict"


class Part(Struct, frozen=True):
    """What one stage works with."""

    criteria: CompletionCriteria
    caller: Caller
    loops: bool = True
    of_files: CompletionCriteria | None = None  # as much of the criteria as can be asked of the merged tree


class Terms(Struct, frozen=True):
    """What one task is told once."""

    run: str
    records: str  # the run's own folder
    specification: str
    environment: Mapping[str, str]  # of verifications
    loose: bool = False


class Desk(Struct, frozen=True):
    """What the board says and is told. Every write has a key: a repeat is harmless."""

    entry: Callable[[], Entry]
    record: Callable[[Sequence[Change], str], object]
    attempts: Callable[[str], Sequence[VerificationAttempt]]
    lent: Callable[[], AbstractContextManager[float | None]]  # money for one agent run; None: no limit
    paid: Callable[[float | None], object]  # what it cost in the end


class Site(Struct, frozen=True):
    """The work tree, through git."""

    folder: str
    diff: Callable[[], str]
    tree: Callable[[], str]  # a hash of all files
    keep: Callable[[str], str]  # commit what an agent left lying about; why that cannot be
    land: Callable[[Callable[[str], str]], Landed]  # given what looks at the merged tree and says what is wrong


class StageWorld:
    """Everything the loop of one task may touch."""

    def __init__(
        self,
        terms: Terms,
        parts: Mapping[str, Part],
        desk: Desk,
        site: Site,
        verify: Callable[[Claim, CompletionCriteria], Verdict],
        inbox: Inbox,
        watchers: Sequence[Watcher],
    ) -> None:
        self._terms, self._parts, self._desk, self._site = terms, parts, desk, site
        self._verify = verify
        self._inbox, self._watchers = inbox, watchers
        self._steps = 0  # a number for every record
        self._calls = 0
        self._iteration = 0
        self._open: IterationEnded | None = None  # an iteration whose promise is to be looked at
        self._proofs: dict[str, str] = {}  # by stage: the message whose promise held
        self.last_text = ""
        self.landed_as = ""

    def perform(self, decision: Decision) -> Fact:
        """One step of the loop."""
        match decision:
            case RunAgent(brief):
                with self._desk.lent() as usd:
                    return self._attempt(brief, usd) if usd is None or usd > 0 else Forbidden(OVER_BUDGET)
            case Verify(role, turn, _, text):
                return self._verified(cast("Role", role), turn, text)
            case Land(proven):
                return self._landed(proven)
            case Wait(seconds):
                self._inbox.wait(seconds)
                return Waited()
            case _:
                raise ValueError(f"`ralph execute` does not know how to {decision!r}")

    # -- an agent -------------------------------------------------------------------------------
    def _attempt(self, brief: Brief, lent: float | None) -> Fact:
        self._calls += 1
        self._iteration = brief.iteration
        role = cast("Role", brief.role)
        part = self._parts[role]
        if brief.turns:
            self._enter(brief, role, part.criteria.promise)
        prompt = self._prompt(brief, part) if brief.turns else _conflict(brief)
        budget = min((usd for usd in (brief.budget_usd, lent) if usd is not None), default=None)
        call = Call(prompt, "stream", self._papers(), brief.iteration, budget, _variables(brief))
        try:
            reported = part.caller.call(call, self._watchers)
        except RalphError as error:
            reported = Reported("unusable", detail=f"{error.message}. {error.hint}".strip())
        if reported is None:
            return Interrupted(self._inbox.interruption())
        self._desk.paid(reported.cost_usd)
        self.last_text = reported.text or self.last_text
        self._settle(brief, role, reported)
        return replace(reported, tree=self._site.tree())

    def _enter(self, brief: Brief, role: Role, promise: str) -> None:
        entry, now = self._desk.entry(), time.time()
        changes: list[Change] = []
        if brief.changes and entry.task.stage != role:
            changes.append(board.SentBack(brief.story, brief.changes, now))
            wanted = " ".join(brief.changes.split())
            tell(self._watchers, self._iteration, Noted(f"sent back by {entry.task.stage}: {wanted}"))
        changes += [
            board.StageEntered(brief.story, role),
            board.IterationBegun(brief.story, role, brief.turn, brief.turns, promise, now),
        ]
        self._record(changes)

    def _prompt(self, brief: Brief, part: Part) -> str:
        told = StageBrief(
            self._desk.entry().task,
            brief.role,
            part.criteria,
            brief.turn,
            brief.turns,
            self._terms.specification,
            _failed(self._desk.attempts(brief.role)) if brief.turn > 1 else (),
            brief.changes,
        )
        text = looped(told) if part.loops else single_pass(told)
        notes = "".join(f"- {item.text}\n" for item in brief.feedback)
        return f"{text}\n## About the last run\n{notes}" if notes else text

    def _settle(self, brief: Brief, role: Role, reported: Reported) -> None:
        """What it cost is known now; whether the loop goes on, only when its promise has been looked at."""
        task, turn, usage, now, run = brief.story, brief.turn, reported.usage, time.time(), self._terms.run
        content = reported.outcome == "finished" and not wanted_changes(role, reported.text)
        promised = content and claimed(reported.text, self._terms.loose)
        milliseconds = int(reported.seconds * 1000)
        spent = board.Spent(task, role, turn, now, reported.cost_usd, usage.input_tokens, usage.output_tokens, run)
        reason = RESOLVED if not brief.turns else UNSEEN if promised else unpromised(role, reported)
        goes_on = turn < brief.turns
        ended = IterationEnded(
            task, role, turn, brief.turns, promised, goes_on, milliseconds, now, reported.outcome, run, reason
        )
        self._open = ended if promised else None
        self._record([spent, ended])

    # -- its promise ----------------------------------------------------------------------------
    def _verified(self, role: Role, turn: int, text: str) -> Fact:
        criteria = self._parts[role].criteria
        title = f"{role}: {criteria.verification_method.value}"
        verdict = self._looked_at(title, role, criteria, text, self._site.folder)
        if verdict.interrupted or self._inbox.stop_now() is not None:
            return Interrupted(self._inbox.interruption() or "interrupted")
        attempt = VerificationAttempt(
            turn,
            True,
            verdict.verified,
            verdict.reason,
            iso(time.time()),
            role,
            verdict.method,
            verdict.digest,
            verdict.seconds,
            verdict.cost_usd,
            verdict.notes,
            verdict.detail,
        )
        task, run = self._desk.entry().task.id, self._terms.run
        reason = "Completion verified" if verdict.verified else f"Verification failed: {verdict.reason}"
        changes: list[Change] = [*self._closed(not verdict.verified, reason), board.Attempted(task, attempt, run)]
        if verdict.cost_usd is not None:
            changes.append(board.Spent(task, role, turn, time.time(), verdict.cost_usd, run=run))
        if verdict.verified:
            self._proofs[role] = text
            changes += self._passed(task, role)
        self._record(changes)
        return Verified(verdict.verified, verdict.reason, verdict.cost_usd)

    def _looked_at(self, title: str, role: str, criteria: CompletionCriteria, text: str, folder: str) -> Verdict:
        spec = self._desk.entry().task.completion_spec
        claim = Claim(
            criteria.promise,
            text,
            folder,
            self._terms.environment,
            role,
            spec.outcome if spec else "",
            tuple(spec.acceptance_criteria) if spec else (),
            self._site.diff,
            self._site.tree() if folder == self._site.folder else "",
            self._terms.loose,
        )
        tell(self._watchers, self._iteration, GateStarted(title))
        verdict = self._verify(claim, criteria)
        notes = [Noted(hidden(f"{role}: {note}")) for note in verdict.notes]
        ended = GateEnded(title, verdict.verified, None, verdict.seconds, detail=verdict.reason)
        tell(self._watchers, self._iteration, *notes, ended)
        return verdict

    def _passed(self, task: str, role: Role) -> list[Change]:
        """The next stage begins with it: who is cut short here need not pass this one again."""
        roles = list(self._parts)
        after = roles[roles.index(role) + 1 :]
        entered: list[Change] = [board.StageEntered(task, cast("Role", after[0]))] if after else []
        return [board.StagePassed(task, role), *entered]

    def _closed(self, continuing: bool, reason: str) -> list[Change]:
        """What the log says of the iteration now that its promise was looked at. One of an earlier life stays."""
        ended, self._open = self._open, None
        if ended is None:
            return []
        return [replace(ended, continuing=continuing and ended.iteration < ended.max_iterations, reason=reason)]

    # -- landing --------------------------------------------------------------------------------
    def _landed(self, proven: str) -> Fact:
        if proven and self._site.tree() != proven:
            return Landed(False, stale=True)
        if problem := self._site.keep(f"ralph: {self._desk.entry().task.id}"):
            return Landed(False, problem=problem)
        landed = self._site.land(self._fault)
        self.landed_as = landed.commit
        if not landed.done and self._inbox.stop_now() is not None:
            return Interrupted(self._inbox.interruption())
        return landed

    def _fault(self, folder: str) -> str:
        """What the last stage that can says of the merged tree."""
        for role, part in reversed([*self._parts.items()]):
            if part.of_files is not None:
                said = self._proofs.get(role) or f"<promise>{part.criteria.promise}</promise>"
                title = f"{role}: {part.of_files.verification_method.value} on the merged tree"
                verdict = self._looked_at(title, role, part.of_files, said, folder)
                return "" if verdict.verified else f"{verdict.reason}\n{verdict.detail}".strip()
        return ""

    def _record(self, changes: Sequence[Change]) -> None:
        self._steps += 1
        if changes:
            self._desk.record(changes, f"{self._terms.run}/{self._steps}")

    def _papers(self) -> Papers:
        names = ("agent_{}.log", "agent_{}.stderr.log", "prompt_{}.txt", "answer_{}.txt")
        return Papers(*(os.path.join(self._terms.records, name.format(f"{self._calls:03}")) for name in names))


def _failed(attempts: Sequence[VerificationAttempt]) -> Sequence[VerificationAttempt]:
    """Those since a promise last held, the latest few."""
    held = [index for index, attempt in enumerate(attempts) if attempt.verified]
    return attempts[held[-1] + 1 if held else 0 :][-ATTEMPTS:]


def _variables(brief: Brief) -> dict[str, str]:
    return {"RALPH_ITERATION": str(brief.turn), "RALPH_STAGE": brief.role, "RALPH_TASK": brief.story}


def _conflict(brief: Brief) -> str:
    """What an agent is told that is to make a branch mergeable."""
    notes = "\n".join(item.text for item in brief.feedback)
    return (
        f"## Merge conflict\n\nThe work of {brief.story} is done and verified, and cannot be merged yet.\n\n{notes}\n"
    )
