import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.bus import command
from ralph.model.errors import RalphError, UsageError
from ralph.model.message import TASK_BUS_FILE, BusUnusable, NoSuchMessage
from ralph.stores.bus import FileMessageBus

TASK = "task-20260220-153045-my-feature"


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A task folder; no bus is meant unless a test says so."""
    monkeypatch.delenv("TASK_FOLDER", raising=False)
    monkeypatch.delenv("RALPH_RUN_ID", raising=False)
    folder = tmp_path / "my-project" / TASK
    folder.mkdir(parents=True)
    return folder


def ralph_bus(*words: object, stdin: str | bytes = "") -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words], input=stdin)
    if isinstance(result.exception, RalphError):
        raise result.exception
    return result


def test_post_prints_the_id_and_read_shows_the_message(task: Path) -> None:
    posted = ralph_bus("post", "--task", task, "--type", "FACT", "it works")
    shown = ralph_bus("read", "--task", task)
    (message,) = FileMessageBus(task / TASK_BUS_FILE).read()
    assert posted.output == f"{message.msg_id}\n"
    assert shown.output == f"{message.ts:%Y-%m-%d %H:%M:%S} FACT  {message.msg_id}\n    it works\n"


def test_a_task_folder_tells_who_posts(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # 003-08
    monkeypatch.setenv("TASK_FOLDER", str(task))
    monkeypatch.setenv("RALPH_RUN_ID", "run-7")
    ralph_bus("post", "hello")
    ralph_bus("post", "--project", "p", "--task-id", "t", "--run", "r", "hello")
    first, second = FileMessageBus(task / TASK_BUS_FILE).read()
    assert (first.project_id, first.task_id, first.run_id, first.type) == ("my-project", TASK, "run-7", "INFO")
    assert (second.project_id, second.task_id, second.run_id) == ("p", "t", "r")


def test_any_file_may_be_a_bus(task: Path) -> None:
    ralph_bus("post", "--bus", task / "PROJECT-MESSAGE-BUS.md", "--type", "homemade", "x")
    (message,) = FileMessageBus(task / "PROJECT-MESSAGE-BUS.md").read()
    assert (message.type, message.task_id) == ("homemade", "")


def test_a_dash_reads_standard_input(task: Path) -> None:
    ralph_bus("post", "--task", task, "-", stdin=b"first\n---\n\xc3\xa9\n")
    assert FileMessageBus(task / TASK_BUS_FILE).read()[0].body == "first\n---\né"


def test_json_is_one_object_a_line(task: Path) -> None:
    posted = json.loads(ralph_bus("post", "--task", task, "--json", "--type", "issue", "a\nb").output)
    ralph_bus("post", "--task", task, "second")
    first, second = map(json.loads, ralph_bus("read", "--task", task, "--json").output.splitlines())
    assert first == {
        "msg_id": posted["msg_id"],
        "ts": first["ts"],
        "type": "ISSUE",
        "body": "a\nb",
        "project_id": "my-project",
        "task_id": TASK,
        "run_id": "",
        "issue_id": posted["msg_id"],
        "parents": [],
    }
    assert second["body"] == "second"


def test_since_and_last(task: Path) -> None:
    ids = [ralph_bus("post", "--task", task, f"number {n}").output.strip() for n in range(4)]
    assert [id_ in ralph_bus("read", "--task", task, "--since", ids[1]).output for id_ in ids] == [0, 0, 1, 1]
    assert [id_ in ralph_bus("read", "--task", task, "--last", 1).output for id_ in ids] == [0, 0, 0, 1]
    with pytest.raises(NoSuchMessage, match="MSG-gone"):
        ralph_bus("read", "--task", task, "--since", "MSG-gone")


def test_only_text_reaches_the_terminal(task: Path) -> None:
    ralph_bus("post", "--task", task, "\x1b[2J\x1b]52;c;aGk=\x07 cl\u202eear\ttab\rback\nbelow")
    shown = ralph_bus("read", "--task", task).output
    assert all(char.isprintable() or char in "\n\t" for char in shown)
    assert shown.endswith("\ttab\N{REPLACEMENT CHARACTER}back\n    below\n")


def test_types_are_explained() -> None:
    assert "wait_without_restart" in ralph_bus("types").output  # 003-13
    lines = ralph_bus("types", "--json").output.splitlines()
    assert {json.loads(line)["type"] for line in lines} >= {"FACT", "PROGRESS", "RUN_CRASH"}


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        (["read"], UsageError, "which message bus"),
        (["read", "--bus", "a", "--task", "b"], UsageError, "both"),
        (["read", "--task", "nowhere"], UsageError, "no task folder 'nowhere'"),
        (["post", "--bus", ".", "x"], BusUnusable, "is a directory"),
        (["post", "--bus", "nowhere/BUS.md", "x"], BusUnusable, "no folder 'nowhere'"),
        (["post", "--bus", "BUS.md", " "], UsageError, "empty message"),
        (["post", "--bus", "BUS.md", "--type", "no word", "x"], UsageError, "'no word' is not a message type"),
    ],
)
def test_errors_say_what_and_what_to_do(
    task: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], error: type[RalphError], what: str
) -> None:
    monkeypatch.chdir(task)
    with pytest.raises(error, match=what) as raised:
        ralph_bus(*words)
    assert raised.value.hint
    assert raised.value.exit_code == 2
    assert list(task.iterdir()) == []


def test_follow_begins_where_it_is_told_and_ends_in_time(task: Path) -> None:
    ids = [ralph_bus("post", "--task", task, f"number {n}").output.strip() for n in range(3)]

    def shown(*words: object) -> list[str]:
        output = ralph_bus("follow", "--task", task, "--timeout", 0, "--json", *words).output
        return [json.loads(line)["msg_id"] for line in output.splitlines()]

    assert shown() == ids
    assert shown("--last", 1) == ids[2:]
    assert shown("--since", ids[0]) == ids[1:]
    assert shown("--since", ids[2]) == []


def test_follow_tells_each_message_when_it_comes(task: Path) -> None:
    words = [sys.executable, "-c", "from ralph.faces.cli.commands.bus import command; command()", "follow", "--json"]
    environment = {**os.environ, "TASK_FOLDER": str(task)}
    follower = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert follower.stdout
    for n in range(3):
        posted = ralph_bus("post", "--task", task, f"number {n}").output.strip()
        assert json.loads(follower.stdout.readline())["msg_id"] == posted
    follower.send_signal(signal.SIGINT)
    assert follower.communicate(timeout=60)[0] == b""
