"""Verification: what may be looked at, what it is done with, and what was found."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ralph.model.ports import Processes
from ralph.model.receipt import CheckEvidence, CheckKind
from ralph.model.spec import CompletionCriteria, VerificationAttempt

WORDS_METHODS = ("string_match", "contradictions")  # they look at an agent's message, and at nothing else
SKIPPED_IN_STAGES = "string_match"  # a stage of that method looks at nothing: the promise was looked at before


class CheckOutput(Struct, frozen=True, kw_only=True):
    """A check that was run for this task, for whoever judges it."""

    command: str
    passed: bool
    output: str = ""


class Claim(Struct, frozen=True, kw_only=True):
    """An agent says it is done: its words, the tree it left and what was asked of it."""

    promise: str  # the one asked for
    output: str  # the agent's final message
    folder: str  # the worktree
    environment: Mapping[str, str]
    agent: str = ""
    outcome: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    diff: Callable[[], str] = str  # asked for only when somebody reads it
    checks: tuple[CheckOutput, ...] = ()  # the latest of each command
    tree: str = ""  # the tree's hash; empty: nothing is remembered
    loose: bool = False  # seed 002's matching
    can_commit: bool = True  # False: its agent was not told to commit
    log_prefix: str = ""  # how the paths of files begin that keep what commands print; empty: none is kept
    contradictable: bool = False  # words that contradict it, and a missing sign of its stage, count against it
    has_sign: bool = False  # the sign of its stage is seen elsewhere than in its words
    has_done_nothing: bool = False  # the work tree is what it was, though the agent should have changed it
    is_merged: bool = False  # it was verified before: this is the merged tree


class Verdict(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a verification found. `verified` says nothing unless every method asked for has had its say."""

    method: str
    verified: bool
    reason: str
    detail: str = ""  # what it printed, shortened
    digest: str = ""  # SHA-256 of all it printed
    seconds: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()  # fall-backs and warnings, for the log
    interrupted: bool = False  # cut short by the user: neither yes nor no
    cached: bool = False
    name: str = ""  # of a stage
    required: bool = True
    stages: tuple["Verdict", ...] = ()
    red_before: bool | None = None  # whether its checks failed before the work began; None: nobody looked
    by_words: bool = False  # nothing but the agent's own words spoke for it
    judge: str = ""  # who judged; empty: nobody was asked
    check: CheckEvidence | None = None  # the command that was run
    log: str = ""  # the path of all it printed; empty: it is not kept

    def list_checks(self) -> tuple[CheckOutput, ...]:
        """The commands that were run for it, and what they printed."""
        parts = self.stages or (self,)
        return tuple(
            CheckOutput(command=part.check.name, passed=part.verified, output=part.detail)
            for part in parts
            if part.check is not None
        )

    def as_attempt(self, *, iteration: int, agent: str, timestamp: str) -> VerificationAttempt:
        """As the board stores it: one look at a promise that was made."""
        return VerificationAttempt(
            iteration=iteration,
            promise_found=True,
            verified=self.verified,
            reason=self.reason,
            timestamp=timestamp,
            agent=agent,
            method=self.method,
            digest=self.digest,
            seconds=self.seconds,
            cost_usd=self.cost_usd,
            notes=self.notes,
            detail=self.detail,
            red_before=self.red_before,
            by_words=self.by_words,
            judge=self.judge,
            command=self.name_command(),
            log=next((log.rpartition("/")[2] for log in self.list_logs()), ""),
        )

    def name_command(self) -> str:
        """The first that failed, else all that were run; empty where none was."""
        checks = self.list_checks()
        failed = [check.command for check in checks if not check.passed]
        return failed[0] if failed else "; ".join(check.command for check in checks)

    def list_logs(self) -> tuple[str, ...]:
        """What its commands printed, of those that failed first."""
        stages = sorted(self.stages, key=lambda stage: stage.verified)
        inner = (log for stage in stages for log in stage.list_logs())
        return tuple(dict.fromkeys((*filter(None, (self.log,)), *inner)))

    def list_evidence(self, role: str, *, on_merged_tree: bool = False) -> tuple[CheckEvidence, ...]:
        """Every look that had a say in it, one by one, for the receipt."""
        if self.stages:
            inner = (
                replace(each, red_before=self.red_before) if each.red_before is None else each for each in self.stages
            )
            counted = [stage for stage in inner if stage.method != SKIPPED_IN_STAGES]
            return tuple(each for stage in counted for each in stage.list_evidence(role, on_merged_tree=on_merged_tree))
        found = self.check or CheckEvidence(name=self.method, passed=False, kind=self._kind_of_look())
        return (
            replace(
                found,
                passed=self.verified,
                digest=self.digest,
                reason=self.reason,
                seconds=self.seconds,
                cost_usd=self.cost_usd,
                role=role,
                stage=self.name,
                on_merged_tree=on_merged_tree,
                red_before=self.red_before if self.check else None,
                judge=self.judge,
            ),
        )

    def _kind_of_look(self) -> CheckKind:
        if self.judge:
            return "judge"
        return "words" if self.by_words or self.method in WORDS_METHODS else "other"


class JudgeAnswer(Struct, frozen=True, kw_only=True):
    """What a judge answered; `problem` says why there is no answer."""

    text: str = ""
    cost_usd: float | None = None
    problem: str = ""
    judge: str = ""  # who answered


VerifierConfig = Mapping[str, object]  # a method's options as the task has them, before the method has checked them
AskJudge = Callable[[str, str], JudgeAnswer | None]  # prompt and model → answer; None: interrupted


class ClaimVerifier(Protocol):
    """Verifies what agents claim, by the criteria of their stage. A failure is a value; an exception is a bug."""

    def verify(self, claim: Claim, criteria: CompletionCriteria) -> Verdict:
        """May take long; an interruption gives a verdict that says so."""
        ...


class Verifier(Protocol):
    """One verification. A failure is a value; an exception is a bug."""

    def verify(self, claim: Claim) -> Verdict:
        """Look once; may take long, ends early only through the process layer."""
        ...


class BaseChecks(Protocol):
    """Tells how checks do on the tree the work began with. None: nobody can tell."""

    def check(self, criteria: CompletionCriteria) -> Verdict | None:
        """These criteria on that tree, once."""
        ...

    def check_with_new_tests(self, criteria: CompletionCriteria) -> Verdict | None:
        """The same with the tests that the work added or changed; None also where there are none."""
        ...


class LandedNeighbours(Protocol):
    """Tasks that landed before this one, and whose checks still have to pass."""

    def find_broken(self, folder: str, checked: CompletionCriteria | None) -> str:
        """What the merged tree in that folder breaks, in words; `checked` has passed on it already."""
        ...

    def record_landing(self, commit: str, passed: Sequence[CompletionCriteria]) -> None:
        """This one has landed, too; called before the next may. `passed`: what passed on the very tree of the commit,
        besides what was asked of the merged tree."""
        ...


class VerdictCache(Protocol):
    """Verdicts already found in this iteration, by a key of what was looked at."""

    def recall(self, key: str) -> Verdict | None: ...

    def keep(self, key: str, verdict: Verdict) -> None:
        """Remember the verdict until the iteration ends."""
        ...


class VerifierTools(Struct, frozen=True, kw_only=True):
    """What verification methods work with."""

    processes: Callable[[], AbstractContextManager[Processes]]  # each runs one command at a time
    memory: VerdictCache
    build: Callable[[str, VerifierConfig, "VerifierTools"], Verifier | None]  # another method by name; None: unknown
    judge: AskJudge | None = None
    words: bool = False  # without a judge, words count
