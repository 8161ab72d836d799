"""One call of an agent: what it is started with, what is kept of it, what it comes to."""

import errno
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.engine.agent_run import LINGERED_WARNING, AgentRequest, CallFiles, count_calls
from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT, Command, CommandExit
from ralph.model.errors import ConfigError, DiskError, MachineError, RalphError
from ralph.model.events import Debugged, Finished, Warned
from ralph.model.loop import Interrupted, Reported
from ralph.model.ports import SealedTree
from ralph.model.proofs import TreeChange
from support.scripted_processes import (
    AnsweringAgent,
    AskedAgent,
    Listener,
    Ran,
    ScriptedProcesses,
    make_runner,
    say,
    stopped,
)


class Keeper:
    """Keeps a tree, or says what it could not."""

    def __init__(self, trouble: str = "") -> None:
        self.saved: list[str] = []
        self._trouble = trouble

    def save_initial_tree(self) -> str:
        self.saved.append("initial")
        return self._trouble

    def save_tree_after(self, iteration: int) -> str:
        self.saved.append(f"after {iteration}")
        return ""

    def save_cut_off_tree(self, iteration: int) -> str:
        return self.save_tree_after(iteration)

    def get_tree_sign(self) -> str:
        return " ".join(self.saved)

    def get_work_head(self) -> str:
        return self.get_tree_sign().rpartition(" ")[0]

    @property
    def root(self) -> str:
        return ""

    def write_committed_tree(self, apart_from: str = "") -> str:
        return self.tree()

    def open_sealed_tree(
        self, restored: Sequence[str], *, is_committed: bool = False, apart_from: str = ""
    ) -> AbstractContextManager[SealedTree]:
        raise NotImplementedError

    def baseline(self) -> str:
        return ""

    def tree(self) -> str:
        return ""

    def list_changes(self, before: str, after: str) -> list[TreeChange]:
        return []

    def read_blob(self, blob: str) -> bytes:
        return b""

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> str:
        return ""


def make_request(folder: Path, *, prompt: str = "Fix it", budget_usd: float | None = None) -> AgentRequest:
    return AgentRequest(
        prompt=prompt,
        mode="stream",
        files=CallFiles.of_call(str(folder), 3),
        iteration=2,
        budget_usd=budget_usd,
        environment={"RALPH_ITERATION": "2"},
    )


def test_the_files_of_a_call_are_known_by_its_number() -> None:
    assert CallFiles.of_call("/run", 7, "/dot") == CallFiles(
        stdout="/run/agent_007.log",
        stderr="/run/agent_007.stderr.log",
        prompt="/dot/prompt_007.txt",
        answer="/run/answer_007.txt",
    )
    assert CallFiles.of_call("/run", 7).prompt == "/run/prompt_007.txt"


def test_the_files_of_a_call_may_have_names_of_their_own() -> None:
    assert CallFiles.in_dir("/run", stdout="o", stderr="e", prompt="p", answer="a") == CallFiles(
        stdout="/run/o", stderr="/run/e", prompt="/run/p", answer="/run/a"
    )


def test_calls_are_counted_by_the_last_of_their_logs(tmp_path: Path) -> None:
    for name in ("agent_002.log", "agent_011.stderr.log", "agent_x.log", "answer_020.txt"):
        (tmp_path / name).touch()
    assert count_calls(str(tmp_path)) == 11
    assert count_calls(str(tmp_path / "nowhere")) == 0
    (tmp_path / "empty").mkdir()
    assert count_calls(str(tmp_path / "empty")) == 0


def test_an_agent_is_started_where_it_works_with_all_it_is_to_know(tmp_path: Path) -> None:
    agent, processes = AskedAgent(), ScriptedProcesses(say("done"))
    runner = make_runner(agent, processes, tmp_path, environment={"PATH": "/bin", "RALPH_ITERATION": "old"})
    runner.call(lambda: make_request(tmp_path, budget_usd=0.25), ())
    assert agent.asked == [("Fix it", "stream", 0.25)]
    assert [replace(command, log_fd=None) for command in processes.commands] == [
        Command(
            argv=("agent", f"{tmp_path}/prompt_003.txt"),
            environment={"FROM": "its adapter", "PATH": "/bin", "RALPH_ITERATION": "2"},
            cwd=str(tmp_path),
            timeout=60.0,
            idle_timeout=7.0,
            linger=600.0,
            reads=(f"{tmp_path}/prompt_003.txt",),
        )
    ]
    assert (tmp_path / "prompt_003.txt").read_text() == "Fix it"


