"""Each decision of `ralph run`, and the fact it comes to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.engine.gate_run import GateRunner
from ralph.engine.loops.run import RunConfig, RunEffects
from ralph.engine.proofs.proof_gates import ProofGates
from ralph.engine.scm import COMMIT_MESSAGE_PROMPT, ScmRunner
from ralph.model.command import CommandExit
from ralph.model.errors import UsageError
from ralph.model.events import NO_USAGE, Debugged, Doing, Usage
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Feedback,
    GateResult,
    Interrupted,
    Look,
    Reported,
    RunAgent,
    Save,
    Saved,
    Wait,
)
from ralph.model.ports import Evidence, OutputMode
from ralph.workspaces.git import Git
from support.quiet_inbox import QuietInbox
from support.scripted_processes import AskedAgent, Listener, Ran, ScriptedProcesses, make_runner, say, stopped

BRIEF = Brief(iteration=2, limit=5, budget_usd=0.25)


class NamedGate:
    """Finds what its name says."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.seen: list[Evidence] = []

    def check(self, evidence: Evidence) -> GateResult:
        self.seen.append(evidence)
        return GateResult(gate=self.title, passed=self.title == "green")


class Workplace:
    """A run's folders, apart from each other, and everything its effects touch."""

    def __init__(self, root: Path, inbox: QuietInbox, listener: Listener) -> None:
        self.folder, self.dot_ralph, self.run_dir = (root / name for name in ("project", "dot", "run"))
        for folder in (self.folder, self.dot_ralph, self.run_dir):
            folder.mkdir()
        self.inbox, self.listener = inbox, listener
        self.agent = AskedAgent()
        self.gates = {"green": NamedGate("green"), "red": NamedGate("red")}
        self.processes = ScriptedProcesses()

    def make_effects(
        self,
        *script: Ran,
        prompt: Callable[[], str] = lambda: "Fix it",
        signals: tuple[str, ...] = (),
        counts: bool = False,
        mode: OutputMode = "text",
        scm: tuple[str, ...] = (),
    ) -> RunEffects:
        self.processes = ScriptedProcesses(*script)
        config = RunConfig(
            folder=str(self.folder),
            dot_ralph=str(self.dot_ralph),
            run_dir=str(self.run_dir),
            signals=signals,
            count_iterations=counts,
            mode=mode,
        )
        environment = {"PATH": "/bin"}
        return RunEffects(
            config,
            read_prompt=prompt,
            runner=make_runner(self.agent, self.processes, self.folder, environment=environment),
            gates=ProofGates(
                GateRunner(
                    self.gates,
                    folder=str(self.folder),
                    environment=environment,
                    inbox=self.inbox,
                    watchers=[self.listener],
                )
            ),
            inbox=self.inbox,
            watchers=[self.listener],
            scm=ScmRunner(
                "hg",  # which is not started
                scm,
                git=Git("hg", str(self.folder), environment=environment, processes=self.processes),
                run_dir=str(self.run_dir),
            )
            if scm
            else None,
        )


@pytest.fixture
def place(tmp_path: Path, inbox: QuietInbox, listener: Listener) -> Workplace:
    return Workplace(tmp_path, inbox, listener)


def test_the_agent_gets_the_prompt_with_feedback_around_it_its_mode_and_its_budget(place: Workplace) -> None:
    effects = place.make_effects(say("done"), counts=True, mode="stream")
    effects.perform(
        RunAgent(
            Brief(iteration=2, limit=5, budget_usd=0.25, feedback=(Feedback("Behind"), Feedback("Before", "PREPEND")))
        )
    )
    prompt = "Iteration 2 of 5, 3 remaining.\n\nBefore\n\nFix it\n\nBehind"
    assert place.agent.asked == [(prompt, "stream", 0.25)]


def test_it_works_in_the_project_and_its_files_are_elsewhere(place: Workplace) -> None:
    place.make_effects(say("done")).perform(RunAgent(BRIEF))
    command = place.processes.commands[0]
    assert (command.cwd, command.environment["RALPH_ITERATION"]) == (str(place.folder), "2")
    assert (place.dot_ralph / "prompt_001.txt").read_text() == "Fix it"
    assert (place.run_dir / "agent_001.log").exists()
    assert [*place.folder.iterdir()] == []


def test_what_the_agent_said_is_the_fact_and_verbose_hears_about_it(place: Workplace) -> None:
    reported = place.make_effects(say("<response>DONE</response>", 0.5), mode="stream").perform(RunAgent(BRIEF))
    assert isinstance(reported, Reported)
    assert (reported.outcome, reported.text, reported.cost_usd) == ("finished", "<response>DONE</response>", 0.5)
    told = place.listener.of(Debugged)
    assert told[:2] == [(2, Debugged("Iteration 2/5 starting")), (2, Debugged("Prompt: Fix it"))]
    assert told[-1] == (2, Debugged("Agent finished after 1.5s, exit code 0"))


