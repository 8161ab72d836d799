"""The world of one task of `ralph execute`: an agent a stage, in a work tree of its own, and a record of everything."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.policies.staged import explain_missing_promise, extract_wanted_changes
from ralph.core.tasks.criteria import has_promise
from ralph.core.tasks.stage_prompt import MAX_LISTED_ATTEMPTS, StageBrief, render_loop_prompt, render_single_pass_prompt
from ralph.core.tasks.task_rules import format_iso_time
from ralph.core.text.secrets import redact
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles, name_call_files
from ralph.engine.emit import emit
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
)
from ralph.model.ports import Inbox, Watcher
from ralph.model.spec import CompletionCriteria, Role, VerificationAttempt
from ralph.model.verdict import Claim, Verdict

OVER_BUDGET_REASON = "the budget of all tasks together is spent"
UNVERIFIED_REASON = "Its promise has not been looked at"
RESOLVED_CONFLICT_REASON = "It was to resolve a merge conflict"


class StageSetup(Struct, frozen=True, kw_only=True):
    """What one stage works with."""

    criteria: CompletionCriteria
    runner: AgentRunner
    loops: bool = True
    merged_tree_criteria: CompletionCriteria | None = None  # as much of the criteria as can be asked of the merged tree


class TaskRunConfig(Struct, frozen=True, kw_only=True):
    """What one task is told once."""

    run: str
    run_dir: str  # the run's own folder
    specification: str
    environment: Mapping[str, str]  # of verifications
    loose: bool = False


class TaskBoard(Struct, frozen=True, kw_only=True):
    """What the board says and is told. Every write has a key: a repeat is harmless."""

    entry: Callable[[], Entry]
    record: Callable[[Sequence[Change], str], object]
    list_attempts: Callable[[str], Sequence[VerificationAttempt]]
    reserve: Callable[[], AbstractContextManager[float | None]]  # money for one agent run; None: no limit
    settle: Callable[[float | None], object]  # what it cost in the end


class Workspace(Struct, frozen=True, kw_only=True):
    """The work tree, through git."""

    folder: str
    diff: Callable[[], str]
    tree: Callable[[], str]  # a hash of all files
    commit_leftovers: Callable[[str], str]  # commit what an agent left lying about; why that cannot be
    land: Callable[[Callable[[str], str]], Landed]  # given what looks at the merged tree and says what is wrong


class PipelineEffects:
    """Everything the loop of one task may touch."""

    def __init__(
        self,
        terms: TaskRunConfig,
        parts: Mapping[str, StageSetup],
        *,
        desk: TaskBoard,
        site: Workspace,
        verify: Callable[[Claim, CompletionCriteria], Verdict],
        inbox: Inbox,
        watchers: Sequence[Watcher],
    ) -> None:
        self._config, self._stages, self._board, self._workspace = terms, parts, desk, site
        self._verify = verify
        self._inbox, self._watchers = inbox, watchers
        self._steps = 0  # a number for every record
        self._calls = 0
        self._iteration = 0
        self._open_iteration: IterationEnded | None = None  # an iteration whose promise is to be looked at
        self._proofs: dict[str, str] = {}  # by stage: the message whose promise held
        self.last_text = ""
        self.landed_commit = ""

    def perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                with self._board.reserve() as usd:
                    return self._run_agent(brief, usd) if usd is None or usd > 0 else Forbidden(OVER_BUDGET_REASON)
            case Verify(role=role, turn=turn, turns=_, text=text):
                return self._verify_promise(cast("Role", role), turn, text)
            case Land(proven):
                return self._land(proven)
            case _:
                return None

    # -- an agent -------------------------------------------------------------------------------
    def _run_agent(self, brief: Brief, lent: float | None) -> Fact:
        self._calls += 1
        self._iteration = brief.iteration
        role = cast("Role", brief.role)
        part = self._stages[role]
        if brief.turns:
            self._record_start(brief, role, part.criteria.promise)
        prompt = self._build_prompt(brief, part) if brief.turns else _build_conflict_prompt(brief)
        budget = min((usd for usd in (brief.budget_usd, lent) if usd is not None), default=None)
        call = AgentRequest(
            prompt=prompt,
            mode="stream",
            files=self._name_call_files(),
            iteration=brief.iteration,
            budget_usd=budget,
            environment=_build_variables(brief),
        )
        try:
            reported = part.runner.run(call, self._watchers)
        except RalphError as error:
            reported = Reported(outcome="unusable", detail=f"{error.message}. {error.hint}".strip())
        if reported is None:
            return Interrupted(self._inbox.poll_interruption())
        self._board.settle(reported.cost_usd)
        self.last_text = reported.text or self.last_text
        self._record_end(brief, role, reported)
        return replace(reported, tree=self._workspace.tree())

    def _record_start(self, brief: Brief, role: Role, promise: str) -> None:
        entry, now = self._board.entry(), time.time()
        changes: list[Change] = []
        if brief.changes and entry.task.stage != role:
            changes.append(board.SentBack(brief.story, brief.changes, now))
            wanted = " ".join(brief.changes.split())
            emit(self._watchers, self._iteration, Noted(f"sent back by {entry.task.stage}: {wanted}"))
        changes += [
            board.StageEntered(brief.story, role),
            board.IterationBegun(
                task=brief.story,
                stage=role,
                iteration=brief.turn,
                max_iterations=brief.turns,
                completion_promise=promise,
                at=now,
            ),
        ]
        self._record(changes)

    def _build_prompt(self, brief: Brief, part: StageSetup) -> str:
        told = StageBrief(
            task=self._board.entry().task,
            agent=brief.role,
            criteria=part.criteria,
            iteration=brief.turn,
            limit=brief.turns,
            specification=self._config.specification,
            attempts=_select_recent_failures(self._board.list_attempts(brief.role)) if brief.turn > 1 else (),
            changes=brief.changes,
        )
        text = render_loop_prompt(told) if part.loops else render_single_pass_prompt(told)
        notes = "".join(f"- {item.text}\n" for item in brief.feedback)
        return f"{text}\n## About the last run\n{notes}" if notes else text

    def _record_end(self, brief: Brief, role: Role, reported: Reported) -> None:
        """What it cost is known now; whether the loop goes on, only when its promise has been looked at."""
        task, turn, usage, now, run = brief.story, brief.turn, reported.usage, time.time(), self._config.run
        content = reported.outcome == "finished" and not extract_wanted_changes(role, reported.text)
        promised = content and has_promise(reported.text, self._config.loose)
        milliseconds = int(reported.seconds * 1000)
        spent = board.CostRecorded(
            task=task,
            stage=role,
            iteration=turn,
            at=now,
            cost_usd=reported.cost_usd,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            run=run,
        )
        reason = (
            RESOLVED_CONFLICT_REASON
            if not brief.turns
            else UNVERIFIED_REASON
            if promised
            else explain_missing_promise(role, reported)
        )
        goes_on = turn < brief.turns
        ended = IterationEnded(
            task=task,
            stage=role,
            iteration=turn,
            max_iterations=brief.turns,
            promise_found=promised,
            continuing=goes_on,
            duration_ms=milliseconds,
            at=now,
            outcome=reported.outcome,
            run=run,
            reason=reason,
        )
        self._open_iteration = ended if promised else None
        self._record([spent, ended])

    # -- its promise ----------------------------------------------------------------------------
    def _verify_promise(self, role: Role, turn: int, text: str) -> Fact:
        criteria = self._stages[role].criteria
        title = f"{role}: {criteria.verification_method.value}"
        verdict = self._run_verification(title, role, criteria=criteria, text=text, folder=self._workspace.folder)
        if verdict.interrupted or self._inbox.poll_stop_grace() is not None:
            return Interrupted(self._inbox.poll_interruption() or "interrupted")
        attempt = verdict.as_attempt(iteration=turn, agent=role, timestamp=format_iso_time(time.time()))
        task, run = self._board.entry().task.id, self._config.run
        reason = "Completion verified" if verdict.verified else f"Verification failed: {verdict.reason}"
        changes: list[Change] = [
            *self._close_iteration(not verdict.verified, reason),
            board.Attempted(task, attempt, run),
        ]
        if verdict.cost_usd is not None:
            changes.append(
                board.CostRecorded(
                    task=task, stage=role, iteration=turn, at=time.time(), cost_usd=verdict.cost_usd, run=run
                )
            )
        if verdict.verified:
            self._proofs[role] = text
            changes += self._build_pass_changes(task, role)
        self._record(changes)
        return Verified(verified=verdict.verified, reason=verdict.reason, cost_usd=verdict.cost_usd)

    def _run_verification(
        self, title: str, role: str, *, criteria: CompletionCriteria, text: str, folder: str
    ) -> Verdict:
        spec = self._board.entry().task.completion_spec
        claim = Claim(
            promise=criteria.promise,
            output=text,
            folder=folder,
            environment=self._config.environment,
            agent=role,
            outcome=spec.outcome if spec else "",
            acceptance_criteria=tuple(spec.acceptance_criteria) if spec else (),
            diff=self._workspace.diff,
            tree=self._workspace.tree() if folder == self._workspace.folder else "",
            loose=self._config.loose,
        )
        emit(self._watchers, self._iteration, GateStarted(title))
        verdict = self._verify(claim, criteria)
        notes = [Noted(redact(f"{role}: {note}")) for note in verdict.notes]
        ended = GateEnded(
            gate=title, passed=verdict.verified, exit_code=None, seconds=verdict.seconds, detail=verdict.reason
        )
        emit(self._watchers, self._iteration, *notes, ended)
        return verdict

    def _build_pass_changes(self, task: str, role: Role) -> list[Change]:
        """The next stage begins with it: who is cut short here need not pass this one again."""
        roles = list(self._stages)
        after = roles[roles.index(role) + 1 :]
        entered: list[Change] = [board.StageEntered(task, cast("Role", after[0]))] if after else []
        return [board.StagePassed(task, role), *entered]

    def _close_iteration(self, continuing: bool, reason: str) -> list[Change]:
        """What the log says of the iteration now that its promise was looked at. One of an earlier life stays."""
        ended, self._open_iteration = self._open_iteration, None
        if ended is None:
            return []
        return [replace(ended, continuing=continuing and ended.iteration < ended.max_iterations, reason=reason)]

    # -- landing --------------------------------------------------------------------------------
    def _land(self, proven: str) -> Fact:
        if proven and self._workspace.tree() != proven:
            return Landed(done=False, stale=True)
        if problem := self._workspace.commit_leftovers(f"ralph: {self._board.entry().task.id}"):
            return Landed(done=False, problem=problem)
        landed = self._workspace.land(self._check_merged_tree)
        self.landed_commit = landed.commit
        if not landed.done and self._inbox.poll_stop_grace() is not None:
            return Interrupted(self._inbox.poll_interruption())
        return landed

    def _check_merged_tree(self, folder: str) -> str:
        """What the last stage that can says of the merged tree."""
        for role, part in reversed([*self._stages.items()]):
            if part.merged_tree_criteria is not None:
                said = self._proofs.get(role) or f"<promise>{part.criteria.promise}</promise>"
                title = f"{role}: {part.merged_tree_criteria.verification_method.value} on the merged tree"
                verdict = self._run_verification(
                    title, role, criteria=part.merged_tree_criteria, text=said, folder=folder
                )
                return "" if verdict.verified else f"{verdict.reason}\n{verdict.detail}".strip()
        return ""

    def _record(self, changes: Sequence[Change]) -> None:
        self._steps += 1
        if changes:
            self._board.record(changes, f"{self._config.run}/{self._steps}")

    def _name_call_files(self) -> CallFiles:
        return name_call_files(self._config.run_dir, self._calls)


def _select_recent_failures(attempts: Sequence[VerificationAttempt]) -> Sequence[VerificationAttempt]:
    """Those since a promise last held, the latest few."""
    held = [index for index, attempt in enumerate(attempts) if attempt.verified]
    return attempts[held[-1] + 1 if held else 0 :][-MAX_LISTED_ATTEMPTS:]


def _build_variables(brief: Brief) -> dict[str, str]:
    return {"RALPH_ITERATION": str(brief.turn), "RALPH_STAGE": brief.role, "RALPH_TASK": brief.story}


def _build_conflict_prompt(brief: Brief) -> str:
    """What an agent is told that is to make a branch mergeable."""
    notes = "\n".join(item.text for item in brief.feedback)
    return (
        f"## Merge conflict\n\nThe work of {brief.story} is done and verified, and cannot be merged yet.\n\n{notes}\n"
    )