def test_what_it_prints_is_kept_and_told(tmp_path: Path, listener: Listener) -> None:
    ran = Ran(stdout=say("done", 0.5).stdout, stderr=b"careful\n", exited=CommandExit(code=0, seconds=2.5))
    reported = make_runner(AskedAgent(), ScriptedProcesses(ran), tmp_path).call(
        lambda: make_request(tmp_path), [listener]
    )
    assert isinstance(reported, Reported)
    assert (reported.outcome, reported.text, reported.cost_usd, reported.seconds) == ("finished", "done", 0.5, 2.5)
    assert (tmp_path / "agent_003.log").read_bytes() == ran.stdout
    assert (tmp_path / "agent_003.stderr.log").read_text() == "careful\n"
    assert [iteration for iteration, _ in listener.of(Finished)] == [2]


def test_who_says_nothing_on_stderr_leaves_no_log_of_it(tmp_path: Path) -> None:
    make_runner(AskedAgent(), ScriptedProcesses(say("done")), tmp_path).call(lambda: make_request(tmp_path), ())
    assert not (tmp_path / "agent_003.stderr.log").exists()


def test_what_an_agent_wrote_as_its_answer_is_its_text(tmp_path: Path) -> None:
    answer = tmp_path / "answer_003.txt"
    ran = Ran(stdout=say("on stdout").stdout, act=lambda: answer.write_text("in the file"))
    reported = make_runner(AnsweringAgent(), ScriptedProcesses(ran), tmp_path).call(lambda: make_request(tmp_path), ())
    assert isinstance(reported, Reported)
    assert reported.text == "in the file"
    assert not answer.exists()


def test_an_agent_that_wants_its_prompt_on_stdin_gets_every_byte_of_it(tmp_path: Path) -> None:
    processes = ScriptedProcesses(say("done"))
    runner = make_runner(AnsweringAgent(), processes, tmp_path)
    runner.call(lambda: make_request(tmp_path, prompt="half a character: \udcc3"), ())
    assert processes.commands[0].stdin == b"half a character: \xc3"
    assert not (tmp_path / "prompt_003.txt").exists()


def test_a_file_the_adapter_wants_lies_beside_the_log(tmp_path: Path) -> None:
    processes = ScriptedProcesses(say("done"))
    make_runner(AnsweringAgent(), processes, tmp_path).call(lambda: make_request(tmp_path), ())
    settings = tmp_path / "agent_003_settings"
    assert settings.read_text() == "its settings"
    assert processes.commands[0].argv == ("agent", f"{tmp_path}/answer_003.txt", str(settings))


def test_a_folder_that_git_clean_took_along_is_made_again(tmp_path: Path) -> None:
    make_runner(AskedAgent(), ScriptedProcesses(say("done")), tmp_path).call(
        lambda: make_request(tmp_path / "gone", prompt="naïve"), ()
    )
    assert (tmp_path / "gone" / "prompt_003.txt").read_text(encoding="utf-8") == "naïve"


def test_its_last_line_counts_even_without_an_end(tmp_path: Path) -> None:
    ran = Ran(stdout=say("done").stdout.rstrip(b"\n"))
    reported = make_runner(AskedAgent(), ScriptedProcesses(ran), tmp_path).call(lambda: make_request(tmp_path), ())
    assert isinstance(reported, Reported)
    assert reported.text == "done"


@pytest.mark.parametrize(("budget", "answer"), [(0.25, ENOUGH_OUTPUT), (0.75, FINAL_OUTPUT), (None, FINAL_OUTPUT)])
def test_who_spent_its_budget_is_to_end(tmp_path: Path, budget: float | None, answer: str) -> None:
    processes = ScriptedProcesses(say("done", 0.5))
    make_runner(AskedAgent(), processes, tmp_path).call(lambda: make_request(tmp_path, budget_usd=budget), ())
    assert processes.answers == [answer]


def test_what_it_complained_of_on_stderr_is_why_it_failed(tmp_path: Path) -> None:
    ran = Ran(stderr=b"the wall is too high\n", exited=CommandExit(code=3, seconds=1.0))
    reported = make_runner(AskedAgent(), ScriptedProcesses(ran), tmp_path).call(lambda: make_request(tmp_path), ())
    assert isinstance(reported, Reported)
    assert (reported.outcome, reported.exit_code) == ("crashed", 3)
    assert "the wall is too high" in reported.detail


def test_verbose_hears_the_command(tmp_path: Path, listener: Listener) -> None:
    make_runner(AskedAgent(), ScriptedProcesses(say("done")), tmp_path).call(lambda: make_request(tmp_path), [listener])
    assert listener.of(Debugged) == [(2, Debugged(f"Agent command: agent {tmp_path}/prompt_003.txt"))]


