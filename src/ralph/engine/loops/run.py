"""The effects of `ralph run`: carries out a decision through ports and returns what happened."""

import os
import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.check_evidence import describe_gate, digest_checks
from ralph.core.prompt import compose_prompt
from ralph.core.text.questions import add_notes
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles, count_calls
from ralph.engine.emit import emit, emit_debug
from ralph.engine.proofs.proof_gates import ProofGates
from ralph.engine.scm import AgentReply, ScmRunner
from ralph.model.events import Doing
from ralph.model.loop import (
    Brief,
    Check,
    Decision,
    Fact,
    GateResult,
    Interrupted,
    Reported,
    RunAgent,
    Save,
    Saved,
    SnapshotTaken,
    TakeSnapshot,
    Verify,
)
from ralph.model.ports import Inbox, OutputMode, Watcher
from ralph.model.proofs import ProofChange
from ralph.model.receipt import format_trailer

MAX_PLAIN_ANSWER_CHARS = 100_000
_MAY_CLAIM = re.compile("<(response|promise)>", re.IGNORECASE)


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
        gates: ProofGates,
        inbox: Inbox,
        watchers: Sequence[Watcher],
        scm: ScmRunner | None = None,
    ) -> None:
        self._config = config
        self._read_prompt = read_prompt
        self._runner = runner
        self._gates, self._proofs = gates, gates.watch
        self._inbox = inbox
        self._watchers = watchers
        self._scm = scm
        self._calls = count_calls(config.run_dir)
        self._iteration = 0
        self._last_results: tuple[GateResult, ...] = ()
        self._may_claim = True  # the last agent may have said that all is done; of an earlier life nobody knows

    def perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                return self._run_agent(brief)
            case TakeSnapshot(iteration):
                return self._take_snapshot(iteration)
            case Check(gates, iteration, sealed=True):
                return self._gates.check_sealed(gates, iteration)
            case Check(gates, iteration):
                return self._check(gates, iteration)
            case Verify(text=explanation):
                return self._gates.judge_change(explanation)
            case Save(budget_usd=budget):
                return self._save(budget)
            case _:
                return None

    def _run_agent(self, brief: Brief) -> Fact:
        self._iteration = brief.iteration

        def build_request() -> AgentRequest:
            prompt = compose_prompt(self._read_prompt(), brief, count_iterations=self._config.count_iterations)
            prompt = add_notes(prompt, brief.notes)
            self._emit_debug(f"Iteration {brief.iteration}/{brief.limit} starting", f"Prompt: {prompt[:200]}")
            return replace(self._build_request(prompt, self._config.mode, brief.budget_usd), pausable=True)

        reported = self._runner.call(build_request, self._watchers, brief.agent)
        if isinstance(reported, Interrupted):
            self._runner.save_cut_off_work(brief.iteration, self._watchers)
            return reported
        self._emit_debug(f"Agent {reported.outcome} after {reported.seconds:.1f}s, exit code {reported.exit_code}")
        if reported.unseen:
            return reported
        reported = replace(reported, present=self._find_completion_files())
        return replace(reported, proofs=self._compare_proofs(reported)) if self._proofs else reported

    def _take_snapshot(self, iteration: int) -> SnapshotTaken:
        self._iteration = iteration
        taken = self._runner.take_snapshot(iteration, self._watchers)
        proofs = self._proofs.compare() if self._proofs else ()
        return replace(taken, present=self._find_completion_files(), proofs=proofs)

    def _compare_proofs(self, reported: Reported) -> tuple[ProofChange, ...]:
        """An agent that tells of no tool was not looked after; one that may complete the run is."""
        watch = self._proofs
        if watch is None:
            return ()
        self._may_claim = bool(reported.present or _MAY_CLAIM.search(reported.text))
        if self._may_claim:
            watch.look(self._iteration)
        return watch.compare()

    def _check(self, gates: Sequence[str], iteration: int) -> Fact:
        if self._proofs:
            self._proofs.clear_caches()
        checked = self._gates.run_gates(gates, iteration)
        if isinstance(checked, Interrupted):
            return checked
        self._last_results = checked.results
        if self._proofs is None or checked.failures or not iteration or not self._may_claim:
            return checked
        if self._proofs.is_untouched:  # nobody did anything, so no check was told to do anything else
            silent = self._proofs.find_silent_checks(checked.results)
            return replace(checked, proofs=(*self._proofs.compare(), *silent)) if silent else checked
        return replace(checked, proofs=self._proofs.compare_after(iteration, checked.results))

    def _save(self, budget: float | None) -> Fact:
        trailer = format_trailer(self._config.run, digest_checks(map(describe_gate, self._last_results)))
        saved = self._scm.save(lambda question: self._ask_agent(question, budget), trailer) if self._scm else Saved()
        return Interrupted(self._inbox.poll_interruption()) if self._inbox.poll_stop_grace() is not None else saved

    def _ask_agent(self, question: str, budget: float | None) -> AgentReply:
        """A call outside the loop's count, not outside its budget and its sum: text mode tells no cost, so it is only
        used where the user wants it."""
        emit(self._watchers, self._iteration, Doing("asking for a commit message"))
        request = self._build_request(question, self._choose_question_mode(budget), budget)
        request = replace(request, files=request.files.as_question())
        reported = self._runner.call(lambda: request, ())
        if isinstance(reported, Interrupted):
            return AgentReply(text="", problem="interrupted")
        if reported.unseen:
            self._runner.take_snapshot(self._iteration, ())
        if reported.outcome == "crashed" and reported.exit_code == 0 and not reported.tools:
            reported = replace(reported, outcome="finished", text=_read_plain_answer(request.files.stdout))
        answered = reported.outcome in ("finished", "refused", "empty")
        problem = "" if answered else f"commit message: {reported.detail}"
        return AgentReply(text=reported.text, problem=problem, cost_usd=reported.cost_usd, usage=reported.usage)

    def _choose_question_mode(self, budget: float | None) -> OutputMode:
        if budget is not None:
            return "stream"
        return self._config.mode if self._runner.reports_cost else "text"

    def _build_request(self, prompt: str, mode: OutputMode, budget: float | None) -> AgentRequest:
        self._calls += 1
        return AgentRequest(
            prompt=prompt,
            mode=mode,
            files=CallFiles.of_call(self._config.run_dir, self._calls, self._config.dot_ralph),
            iteration=self._iteration,
            budget_usd=budget,
            environment={"RALPH_ITERATION": str(self._iteration)},
        )

    def _find_completion_files(self) -> tuple[str, ...]:
        names = (signal[5:] for signal in self._config.signals if signal.startswith("file:"))
        return tuple(name for name in names if os.path.isfile(os.path.join(self._config.folder, name)))

    def _emit_debug(self, *texts: str) -> None:
        emit_debug(self._watchers, self._iteration, *texts)


def _read_plain_answer(path: str) -> str:
    """Of an agent that answers a question in plain words, though it was asked for events."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_PLAIN_ANSWER_CHARS)
    except OSError:
        return ""