def test_completion_files_that_are_there_come_with_the_fact(place: Workplace) -> None:
    signals = ("file:here.md", "file:gone.md", "response", "file:folder")
    (place.folder / "folder").mkdir()
    effects = place.make_effects(Ran(act=(place.folder / "here.md").touch), signals=signals)
    reported = effects.perform(RunAgent(BRIEF))
    assert isinstance(reported, Reported)
    assert reported.present == ("here.md",)


def test_the_prompt_is_read_anew_for_each_agent(place: Workplace) -> None:
    texts = iter(("one", "two"))
    effects = place.make_effects(say("a"), say("b"), prompt=lambda: next(texts))
    effects.perform(RunAgent(BRIEF))
    effects.perform(RunAgent(BRIEF))
    assert [prompt for prompt, _, _ in place.agent.asked] == ["one", "two"]


def test_a_prompt_that_cannot_be_read_makes_the_run_unusable(place: Workplace) -> None:
    def gone() -> str:
        raise UsageError("cannot read the prompt file", "give a readable file with -f")

    reported = place.make_effects(prompt=gone).perform(RunAgent(BRIEF))
    detail = "cannot read the prompt file. give a readable file with -f"
    assert reported == Reported(outcome="unusable", detail=detail)
    assert place.processes.commands == []


def test_an_agent_that_was_stopped_is_no_report(place: Workplace) -> None:
    effects = place.make_effects(stopped("received SIGINT"), signals=("file:here.md",))
    assert effects.perform(RunAgent(BRIEF)) == Interrupted("received SIGINT")


def test_calls_are_numbered_and_a_later_life_goes_on_counting(place: Workplace) -> None:
    (place.run_dir / "agent_004.log").touch()
    effects = place.make_effects(say("a"), say("b"))
    effects.perform(RunAgent(BRIEF))
    effects.perform(RunAgent(BRIEF))
    assert sorted(path.name for path in place.run_dir.glob("agent_*")) == [f"agent_00{n}.log" for n in (4, 5, 6)]


def test_gates_are_found_by_name_and_judge_that_iteration(place: Workplace) -> None:
    fact = place.make_effects().perform(Check(("red", "green"), 3))
    assert fact == Checked((GateResult(gate="red", passed=False), GateResult(gate="green", passed=True)))
    assert place.gates["red"].seen == [Evidence(3, str(place.folder), {"PATH": "/bin"})]


def test_without_scm_tasks_there_is_nothing_to_save(place: Workplace) -> None:
    assert place.make_effects().perform(Save(iteration=2)) == Saved()
    assert place.processes.commands == []


@pytest.mark.parametrize(("budget", "mode"), [(None, "text"), (0.125, "stream")])
def test_the_agent_is_asked_for_a_commit_message_within_the_budget(
    place: Workplace, budget: float | None, mode: OutputMode
) -> None:
    answer = say("Mend the parser", 0.01) if mode == "stream" else Ran(stdout=b"Mend the parser\n")
    effects = place.make_effects(say("done"), answer, Ran(), scm=("commit",))
    effects.perform(RunAgent(BRIEF))
    before = len(place.listener.told)
    saved = effects.perform(Save(iteration=2, budget_usd=budget))
    assert place.agent.asked[1] == (COMMIT_MESSAGE_PROMPT, mode, budget)
    spent = Usage(input_tokens=30, output_tokens=4) if budget else NO_USAGE  # plain text tells neither
    assert saved == Saved(done=("commit",), message="Mend the parser", cost_usd=0.01 if budget else None, usage=spent)
    assert place.processes.commands[2].argv[1:] == ("commit", "-am", "Mend the parser")
    assert place.processes.commands[1].environment["RALPH_ITERATION"] == "2"
    assert (place.run_dir / "agent_002.log").exists()
    told = [event for _, event in place.listener.told[before:]]  # it is not an iteration: nobody hears what it says
    assert told == [Doing("asking for a commit message")]


def test_an_agent_that_gives_no_message_is_a_problem_and_no_failure(place: Workplace) -> None:
    crashed = Ran(stderr=b"boom\n", exited=CommandExit(code=1, seconds=1.0))
    saved = place.make_effects(crashed, scm=("commit",)).perform(Save(iteration=2))
    assert isinstance(saved, Saved)
    assert saved.done == ()
    assert saved.problems[0].startswith("commit message: ")


def test_saving_that_was_cut_short_is_an_interruption(place: Workplace) -> None:
    def stop() -> None:
        place.inbox.by, place.inbox.grace = "cancelled with `ralph cancel`", 1.0

    effects = place.make_effects(Ran(act=stop, exited=stopped("").exited), scm=("commit",))
    assert effects.perform(Save(iteration=2)) == Interrupted("cancelled with `ralph cancel`")


def test_a_first_signal_while_saving_lets_it_finish(place: Workplace) -> None:
    effects = place.make_effects(Ran(act=lambda: setattr(place.inbox, "by", "received SIGINT")), scm=("push",))
    assert effects.perform(Save(iteration=2)) == Saved(done=("push",))


@pytest.mark.parametrize("decision", [Wait(1.0, "the network"), Look()])
def test_what_is_no_business_of_its_own_is_left_to_the_kernel(place: Workplace, decision: Wait | Look) -> None:
    assert place.make_effects().perform(decision) is None
