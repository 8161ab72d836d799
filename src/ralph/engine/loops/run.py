"""The effects of `ralph run`: carries out a decision through ports and returns what happened."""

import os
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.check_evidence import describe_gate, digest_checks
from ralph.core.prompt import compose_prompt
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles, count_calls
from ralph.engine.emit import emit_debug
from ralph.engine.gate_run import GateRunner
from ralph.engine.scm import AgentReply, ScmRunner
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Interrupted,
    RunAgent,
    Save,
    Saved,
)
from ralph.model.ports import Inbox, OutputMode, Watcher
from ralph.model.receipt import format_trailer


class RunConfig(Struct, frozen=True, kw_only=True):
    """What a run is told once."""

    folder: str  # where agents and gates work
    dot_ralph: str  # `.ralph`: prompts and guardrail logs
    run: str = ""  # its id
    run_dir: str  # the run's own folder: raw output and events
    signals: tuple[str, ...]
    count_iterations: bool
    mode: OutputMode


class RunEffects:
    """Everything `ralph run` may touch."""

    def __init__(
        self,
        config: RunConfig,
        *,
        read_prompt: Callable[[], str],
        runner: AgentRunner,
        gates: GateRunner,
        inbox: Inbox,
        watchers: Sequence[Watcher],
        scm: ScmRunner | None = None,
    ) -> None:
        self._config = config
        self._read_prompt = read_prompt
        self._runner = runner
        self._gates = gates
        self._inbox = inbox
        self._watchers = watchers
        self._scm = scm
        self._calls = count_calls(config.run_dir)
        self._iteration = 0
        self._last_results: tuple[GateResult, ...] = ()

    def perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                return self._run_agent(brief)
            case Check(gates, iteration):
                return self._check(gates, iteration)
            case Save(budget_usd=budget):
                return self._save(budget)
            case _:
                return None

    def _run_agent(self, brief: Brief) -> Fact:
        self._iteration = brief.iteration

        def build_request() -> AgentRequest:
            prompt = compose_prompt(self._read_prompt(), brief, count_iterations=self._config.count_iterations)
            self._emit_debug(f"Iteration {brief.iteration}/{brief.limit} starting", f"Prompt: {prompt[:200]}")
            return self._build_request(prompt, self._config.mode, brief.budget_usd)

        reported = self._runner.call(build_request, self._watchers)
        if isinstance(reported, Interrupted):
            return reported
        self._emit_debug(f"Agent {reported.outcome} after {reported.seconds:.1f}s, exit code {reported.exit_code}")
        return replace(reported, present=self._find_completion_files())

    def _check(self, gates: Sequence[str], iteration: int) -> Fact:
        checked = self._gates.check(gates, iteration)
        self._last_results = checked.results if isinstance(checked, Checked) else ()
        return checked

    def _save(self, budget: float | None) -> Fact:
        trailer = format_trailer(self._config.run, digest_checks(map(describe_gate, self._last_results)))
        saved = self._scm.save(lambda question: self._ask_agent(question, budget), trailer) if self._scm else Saved()
        return Interrupted(self._inbox.poll_interruption()) if self._inbox.poll_stop_grace() is not None else saved

    def _ask_agent(self, question: str, budget: float | None) -> AgentReply:
        """A call outside the loop's count, not outside its budget: text mode tells no cost, so it is only used
        where there is none to keep."""
        request = self._build_request(question, "text" if budget is None else "stream", budget)
        reported = self._runner.call(lambda: request, ())
        if isinstance(reported, Interrupted):
            return AgentReply(text="", problem="interrupted")
        answered = reported.outcome in ("finished", "refused", "empty")
        problem = "" if answered else f"commit message: {reported.detail}"
        return AgentReply(text=reported.text, problem=problem, cost_usd=reported.cost_usd, usage=reported.usage)

    def _build_request(self, prompt: str, mode: OutputMode, budget: float | None) -> AgentRequest:
        self._calls += 1
        return AgentRequest(
            prompt=prompt,
            mode=mode,
            files=CallFiles.numbered(self._config.run_dir, self._calls, self._config.dot_ralph),
            iteration=self._iteration,
            budget_usd=budget,
            environment={"RALPH_ITERATION": str(self._iteration)},
        )

    def _find_completion_files(self) -> tuple[str, ...]:
        names = (signal[5:] for signal in self._config.signals if signal.startswith("file:"))
        return tuple(name for name in names if os.path.isfile(os.path.join(self._config.folder, name)))

    def _emit_debug(self, *texts: str) -> None:
        emit_debug(self._watchers, self._iteration, *texts)
