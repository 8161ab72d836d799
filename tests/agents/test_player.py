"""The scripted agent, really run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ralph.agents import scripted
from ralph.core.outcome import classify_run
from ralph.model.command import CommandExit
from ralph.model.events import FileEdit, Finished, Planned, Said, Todo, ToolEnded, ToolStarted
from ralph.model.loop import Reported
from ralph.model.ports import AgentOptions, OutputMode

COMMIT = "Provide a short imperative commit message for the changes. Output only the message, no explanation."


class Stage:
    """A folder with a script in it, and the agent that plays it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "script.json"

    def plays(self, *runs: object) -> "Stage":
        self.script.write_text(json.dumps(runs))
        return self

    def run(
        self, mode: OutputMode = "stream", prompt: str = "do it", variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        agent = scripted.build(AgentOptions(command=("scripted",), flags=(str(self.script),)))
        call = agent.invocation(prompt, mode, None)
        environment = {"PATH": os.environ["PATH"], **(variables or {})}
        return subprocess.run(
            call.argv,
            input=call.stdin.encode(),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def told(done: subprocess.CompletedProcess[bytes]) -> list[object]:
    return list(scripted.build(AgentOptions(command=("scripted",))).parser("stream").feed(done.stdout))


def judge(done: subprocess.CompletedProcess[bytes], mode: OutputMode = "stream") -> Reported:
    parser = scripted.build(AgentOptions(command=("scripted",))).parser(mode)
    parser.feed(done.stdout)
    return classify_run(parser.summarize_run(), CommandExit(code=done.returncode, seconds=1.0), done.stderr.decode())


def said(done: subprocess.CompletedProcess[bytes]) -> Sequence[str]:
    return [event.text for event in told(done) if isinstance(event, Said)]


def test_a_whole_run_is_real_and_reads_like_claude(stage: Stage) -> None:
    done = stage.plays(
        [
            {"think": "hm"},
            {"say": "Writing."},
            {"write": {"path": "sub/a.txt", "content": "one\ntwo\n"}},
            {"edit": {"path": "sub/a.txt", "old": "two", "new": "2"}},
            {"bash": "cat sub/a.txt; echo oops >&2"},
            {"bash": "echo no; exit 3"},
            {"todo": ["[x] read", "[>] write", "test"]},
            {"cost": 0.25},
            {"cost": 0.5},
            {"say": "All done.\n\n<response>DONE</response>"},
        ]
    ).run()
    assert (done.returncode, done.stderr) == (0, b"")
    assert (stage.folder / "sub/a.txt").read_text() == "one\n2\n"
    events = told(done)
    assert Said("hm", thinking=True) in events
    written = FileEdit(added=2, hunk=" one\n two", whole=True)
    assert ToolStarted(id="toolu_0001", name="Write", summary="sub/a.txt", edit=written) in events
    assert ToolStarted(id="toolu_0003", name="Bash", summary="cat sub/a.txt; echo oops >&2") in events
    assert ToolEnded(id="toolu_0003", output="one\n2\noops\n", error=None, lines=3, chars=11) in events
    assert ToolEnded(id="toolu_0004", output="", error="Exit code 3\nno", lines=2, chars=14) in events
    assert Planned((Todo("read", "done"), Todo("write", "active"), Todo("test"))) in events
    assert isinstance(events[-1], Finished)
    reported = judge(done)
    assert (reported.outcome, reported.cost_usd, reported.tools, reported.errors) == ("finished", 0.75, 4, 1)
    assert reported.text == "All done.\n\n<response>DONE</response>"
    assert reported.usage.input_tokens > 0


def test_every_line_is_out_before_the_next_step(stage: Stage) -> None:
    stage.plays([{"say": "first"}, {"hang": True}])
    call = scripted.build(AgentOptions(command=("scripted",), flags=(str(stage.script),))).invocation(
        "p", "stream", None
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        ["timeout", "--foreground", "10", *call.argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=stage.folder,
        env=environment,
    ) as child:
        assert child.stdout is not None
        assert b'"init"' in child.stdout.readline()
        assert b"first" in child.stdout.readline()
        assert child.poll() is None
        child.send_signal(signal.SIGTERM)
        assert child.stdout.read() == b""


def test_an_edit_that_does_not_fit_is_an_error(stage: Stage) -> None:
    done = stage.plays(
        [
            {"write": {"path": "a", "content": "x"}},
            {"edit": {"path": "a", "old": "y", "new": "z"}},
            {"edit": {"path": "missing", "old": "y", "new": "z"}},
            {"write": {"path": "a/b", "content": "x"}},
        ]
    ).run()
    errors = [event.error for event in told(done) if isinstance(event, ToolEnded)]
    assert errors[0] is None
    assert all(errors[1:])
    assert (stage.folder / "a").read_text() == "x"


def test_what_a_command_leaves_running_does_not_hold_us(stage: Stage) -> None:
    began = time.monotonic()
    done = stage.plays([{"bash": "sleep 30 & echo $! > pid"}]).run()
    os.kill(int((stage.folder / "pid").read_text()), signal.SIGKILL)
    assert done.returncode == 0
    assert time.monotonic() - began < 15


# -- which run of the script -----------------------------------------------------------------------
def test_the_iteration_chooses_and_the_last_repeats(stage: Stage) -> None:
    stage.plays([{"say": "one"}], [{"say": "two"}])
    assert [said(stage.run(variables={"RALPH_ITERATION": n})) for n in ("1", "2", "7")] == [["one"], ["two"], ["two"]]
    assert not (stage.folder / "script.json.count").exists()


def test_without_an_iteration_the_runs_are_counted(stage: Stage) -> None:
    stage.plays([{"say": "one"}], [{"say": "two"}])
    assert [said(stage.run()) for _ in range(3)] == [["one"], ["two"], ["two"]]
    assert (stage.folder / "script.json.count").read_text() == "3"


def test_a_script_may_be_yaml(stage: Stage) -> None:
    stage.script = stage.folder / "script.yaml"
    stage.script.write_text("- - say: |\n      two\n      lines\n- steps:\n    - say: next\n")
    assert said(stage.run(variables={"RALPH_ITERATION": "1"})) == ["two\nlines\n"]
    assert said(stage.run(variables={"RALPH_ITERATION": "2"})) == ["next"]


# -- text mode -------------------------------------------------------------------------------------
def test_text_mode_works_and_prints_the_answer_only(stage: Stage) -> None:
    done = stage.plays([{"say": "Working."}, {"bash": "echo x > made"}, {"say": "Done."}]).run("text")
    assert done.stdout == b"Done.\n"
    assert (stage.folder / "made").exists()
    assert judge(done, "text").outcome == "finished"


@pytest.mark.parametrize("message", [{"message": "Add a file"}, {}])
def test_a_commit_message_is_answered_without_working_again(stage: Stage, message: dict[str, str]) -> None:
    stage.plays({"steps": [{"bash": "echo x >> made"}, {"say": "Add a file"}], **message})
    assert stage.run("text", COMMIT).stdout == b"Add a file\n"
    assert judge(stage.run("stream", COMMIT)).text == "Add a file"
    assert not (stage.folder / "made").exists()


def test_asking_for_a_message_does_not_count_as_a_run(stage: Stage) -> None:
    stage.plays({"steps": [{"say": "one"}], "message": "First"}, {"steps": [{"say": "two"}], "message": "Second"})
    assert said(stage.run()) == ["one"]
    assert stage.run("text", COMMIT).stdout == b"First\n"
    assert said(stage.run()) == ["two"]
    assert stage.run("text", COMMIT).stdout == b"Second\n"


# -- ways to end -----------------------------------------------------------------------------------
def test_the_final_text_may_differ_from_what_was_said(stage: Stage) -> None:
    assert judge(stage.plays([{"say": "a"}, {"result": ""}]).run()).outcome == "empty"


def test_it_may_vanish(stage: Stage) -> None:
    done = stage.plays([{"say": "a"}, {"exit": 7}]).run()
    reported = judge(done)
    assert (done.returncode, reported.outcome) == (7, "crashed")
    assert "exit code 7" in reported.detail


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [(529, "Overloaded", "overloaded"), (429, "slow down", "limited"), (401, "bad key", "unusable")],
)
def test_the_service_may_fail(stage: Stage, status: int, message: str, outcome: str) -> None:
    done = stage.plays([{"error": {"status": status, "message": message}}]).run()
    assert done.returncode == 1
    assert judge(done).outcome == outcome


def test_what_a_model_server_can_do_is_played_too(stage: Stage) -> None:  # issue 4: one script format for both
    assert judge(stage.plays([{"say": "a"}, {"overload": True}]).run()).outcome == "overloaded"
    assert judge(stage.plays([{"say": "a"}, {"cut": True}, {"say": "b"}]).run()).outcome == "crashed"
    assert judge(stage.plays([{"say": "a"}, {"empty": True}]).run()).outcome == "empty"
    usage = judge(stage.plays([{"usage": {"input_tokens": 7}}, {"say": "a"}, {"say": "b"}]).run()).usage
    assert (usage.input_tokens, usage.output_tokens) == (14, 40)


def test_raw_output_is_printed_as_it_is(stage: Stage) -> None:
    stage.script.write_text('[[{"raw": "{broken\\n\\udcff\\n"}, {"say": "on"}]]')
    done = stage.run()
    assert b"{broken\n\xff\n" in done.stdout
    assert judge(done).text == "on"


def test_it_sleeps(stage: Stage) -> None:
    began = time.monotonic()
    stage.plays([{"sleep": 0.3}]).run()
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("[[{}]]", "is not a step"),
        ('[[{"dance": 1}]]', "'dance'"),
        ('[[{"write": {"path": "x"}}]]', "'content'"),
        ('[[{"say": "a", "bash": "b"}]]', "is not a step"),
        ("{}", "list of runs"),
        ("[]", "list of runs"),
        ("[", "cannot read the script"),
    ],
)
def test_a_bad_script_is_told(stage: Stage, script: str, complaint: str) -> None:
    stage.script.write_text(script)
    done = stage.run()
    assert done.returncode == 2
    assert complaint in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_it_needs_nothing_but_the_standard_library(stage: Stage) -> None:
    stage.plays([{"say": "hi"}])
    code = "import sys, runpy; runpy.run_module('ralph.agents._player', run_name='x'); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"msgspec", "yaml", "subprocess"} & {*modules}
