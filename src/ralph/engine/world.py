"""Carries out a decision through ports and returns what happened."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.outcome import judged
from ralph.core.prompt import composed
from ralph.engine.scm import Answer, Scm
from ralph.engine.stream import Conversation
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Command, Invocation
from ralph.model.errors import RalphError
from ralph.model.events import Debugged, Event, GateEnded, GateStarted
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    Interrupted,
    Observation,
    Reported,
    RunAgent,
    Save,
    Saved,
    Stop,
    Wait,
    Waited,
)
from ralph.model.ports import Agent, Evidence, Gate, Heard, Inbox, Mode, Processes, Watcher
from ralph.process.output import BoundedLog, Excerpt

STDERR_HEAD, STDERR_TAIL = 1 << 14, 1 << 16


class Surroundings(Struct, frozen=True):
    """What a run is told once."""

    run: str
    folder: str  # where agents and gates work
    notes: str  # `.ralph`: prompts and guardrail logs
    records: str  # the run's own folder: raw output and events
    environment: Mapping[str, str]  # of agents
    gate_environment: Mapping[str, str]
    signals: tuple[str, ...]
    count_iterations: bool
    mode: Mode
    timeout: float | None
    idle_timeout: float | None
    already: float = 0.0  # seconds the run has used in earlier lives


class World:
    """Everything `ralph run` may touch."""

    def __init__(
        self,
        around: Surroundings,
        agent: Agent,
        prompt: Callable[[], str],
        gates: Mapping[str, Gate],
        processes: Processes,
        inbox: Inbox,
        watchers: Sequence[Watcher],
        scm: Scm | None = None,
    ) -> None:
        self._around = around
        self._agent = agent
        self._prompt = prompt
        self._gates = gates
        self._processes = processes
        self._inbox = inbox
        self._watchers = watchers
        self._began = time.monotonic() - around.already
        self._calls = 0
        self._iteration = 0
        self._scm = scm

    def look(self, fact: Fact) -> Observation:
        """The fact, with the clocks and interruptions of now."""
        return Observation(fact, time.monotonic() - self._began, time.time(), self._inbox.interruption())

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
            case Stop():
                raise ValueError("a stop is not carried out but obeyed")
            case _:
                assert_never(decision)

    # -- the agent ------------------------------------------------------------------------------
    def _attempt(self, brief: Brief) -> Fact:
        self._iteration = brief.iteration
        try:
            prompt = composed(self._prompt(), brief, count_iterations=self._around.count_iterations)
            invocation = self._agent.invocation(prompt, self._around.mode, brief.budget_usd)
        except RalphError as error:
            return Reported("unusable", detail=f"{error.message}. {error.hint}".strip())
        self._debug(f"Iteration {brief.iteration}/{brief.limit} starting", f"Prompt: {prompt[:200]}")
        reported = self._call(invocation, prompt, self._around.mode, self._watchers)
        if reported is None:
            return Interrupted(self._inbox.interruption())
        self._debug(f"Agent {reported.outcome} after {reported.seconds:.1f}s, exit code {reported.exit_code}")
        return replace(reported, present=self._completion_files())

    def _ask(self, question: str, budget: float | None) -> Answer:
        """A call outside the loop's count, not outside its budget: that is why text mode, which tells no cost, has
        to do without one."""
        mode: Mode = "text" if budget is None else "stream"
        reported = self._call(self._agent.invocation(question, mode, budget), question, mode, ())
        if reported is None:
            return Answer("", "interrupted")
        answered = reported.outcome in ("finished", "refused", "empty")
        problem = "" if answered else f"commit message: {reported.detail}"
        return Answer(reported.text, problem, reported.cost_usd, reported.usage)

    def _call(self, invocation: Invocation, prompt: str, mode: Mode, watchers: Sequence[Watcher]) -> Reported | None:
        """Run the agent once; None when it was cut short by an interruption."""
        self._calls += 1
        argv, answer_path = self._with_files(invocation.argv, prompt)
        environment = {**self._around.environment, **invocation.environment, "RALPH_ITERATION": str(self._iteration)}
        self._debug(f"Agent command: {' '.join(argv)}")
        log = BoundedLog(os.path.join(self._around.records, f"agent_{self._calls:03}.log"))
        parser = self._agent.parser(mode)
        conversation = Conversation(parser, log, watchers, self._iteration)
        errors = Excerpt(STDERR_HEAD, STDERR_TAIL)
        command = Command(
            argv,
            environment,
            self._around.folder,
            invocation.stdin.encode("utf-8", "surrogateescape"),
            timeout=self._around.timeout,
            idle_timeout=self._around.idle_timeout,
        )
        exited = self._processes.run(command, conversation.hear, errors.write)
        conversation.finish()
        stderr = errors.text()
        if stderr:
            self._note(f"agent_{self._calls:03}.stderr.log", stderr)
        if exited.ending == "stopped":
            return None
        return judged(_with_answer(parser.heard(), answer_path), exited, stderr)

    def _with_files(self, argv: tuple[str, ...], prompt: str) -> tuple[tuple[str, ...], str]:
        """Put real paths where the agent asked for files."""
        prompt_path = os.path.join(self._around.notes, f"prompt_{self._calls:03}.txt")
        answer_path = os.path.join(self._around.records, f"answer_{self._calls:03}.txt")
        if any(PROMPT_FILE in word for word in argv):
            with open(prompt_path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(prompt)
        words = (word.replace(PROMPT_FILE, prompt_path).replace(ANSWER_FILE, answer_path) for word in argv)
        return tuple(words), answer_path if any(ANSWER_FILE in word for word in argv) else ""

    def _completion_files(self) -> tuple[str, ...]:
        names = (signal[5:] for signal in self._around.signals if signal.startswith("file:"))
        return tuple(name for name in names if os.path.isfile(os.path.join(self._around.folder, name)))

    # -- the gates ------------------------------------------------------------------------------
    def _check(self, names: tuple[str, ...], iteration: int) -> Fact:
        results = []
        evidence = Evidence(iteration, self._around.folder, self._around.gate_environment)
        for gate in map(self._gates.__getitem__, names):
            self._tell(GateStarted(gate.title), Debugged(f"Running guardrail: {gate.title}"))
            result = gate.check(evidence)
            if self._inbox.stop_now() is not None:
                return Interrupted(self._inbox.interruption())
            action = "" if result.feedback is None else result.feedback.action
            self._tell(
                GateEnded(gate.title, result.passed, result.exit_code, result.seconds, action, result.log),
                Debugged(f"Guardrail exited with code {result.exit_code} ({result.seconds:.1f}s)"),
            )
            results.append(result)
            if len(results) < len(names) and (by := self._inbox.interruption()):
                return Interrupted(by)
        return Checked(tuple(results))

    # -- telling --------------------------------------------------------------------------------
    def _tell(self, *events: Event) -> None:
        now = time.time()
        for watch in self._watchers:
            watch(now, self._iteration, events)

    def _debug(self, *texts: str) -> None:
        """Half characters, as file names may hold, are no text for others."""
        self._tell(*(Debugged(text.encode("utf-8", "replace").decode()) for text in texts))

    def _note(self, name: str, text: str) -> None:
        try:
            with open(os.path.join(self._around.records, name), "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            pass  # a full disk costs the log, never the run


def _with_answer(heard: Heard, path: str) -> Heard:
    """What the agent wrote into its answer file counts as its text."""
    if not path:
        return heard
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
        os.unlink(path)
    except OSError:
        return heard
    return replace(heard, text=text)
