"""A world that answers from a script: for playing whole loops in memory."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ralph.core.step import Rules, step
from ralph.model.loop import (
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    Feedback,
    GateResult,
    Interrupted,
    Limits,
    LoopState,
    Observation,
    Reported,
    RunAgent,
    Save,
    Saved,
    SnapshotTaken,
    Stop,
    TakeSnapshot,
    Verified,
    Verify,
    Wait,
    Waited,
)


class AgentTurn(Struct, frozen=True, kw_only=True):
    """What one agent run gives, which gates are red after it, and whether someone interrupts it."""

    reported: Reported
    red: frozenset[str] = frozenset()
    interrupted: str = ""
    cut_short: bool = False
    sealed_red: frozenset[str] = frozenset()  # with the proofs as they were
    accepted: frozenset[str] = frozenset()  # proofs a person accepts before the sealed check
    verdict: Verified | None = None  # of the judge


class ScriptedEffects:
    """Plays its turns in order, the last one again and again."""

    def __init__(self, turns: Sequence[AgentTurn], seconds_per_step: float = 1.0) -> None:
        self._turns = turns
        self._seconds = seconds_per_step
        self.briefs: list[Brief] = []
        self.checks: list[int] = []
        self.saves = 0
        self.questions: list[Verify] = []
        self.waits: list[float] = []
        self._now = 0.0

    @property
    def turn(self) -> AgentTurn:
        return self._turns[min(max(len(self.briefs) - 1, 0), len(self._turns) - 1)]

    def perform(self, decision: Decision) -> Fact:
        match decision:
            case RunAgent(brief):
                self.briefs.append(brief)
                return Interrupted("SIGINT") if self.turn.cut_short else self.turn.reported
            case TakeSnapshot():
                reported = self.turn.reported
                return SnapshotTaken(tree=reported.tree, present=reported.present, proofs=reported.proofs)
            case Check(gates, sealed=True):
                return self._check_sealed(gates)
            case Check(gates, iteration):
                self.checks.append(iteration)
                return Checked(
                    tuple(
                        GateResult(
                            gate=g,
                            passed=g not in self.turn.red,
                            feedback=Feedback(f"{g}: no") if g in self.turn.red else None,
                            exit_code=int(g in self.turn.red),
                            summary="1 failed, 12 passed" if g == "make test" and g in self.turn.red else "",
                        )
                        for g in gates
                    )
                )
            case Verify():
                self.questions.append(decision)
                assert self.turn.verdict, "nobody can be asked"
                return self.turn.verdict
            case Save():
                self.saves += 1
                return Saved(done=("commit",), message="message")
            case Wait(seconds):
                self.waits.append(seconds)
                self._now += seconds
                return Waited()
            case _:
                raise AssertionError(decision)

    def _check_sealed(self, gates: Sequence[str]) -> Checked:
        turn = self.turn
        left = [change for change in turn.reported.proofs if change.is_suspect and change.path not in turn.accepted]
        red = turn.sealed_red if left else frozenset()
        results = (GateResult(gate=gate, passed=gate not in red, exit_code=int(gate in red)) for gate in gates)
        return Checked(tuple(results), sealed=True, proofs=tuple(left), diff="-    assert old\n+    assert True\n")

    def look(self, fact: Fact) -> Observation:
        self._now += self._seconds
        interrupted = self.turn.interrupted if self.briefs and isinstance(fact, Reported | SnapshotTaken) else ""
        return Observation(fact=fact, at=self._now, wall=1_000_000 + self._now, interrupted_by=interrupted)


def play_loop(
    rules: Rules[Any],
    world: ScriptedEffects,
    *,
    limits: Limits | None = None,
    state: LoopState[Any] | None = None,
    fact: Fact | None = None,
) -> tuple[Stop, list[tuple[Observation, Decision]], LoopState[Any]]:
    """The whole loop in memory: how it stopped, its journal, its last state."""
    log: list[tuple[Observation, Decision]] = []
    fact = fact or Began(limits or Limits())
    while True:
        seen = world.look(fact)
        state, decision = step(rules, state, seen)
        log.append((seen, decision))
        if isinstance(decision, Stop):
            return decision, log, state
        assert len(log) < 10_000, "the loop does not end"
        fact = world.perform(decision)