def test_who_stopped_it_is_known(tmp_path: Path) -> None:
    keeper = Keeper()
    runner = make_runner(AskedAgent(), ScriptedProcesses(stopped("received SIGTERM")), tmp_path, keep=keeper)
    assert runner.call(lambda: make_request(tmp_path), ()) == Interrupted("received SIGTERM")
    assert keeper.saved == ["initial"]


@pytest.mark.parametrize(
    ("error", "lasting"),
    [(ConfigError("too long", "Use a file."), True), (MachineError("no space", "Make room."), False)],
)
def test_an_agent_that_cannot_be_asked_is_unusable(error: RalphError, lasting: bool, tmp_path: Path) -> None:
    processes = ScriptedProcesses()
    reported = make_runner(AskedAgent(error), processes, tmp_path).call(lambda: make_request(tmp_path), ())
    assert reported == Reported(outcome="unusable", detail=f"{error.message}. {error.hint}", lasting=lasting)
    assert processes.commands == []


def test_a_request_that_cannot_be_built_makes_it_unusable_too(tmp_path: Path) -> None:
    def build() -> AgentRequest:
        raise RalphError("cannot read TASK.md: No such file")

    reported = make_runner(AskedAgent(), ScriptedProcesses(), tmp_path).call(build, ())
    assert reported == Reported(outcome="unusable", detail="cannot read TASK.md: No such file.")


def test_run_leaves_such_an_error_to_its_caller(tmp_path: Path) -> None:
    runner = make_runner(AskedAgent(ConfigError("too long")), ScriptedProcesses(), tmp_path)
    with pytest.raises(ConfigError, match="too long"):
        runner.run(make_request(tmp_path), ())


def test_nothing_is_started_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    reported = make_runner(AskedAgent(), ScriptedProcesses(), gone).call(lambda: make_request(tmp_path), ())
    assert isinstance(reported, Reported)
    assert (reported.outcome, str(gone) in reported.detail) == ("unusable", True)


def test_the_tree_is_kept_before_an_agent_and_after_one_that_may_have_changed_it(
    tmp_path: Path, listener: Listener
) -> None:
    keeper = Keeper("a file that cannot be read")
    silent = Ran(exited=CommandExit(code=1, seconds=1.0))  # it crashed: who knows what it did
    runner = make_runner(AskedAgent(), ScriptedProcesses(say("only words"), silent), tmp_path, keep=keeper)
    talked = runner.call(lambda: make_request(tmp_path), [listener])
    crashed = runner.call(lambda: make_request(tmp_path), [listener])
    assert keeper.saved == ["initial", "initial"]  # what an agent left is kept once its report is on record
    assert isinstance(talked, Reported)
    assert not talked.unseen
    assert isinstance(crashed, Reported)
    assert crashed.unseen
    runner.take_snapshot(2, [listener])
    assert keeper.saved == ["initial", "initial", "after 2"]
    assert (2, Warned("not kept of the work tree: a file that cannot be read")) in listener.told


def test_one_that_did_not_end_after_its_last_word_is_told_with_the_silence_it_was_given(
    tmp_path: Path, listener: Listener
) -> None:
    ran = Ran(stdout=say("done").stdout, exited=CommandExit(code=-15, seconds=9.0, ending="lingered"))
    make_runner(AskedAgent(), ScriptedProcesses(ran), tmp_path).call(lambda: make_request(tmp_path), [listener])
    assert listener.of(Warned) == [(2, Warned(f"{LINGERED_WARNING}: stopped after 7s of silence"))]


def test_no_agent_is_paid_whose_answer_could_get_lost(tmp_path: Path) -> None:
    """Its note says where a run that is killed finds the answer."""
    request, processes = make_request(tmp_path), ScriptedProcesses(say("done", 0.5))
    runner = make_runner(AskedAgent(), processes, tmp_path, adapter="claude")
    Path(request.files.note).mkdir()
    reported = runner.call(lambda: request, ())
    assert isinstance(reported, Reported)
    assert (reported.outcome, request.files.note in reported.detail) == ("unusable", True)
    assert processes.commands == []
    Path(request.files.note).rmdir()
    assert isinstance(runner.call(lambda: request, ()), Reported)
    assert (len(processes.commands), Path(request.files.note).exists()) == (1, True)


def test_a_prompt_that_finds_no_room_is_an_error_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    runner = make_runner(AskedAgent(), ScriptedProcesses(), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        with pytest.raises(DiskError, match="cannot write the prompt"):
            runner.run(make_request(tmp_path), ())
