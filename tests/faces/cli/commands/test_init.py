"""`ralph init`, driven through a real terminal."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ralph.core.own_files import GITIGNORE_LINES

SCRIPT = """
import sys
from ralph.faces.cli.commands.init import command
from ralph.model.errors import RalphError
try:
    code = command.main(sys.argv[1:], standalone_mode=False)
except RalphError as error:
    print(error.message, "->", error.hint, file=sys.stderr)
    code = error.exit_code
sys.exit(code)
"""
AGENT = "Agent command (e.g., claude, codex, amp, or other LLM CLI): "
FLAGS = "Agent flags (comma-separated, optional): "
ITERATIONS = "Maximum iterations [10]: "
RESPONSE = "Completion response [DONE]: "
GUARDRAIL = "Add guardrail command (leave blank to finish): "
USE = "Use make lint and make test as guardrails? (Y/n): "
PERMISSIONS = "What may the agent do without asking? [checks]: "
NEXT = 'Next: ralph run -p "Fix the failing tests"\n'
ACTION = "  Fail action (APPEND|PREPEND|REPLACE): "
HINT = "  Hint (optional, guidance for agent on failure): "
SCM = "Configure SCM? (y/N): "
SCM_COMMAND = "  SCM command (e.g., git): "
SCM_TASKS = "  SCM tasks (comma-separated, e.g., commit,push): "
OVERWRITE = "Overwrite? (y/N): "
CTRL_C, CTRL_D = "\x03", "\x04"


class Session:
    """One `ralph init` on a terminal of its own: waits for each prompt before it types."""

    def __init__(self, folder: Path, arguments: Sequence[str] = (), path: str = "/nowhere") -> None:
        self.seen = ""
        self.typed = 0  # what was seen when we last typed: only what comes after is an answer to it
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            environment = {**os.environ, "PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8"}
            os.execve(sys.executable, [sys.executable, "-c", SCRIPT, *arguments], environment)

    def read_until(self, end: str) -> None:
        deadline = time.monotonic() + 20
        while not self.seen[self.typed :].endswith(end):
            assert time.monotonic() < deadline, f"waited for {end!r}, saw {self.seen!r}"
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.terminal, 4096).decode(errors="replace").replace("\r\n", "\n")
                except OSError:
                    raise AssertionError(f"ended before {end!r}: {self.seen!r}") from None

    def answer(self, prompt: str, text: str) -> None:
        self.read_until(prompt)
        self.typed = len(self.seen)
        os.write(self.terminal, text.encode(errors="surrogateescape"))

    def lines(self, *answers: tuple[str, str]) -> None:
        for prompt, text in answers:
            self.answer(prompt, text + "\n")

    def end(self) -> int:
        try:
            while select.select([self.terminal], [], [], 20)[0] and (data := os.read(self.terminal, 4096)):
                self.seen += data.decode().replace("\r\n", "\n")
        except OSError:
            pass  # EIO: the other side is gone
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def settings(folder: Path) -> dict[str, object]:
    read: dict[str, object] = json.loads((folder / ".ralph/settings.json").read_text())
    return read


BASICS = {
    "$schema": "./settings.schema.json",
    "maximumIterations": 10,
    "completionResponse": "DONE",
    "outputTruncateChars": 5000,
    "streamAgentOutput": True,
    "includeIterationCountInPrompt": False,
}


def test_the_example_of_the_seed_to_the_letter(folder: Path) -> None:  # 001-09, 001-10, 001-11
    session = Session(folder)
    session.lines(
        (AGENT, "claude"),
        (FLAGS, "--model,opus"),
        (ITERATIONS, ""),
        (RESPONSE, ""),
        (GUARDRAIL, "make lint"),
        (ACTION, "APPEND"),
        (HINT, "Fix lint errors only. Do not change behavior."),
        (GUARDRAIL, "make test"),
        (ACTION, "APPEND"),
        (HINT, ""),
        (GUARDRAIL, ""),
        (SCM, "y"),
        (SCM_COMMAND, "git"),
        (SCM_TASKS, "commit"),
    )
    assert session.end() == 0
    assert session.seen == (
        "\n"
        "Agent command (e.g., claude, codex, amp, or other LLM CLI): claude\n"
        "Agent flags (comma-separated, optional): --model,opus\n"
        "Maximum iterations [10]: \n"
        "Completion response [DONE]: \n"
        "Add guardrail command (leave blank to finish): make lint\n"
        "  Fail action (APPEND|PREPEND|REPLACE): APPEND\n"
        "  Hint (optional, guidance for agent on failure): Fix lint errors only. Do not change behavior.\n"
        "Add guardrail command (leave blank to finish): make test\n"
        "  Fail action (APPEND|PREPEND|REPLACE): APPEND\n"
        "  Hint (optional, guidance for agent on failure): \n"
        "Add guardrail command (leave blank to finish): \n"
        "Configure SCM? (y/N): y\n"
        "  SCM command (e.g., git): git\n"
        "  SCM tasks (comma-separated, e.g., commit,push): commit\n"
        "\n"
        "Settings written to .ralph/settings.json\n"
        'Next: ralph run -p "Fix the failing tests"\n'
    )
    assert settings(folder) == BASICS | {
        "agent": {"command": "claude", "flags": ["--model", "opus"]},
        "guardrails": [
            {
                "command": "make lint",
                "failAction": "APPEND",
                "hint": "Fix lint errors only. Do not change behavior.",
            },
            {"command": "make test", "failAction": "APPEND"},
        ],
        "scm": {"command": "git", "tasks": ["commit"]},
    }
    assert sorted(os.listdir(folder / ".ralph")) == ["settings.json", "settings.schema.json"]
    assert not (folder / ".gitignore").exists()  # no git, no .gitignore


def test_wrong_answers_are_asked_again_and_right_ones_tidied(folder: Path) -> None:  # 001-09, 001-10
    session = Session(folder)
    session.lines(
        (AGENT, ""),
        (AGENT, "   "),
        (AGENT, " codex "),
        (FLAGS, " --a , ,--b c,"),
        (ITERATIONS, "ten"),
        (ITERATIONS, "0"),
        (ITERATIONS, "-3"),
        (ITERATIONS, "1.5"),
        (ITERATIONS, "٣"),
        (ITERATIONS, "3"),
        (RESPONSE, "ALL GOOD"),
        (GUARDRAIL, "make"),
        (ACTION, "ignore"),
        (ACTION, "replace"),
        (HINT, ""),
        (GUARDRAIL, "make 2"),
        (ACTION, ""),
        (HINT, ""),
        (GUARDRAIL, "  "),
        (SCM, "Y"),
        (SCM_COMMAND, ""),
        (SCM_COMMAND, "jj"),
        (SCM_TASKS, " , "),
        (SCM_TASKS, "commit, push"),
    )
    assert session.end() == 0
    assert session.seen.count("  Please enter a positive integer.\n") == 5
    assert session.seen.count("  Please enter APPEND, PREPEND or REPLACE.\n") == 1
    assert settings(folder) == BASICS | {
        "maximumIterations": 3,
        "completionResponse": "ALL GOOD",
        "agent": {"command": "codex", "flags": ["--a", "--b c"]},
        "guardrails": [
            {"command": "make", "failAction": "REPLACE"},
            {"command": "make 2", "failAction": "APPEND"},
        ],
        "scm": {"command": "jj", "tasks": ["commit", "push"]},
    }


def test_control_keys_and_odd_bytes_are_no_answer(folder: Path) -> None:
    session = Session(folder)
    again = "not understood here.\n" + AGENT
    session.lines((AGENT, "cl\x1b[Daude"), (again, "cl\udcffaude"), (again, "claudé"))
    session.lines((FLAGS, ""), (ITERATIONS, ""), (RESPONSE, ""), (GUARDRAIL, ""), (SCM, "n"))
    assert session.end() == 0
    assert settings(folder)["agent"] == {"command": "claudé", "flags": []}


ALL = (
    (AGENT, "claude"),
    (FLAGS, ""),
    (ITERATIONS, ""),
    (RESPONSE, ""),
    (GUARDRAIL, "make"),
    (ACTION, ""),
    (HINT, ""),
    (GUARDRAIL, ""),
    (SCM, "y"),
    (SCM_COMMAND, "git"),
)


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["Ctrl-C", "EOF"])
@pytest.mark.parametrize("answered", [0, 1, 5, len(ALL)])
def test_an_interrupted_interview_writes_nothing(folder: Path, key: str, answered: int) -> None:  # 001-07
    session = Session(folder)
    session.lines(*ALL[:answered])
    prompt = (*ALL, (SCM_TASKS, ""))[answered][0]
    session.answer(prompt, key)
    assert session.end() == 130
    assert os.listdir(folder) == []


def test_sigterm_is_an_interruption_too(folder: Path) -> None:  # 001-04
    session = Session(folder)
    session.read_until(AGENT)
    os.kill(session.pid, signal.SIGTERM)
    assert session.end() == 130
    assert os.listdir(folder) == []


EXISTING = '{"agent": {"command": "claude", "environment": {"API_KEY": "s3cret"}}, "maximumIterations": 4}'


def existing(folder: Path, local: str = "") -> bytes:
    (folder / ".ralph").mkdir()
    (folder / ".ralph/settings.json").write_text(EXISTING)
    if local:
        (folder / ".ralph/settings.local.json").write_text(local)
    return (folder / ".ralph/settings.json").read_bytes()


@pytest.mark.parametrize("answer", ["", "n", "N", "no", "what"])
def test_existing_settings_are_shown_and_kept_by_default(folder: Path, answer: str) -> None:  # 001-08, 001-26
    before = existing(folder)
    session = Session(folder)
    session.lines((OVERWRITE, answer))
    assert session.end() == 0
    assert (folder / ".ralph/settings.json").read_bytes() == before
    shown, _, rest = session.seen.partition("Loaded from ")
    assert json.loads(shown) == {
        "agent": {"command": "claude", "environment": {"API_KEY": "***"}},
        "maximumIterations": 4,
    }
    assert '\n  "agent": {\n    "command": "claude",' in shown
    assert rest == f".ralph/settings.json\nOverwrite? (y/N): {answer}\n"


def test_the_local_overlay_is_merged_in_and_named(folder: Path) -> None:  # 001-08
    existing(folder, '{"maximumIterations": 9}')
    session = Session(folder)
    session.lines((OVERWRITE, "n"))
    assert session.end() == 0
    shown, _, rest = session.seen.partition("Loaded from ")
    assert json.loads(shown)["maximumIterations"] == 9
    assert rest.startswith(".ralph/settings.json (with local overlay from settings.local.json)\nOverwrite? (y/N): ")


def test_a_yes_overwrites_only_at_the_end(folder: Path) -> None:  # 001-08
    before = existing(folder)
    session = Session(folder)
    session.lines((OVERWRITE, "y"), (AGENT, "amp"), (FLAGS, ""), (ITERATIONS, ""), (RESPONSE, ""), (GUARDRAIL, ""))
    session.read_until(SCM)
    assert (folder / ".ralph/settings.json").read_bytes() == before
    session.lines((SCM, ""))
    assert session.end() == 0
    assert settings(folder)["agent"] == {"command": "amp", "flags": []}


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["Ctrl-C", "EOF"])
def test_an_interruption_at_the_overwrite_question_keeps_the_file(folder: Path, key: str) -> None:  # 001-07
    before = existing(folder)
    session = Session(folder)
    session.answer(OVERWRITE, key)
    assert session.end() == 130
    assert (folder / ".ralph/settings.json").read_bytes() == before


def test_broken_settings_are_an_error_that_says_how_to_start_over(folder: Path) -> None:  # 001-07
    existing(folder)
    (folder / ".ralph/settings.json").write_text('{"maximumIterations": "x"}')
    session = Session(folder)
    assert session.end() == 2
    assert ".ralph/settings.json:1: maximumIterations: expected" in session.seen
    assert "ralph init --force" in session.seen
    session = Session(folder, ["--force"])
    session.lines((AGENT, "amp"), (FLAGS, ""), (ITERATIONS, ""), (RESPONSE, ""), (GUARDRAIL, ""), (SCM, ""))
    assert session.end() == 0


def test_a_failed_write_is_exit_code_2_and_leaves_nothing(folder: Path) -> None:  # 001-07
    (folder / ".ralph").write_text("in the way")
    session = Session(folder)
    session.lines((AGENT, "amp"), (FLAGS, ""), (ITERATIONS, ""), (RESPONSE, ""), (GUARDRAIL, ""), (SCM, ""))
    assert session.end() == 2
    assert "cannot be written" in session.seen
    assert os.listdir(folder) == [".ralph"]


def furnish(folder: Path) -> str:
    """An agent and make on PATH, and a Makefile: lint is green, test is red."""
    (folder.parent / "bin").mkdir()
    (folder.parent / "bin/claude").write_text("#!/bin/sh\n")
    (folder.parent / "bin/claude").chmod(0o755)
    make = shutil.which("make")
    assert make is not None
    (folder.parent / "bin/make").symlink_to(make)
    (folder / "Makefile").write_text("lint:\n\t@:\ntest:\n\t@echo '1 failed, 2 passed in 0.10s'; exit 1\n")
    return str(folder.parent / "bin")


def test_what_is_found_is_tried_and_offered(folder: Path) -> None:
    path = furnish(folder)
    session = Session(folder, path=path)
    session.lines(
        (AGENT.replace(": ", " [claude]: "), ""),
        (FLAGS, ""),
        (ITERATIONS, ""),
        (RESPONSE, ""),
        (USE, ""),
        (GUARDRAIL, "make build"),
        (ACTION, ""),
        (HINT, ""),
        (GUARDRAIL, ""),
        (SCM, ""),
        (PERMISSIONS, "everything"),
        (PERMISSIONS, ""),
    )
    assert session.end() == 0
    assert session.seen.startswith(f"\nFound claude ({path}/claude). Press Enter to accept the default, - to skip.\n")
    assert "make lint: passes (0." in session.seen
    assert "make test: fails (1 failed, 2 passed, 0." in session.seen
    assert settings(folder)["agent"] == {"command": "claude", "flags": [], "permissions": "checks"}
    assert settings(folder)["guardrails"] == [
        {"command": "make lint", "failAction": "APPEND"},
        {"command": "make test", "failAction": "APPEND"},
        {"command": "make build", "failAction": "APPEND"},
    ]


def test_what_is_found_can_be_declined(folder: Path) -> None:
    session = Session(folder, path=furnish(folder))
    session.lines(
        (AGENT.replace(": ", " [claude]: "), "-"),
        (AGENT.replace(": ", " [claude]: "), "codex"),
        (FLAGS, ""),
        (ITERATIONS, ""),
        (RESPONSE, ""),
        (USE, "n"),
        (GUARDRAIL, "make test"),
        (ACTION, ""),
        (HINT, ""),
        (GUARDRAIL, ""),
        (SCM, ""),
    )
    assert session.end() == 0
    assert settings(folder)["agent"] == {"command": "codex", "flags": []}
    assert settings(folder)["guardrails"] == [{"command": "make test", "failAction": "APPEND"}]


def test_a_check_that_cannot_run_here_is_shown_and_not_offered(folder: Path) -> None:
    path = furnish(folder)
    (folder / "Makefile").write_text("test:\n\t@:\nlint:\n\tno-such-linter .\n")
    code, out, _ = piped(folder, "--yes", path=path)
    assert code == 0
    assert "make lint: cannot run here: " in out
    assert settings(folder)["guardrails"] == [{"command": "make test", "failAction": "APPEND"}]


def piped(folder: Path, *arguments: str, path: str = "/nowhere") -> tuple[int, str, str]:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        input="claude\n" * 20,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_without_a_terminal_nothing_is_asked(folder: Path) -> None:  # 001-07
    code, out, err = piped(folder)
    assert code == 2
    assert out == ""
    assert "not a terminal" in err
    assert "ralph init --yes" in err
    assert os.listdir(folder) == []


def test_where_nothing_is_found_the_next_command_names_a_check(folder: Path) -> None:
    path = furnish(folder)
    (folder / "Makefile").unlink()
    code, out, _ = piped(folder, "--yes", path=path)
    assert code == 0
    assert 'Next: ralph config set guardrails "' in out
    assert NEXT not in out


def test_yes_writes_what_is_detected_without_a_terminal(folder: Path) -> None:
    code, out, _ = piped(folder, "--yes", path=furnish(folder))
    assert code == 0
    assert out.endswith(f"Settings written to .ralph/settings.json\n{NEXT}")
    assert settings(folder) == BASICS | {
        "agent": {"command": "claude", "flags": []},
        "guardrails": [
            {"command": "make lint", "failAction": "APPEND"},
            {"command": "make test", "failAction": "APPEND"},
        ],
    }


def test_yes_refuses_to_replace_unless_forced(folder: Path) -> None:
    before, path = existing(folder), furnish(folder)
    code, _, err = piped(folder, "--yes", path=path)
    assert code == 2
    assert "ralph init --yes --force" in err
    assert (folder / ".ralph/settings.json").read_bytes() == before
    assert piped(folder, "--yes", "--force", path=path)[0] == 0
    assert settings(folder)["maximumIterations"] == 10


def test_yes_without_an_agent_says_so(folder: Path) -> None:
    code, _, err = piped(folder, "--yes")
    assert code == 2
    assert "no agent on PATH" in err
    assert os.listdir(folder) == []


def test_in_a_repository_logs_are_ignored_once(folder: Path) -> None:  # 001-33
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    path = furnish(folder)
    _, out, _ = piped(folder, "--yes", path=path)
    said = f"Added {', '.join(GITIGNORE_LINES)} to .gitignore\nSettings written to .ralph/settings.json\n{NEXT}"
    assert out.endswith(said)
    _, out, _ = piped(folder, "--yes", "--force", path=path)
    assert "gitignore" not in out
    assert (folder / ".gitignore").read_text() == "".join(f"{line}\n" for line in GITIGNORE_LINES)
