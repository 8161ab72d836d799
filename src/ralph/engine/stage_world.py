"""The world of one task of `ralph execute`: an agent a stage, in a work tree of its own, and a record of everything."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from ralph.core.criteria import made
from ralph.core.stage_prompt import StageBrief, looped, single_pass
from ralph.core.task_rules import iso
from ralph.engine.caller import Call, Caller, papers_in
from ralph.engine.telling import tell
from ralph.engine.world import Clock
from ralph.model import board
from ralph.model.board import Change, Entry
from ralph.model.errors import RalphError
from ralph.model.events import GateEnded, GateStarted, Noted
from ralph.model.loop import (
    Brief,
    Decision,
    Fact,
    Interrupted,
    Land,
    Landed,
    Observation,
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


class Part(Struct, frozen=True):
    """What one stage works with."""

    criteria: CompletionCriteria
    caller: Caller
    loops: bool = True


class Desk(Struct, frozen=True):
    """What the board says and is told. Every write has a key: a repeat is harmless."""

    entry: Callable[[], Entry]
    record: Callable[[Sequence[Change], str], object]
    attempts: Callable[[str], Sequence[VerificationAttempt]]


class Site(Struct, frozen=True):
    """The work tree, through git."""

    folder: str
    diff: Callable[[], str]
    state: Callable[[], str]
    keep: Callable[[str], object]  # commit what an agent left lying about
    land: Callable[[], Landed]


class StageWorld:
    """Everything the loop of one task may touch."""

    def __init__(
        self,
        run: str,
        records: str,
        specification: str,
        parts: Mapping[str, Part],
        desk: Desk,
        site: Site,
        verify: Callable[[Claim, CompletionCriteria], Verdict],
        environment: Mapping[str, str],
        loose: bool,
        clock: Clock,
        inbox: Inbox,
        watchers: Sequence[Watcher],
    ) -> None:
        self._run, self._records, self._specification = run, records, specification
        self._parts, self._desk, self._site = parts, desk, site
        self._verify, self._environment, self._loose = verify, environment, loose
        self._clock, self._inbox, self._watchers = clock, inbox, watchers
        self._number = 0
        self.last_text = ""

    def look(self, fact: Fact) -> Observation:
        """The fact, with the clocks and interruptions of now."""
        return self._clock.look(fact, self._inbox)

    def perform(self, decision: Decision) -> Fact:
        """One step of the loop."""
        match decision:
            case RunAgent(brief):
                return self._attempt(brief)
            case Verify(role, turn, turns, text):
                return self._verified(role, turn, turns, text)
            case Land():
                self._site.keep(f"ralph: {self._desk.entry().task.id}")
                return self._site.land()
            case Wait(seconds):
                self._inbox.wait(seconds)
                return Waited()
            case _:
                raise ValueError(f"`ralph execute` does not know how to {decision!r}")

    # -- an agent -------------------------------------------------------------------------------
    def _attempt(self, brief: Brief) -> Fact:
        self._number = brief.iteration
        role = cast("Role", brief.role)
        part = self._parts[role]
        if brief.turns:
            self._enter(brief, role, part.criteria.promise)
        prompt = self._prompt(brief, part) if brief.turns else _conflict(brief)
        try:
            call = Call(
                prompt,
                "stream",
                papers_in(self._records, self._number),
                brief.iteration,
                brief.budget_usd,
                self._variables(brief),
            )
            reported = part.caller.call(call, self._watchers)
        except RalphError as error:
            reported = Reported("unusable", detail=f"{error.message}. {error.hint}".strip())
        if reported is None:
            return Interrupted(self._inbox.interruption())
        self.last_text = reported.text or self.last_text
        self._settle(brief, role, reported, made(part.criteria.promise, reported.text))
        return reported

    def _enter(self, brief: Brief, role: Role, promise: str) -> None:
        entry, now = self._desk.entry(), time.time()
        changes: list[Change] = []
        if brief.changes and entry.task.stage != role:
            changes.append(board.SentBack(brief.story, brief.changes, now))
        changes += [
            board.StageEntered(brief.story, role),
            board.IterationBegun(brief.story, role, brief.turn, brief.turns, promise, now),
        ]
        self._record(changes, "begun")

    def _prompt(self, brief: Brief, part: Part) -> str:
        entry = self._desk.entry()
        told = StageBrief(
            entry.task,
            brief.role,
            part.criteria,
            brief.turn,
            brief.turns,
            self._specification,
            self._desk.attempts(brief.role)[-3:] if brief.turn > 1 else (),
            brief.changes,
        )
        text = looped(told) if part.loops else single_pass(told)
        notes = [item.text for item in brief.feedback]
        return (
            text if not notes else f"{text}\n## About the last run\n" + "\n".join(f"- {note}" for note in notes) + "\n"
        )

    def _settle(self, brief: Brief, role: Role, reported: Reported, promised: bool) -> None:
        usage, now = reported.usage, time.time()
        spent = board.Spent(
            brief.story,
            role,
            brief.turn,
            now,
            reported.cost_usd,
            usage.input_tokens,
            usage.output_tokens,
            self._run,
        )
        ended = board.IterationEnded(
            brief.story,
            role,
            brief.turn,
            brief.turns,
            promised,
            not promised and brief.turn < brief.turns,
            int(reported.seconds * 1000),
            now,
            reported.outcome,
            self._run,
        )
        self._record([spent, ended], "ended")

    # -- its promise ----------------------------------------------------------------------------
    def _verified(self, role: str, turn: int, turns: int, text: str) -> Fact:
        entry, criteria = self._desk.entry(), self._parts[role].criteria
        spec = entry.task.completion_spec
        title = f"{role}: {criteria.verification_method.value}"
        tell(self._watchers, self._number, GateStarted(title))
        claim = Claim(
            criteria.promise,
            text,
            self._site.folder,
            self._environment,
            role,
            spec.outcome if spec else "",
            tuple(spec.acceptance_criteria) if spec else (),
            self._site.diff,
            self._site.state(),
            self._loose,
        )
        verdict = self._verify(claim, criteria)
        if verdict.interrupted or self._inbox.stop_now() is not None:
            return Interrupted(self._inbox.interruption() or "interrupted")
        notes = [Noted(f"{role}: {note}") for note in verdict.notes]
        ended = GateEnded(title, verdict.verified, 0 if verdict.verified else 1, verdict.seconds, detail=verdict.reason)
        tell(self._watchers, self._number, *notes, ended, Noted(f"{role} {turn}/{turns}: {verdict.reason}"))
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
        task = entry.task.id
        passed: list[Change] = [board.StagePassed(task, cast("Role", role))] if verdict.verified else []
        self._record([board.Attempted(task, attempt, self._run), *passed], "verified")
        return Verified(verdict.verified, verdict.reason, tree=claim.tree)

    def _record(self, changes: Sequence[Change], what: str) -> None:
        self._desk.record(changes, f"{self._run}/{self._number}/{what}")

    def _variables(self, brief: Brief) -> dict[str, str]:
        return {"RALPH_ITERATION": str(brief.turn), "RALPH_STAGE": brief.role, "RALPH_TASK": brief.story}


def _conflict(brief: Brief) -> str:
    """What an agent is told that is to make a branch mergeable."""
    notes = "\n".join(item.text for item in brief.feedback)
    return (
        f"## Merge conflict\n\nThe work of {brief.story} is done and verified, and cannot be merged yet.\n\n{notes}\n"
    )
