"""The world of `ralph run`: carries out a decision through ports and returns what happened."""

import os
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.prompt import composed
from ralph.core.text.secrets import hidden
from ralph.engine.agent_run import Call, Caller, calls_in, papers_in
from ralph.engine.emit import debug, tell
from ralph.engine.scm import Answer, Scm
from ralph.model.errors import ConfigError, RalphError
from ralph.model.events import Debugged, GateEnded, GateStarted, Warned
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Interrupted,
    Reported,
    RunAgent,
    Save,
    Saved,
    Wait,
    Waited,
)
from ralph.model.ports import Evidence, Gate, Inbox, Mode, Watcher


class Surroundings(Struct, frozen=True):
    """What a run is told once."""

    folder: str  # where agents and gates work
    notes: str  # `.ralph`: prompts and guardrail logs
    records: str  # the run's own folder: raw output and events
    gate_environment: Mapping[str, str]
    signals: tuple[str, ...]
    count_iterations: bool
    mode: Mode


class World:
    """Everything `ralph run` may touch."""

    def __init__(
        self,
        around: Surroundings,
        caller: Caller,
        prompt: Callable[[], str],
        gates: Mapping[str, Gate],
        inbox: Inbox,
        watchers: Sequence[Watcher],
        scm: Scm | None = None,
    ) -> None:
        self._around = around
        self._caller = caller
        self._prompt = prompt
        self._gates = gates
        self._inbox = inbox
        self._watchers = watchers
        self._scm = scm
        self._calls = calls_in(around.records)
        self._iteration = 0

    def perform(self, decision: Decision) -> Fact:
        """One step of the loop."""
        match decision:
            case RunAgent(brief):
                return self._attempt(brief)
            case Check(gates, iteration):
                return self._check(gates, iteration)
            case Save(budget_usd=budget):
                saved = self._scm.save(lambda question: self._ask(question, budget)) if self._scm else Saved()
                return Interrupted(self._inbox.interruption()) if self._inbox.stop_now() is not None else saved
            case Wait(seconds):
                self._inbox.wait(seconds)
                return Waited()
            case _:
                raise ValueError(f"`ralph run` does not know how to {decision!r}")

    # -- the agent ------------------------------------------------------------------------------
    def _attempt(self, brief: Brief) -> Fact:
        self._iteration = brief.iteration
        try:
            prompt = composed(self._prompt(), brief, count_iterations=self._around.count_iterations)
            self._debug(f"Iteration {brief.iteration}/{brief.limit} starting", f"Prompt: {prompt[:200]}")
            reported = self._call(prompt, self._around.mode, brief.budget_usd, self._watchers)
        except RalphError as error:
            lasting = isinstance(error, ConfigError)
            return Reported("unusable", detail=f"{error.message}. {error.hint}".strip(), lasting=lasting)
        if reported is None:
            return Interrupted(self._inbox.interruption())
        self._debug(f"Agent {reported.outcome} after {reported.seconds:.1f}s, exit code {reported.exit_code}")
        return replace(reported, present=self._completion_files())

    def _ask(self, question: str, budget: float | None) -> Answer:
        """A call outside the loop's count, not outside its budget: text mode tells no cost, so it is only used
        where there is none to keep."""
        reported = self._call(question, "text" if budget is None else "stream", budget, ())
        if reported is None:
            return Answer("", "interrupted")
        answered = reported.outcome in ("finished", "refused", "empty")
        problem = "" if answered else f"commit message: {reported.detail}"
        return Answer(reported.text, problem, reported.cost_usd, reported.usage)

    def _call(self, prompt: str, mode: Mode, budget: float | None, watchers: Sequence[Watcher]) -> Reported | None:
        self._calls += 1
        variables = {"RALPH_ITERATION": str(self._iteration)}
        papers = papers_in(self._around.records, self._calls, self._around.notes)
        return self._caller.call(Call(prompt, mode, papers, self._iteration, budget, variables), watchers)

    def _completion_files(self) -> tuple[str, ...]:
        names = (signal[5:] for signal in self._around.signals if signal.startswith("file:"))
        return tuple(name for name in names if os.path.isfile(os.path.join(self._around.folder, name)))

    def _check(self, names: tuple[str, ...], iteration: int) -> Fact:
        evidence = Evidence(iteration, self._around.folder, self._around.gate_environment)
        return checked([self._gates[name] for name in names], evidence, self._inbox, self._watchers)

    def _debug(self, *texts: str) -> None:
        debug(self._watchers, self._iteration, *texts)


def checked(gates: Sequence[Gate], evidence: Evidence, inbox: Inbox, watchers: Sequence[Watcher]) -> Fact:
    """All gates in order; an interruption starts no other, and one that must not wait judges none."""
    results: list[GateResult] = []
    number = evidence.iteration
    for gate in gates:
        title = hidden(gate.title)
        tell(watchers, number, GateStarted(title, len(gates)), Debugged(f"Running guardrail: {title}"))
        result = gate.check(evidence)
        if inbox.stop_now() is not None:
            return Interrupted(inbox.interruption())
        action = "" if result.feedback is None else result.feedback.action
        tell(
            watchers,
            number,
            GateEnded(title, result.passed, result.exit_code, result.seconds, action, result.log, result.reason),
            Debugged(f"Guardrail exited with code {result.exit_code} ({result.seconds:.1f}s)"),
        )
        if result.trouble:
            tell(watchers, number, Warned(result.trouble))
        results.append(result)
        if len(results) < len(gates) and (by := inbox.interruption()):
            return Interrupted(by)
    return Checked(tuple(results))
