"""A scratch repository with a fake agent, and the installed `ralph` to run in it."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ralph.faces.cli.main import ralph as command_line

RALPH_ARGV = [sys.executable, "-m", "ralph"]
FAKE_AGENT_SCRIPT = """#!/bin/sh
# Keeps what it is told, plays the answer of its turn (the last one again and again).
cd {home}
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n > count
cat > prompt.$n
printf '%s\\n' "$@" > argv.$n
env > env.$n
answer=answer.$n
[ -f $answer ] || answer=answer.last
cd "$OLDPWD"
. {home}/$answer
"""


def make_result_command(text: str, cost: float = 0.01, **more: object) -> str:
    """A shell line that prints Claude's closing event."""
    event = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": text,
        "total_cost_usd": cost,
        "usage": {"input_tokens": 3, "output_tokens": 9},
        **more,
    }
    return f"printf '%s\\n' {shlex.quote(json.dumps(event))}"


class ProjectFixture:
    """Where the tests of the program work."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.repo = folder / "repo"
        self.home.mkdir()
        self.repo.mkdir()
        self.environment = {
            "PATH": f"{self.home}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "RALPH_SANDBOX_KIND": "none",  # these agents leave notes in their home
            "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
            "COVERAGE_PROCESS_START": os.environ.get("COVERAGE_PROCESS_START", ""),
        }
        (self.home / "gitconfig").write_text("[user]\nname = t\nemail = t@localhost\n[init]\ndefaultBranch = main\n")
        self.git("init", "-q")
        self.agent()

    def agent(self, *answers: str, name: str = "claude") -> None:
        """A fake agent on PATH; each answer is a line of shell, the last one repeats."""
        program = self.home / name
        program.write_text(FAKE_AGENT_SCRIPT.format(home=shlex.quote(str(self.home))))
        program.chmod(0o755)
        for number, answer in enumerate(answers or (make_result_command("<response>DONE</response>"),), 1):
            (self.home / f"answer.{number}").write_text(answer + "\n")
            (self.home / "answer.last").write_text(answer + "\n")

    def settings(self, **values: object) -> None:
        """`.ralph/settings.json`."""
        (self.repo / ".ralph").mkdir(exist_ok=True)
        (self.repo / ".ralph" / "settings.json").write_text(json.dumps({"agent": {"command": "claude"}, **values}))

    def ralph(
        self, *words: str, stdin: str | None = None, timeout: float = 60, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            [*RALPH_ARGV, *words],
            cwd=self.repo,
            env={**self.environment, **variables},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def call(self, *words: str) -> str:
        """A command that sets the scene or tells what came of it, in this process: no other has to start. What it
        printed; the tests of that command run the program itself."""
        printed = TextIOWrapper(BytesIO(), encoding="utf-8")
        with chdir(self.repo), patch.dict(os.environ, self.environment, clear=True), redirect_stdout(printed):
            command_line.main([*words], prog_name="ralph", standalone_mode=False)
        printed.seek(0)
        return printed.read()

    @contextmanager
    def start(self, *words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
        """Run it in the background; a test that fails meanwhile does not wait for it."""
        with subprocess.Popen(
            [*RALPH_ARGV, *words],
            cwd=self.repo,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            try:
                yield run
            except BaseException:
                run.kill()
                raise

    def git(self, *words: str) -> str:
        """Git in the repository; what it printed."""
        done = subprocess.run(
            ["git", *words], cwd=self.repo, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def prompt(self, number: int) -> str:
        """What the agent was told at its turn."""
        return (self.home / f"prompt.{number}").read_text()

    def argv(self, number: int) -> list[str]:
        """How the agent was called at its turn."""
        return (self.home / f"argv.{number}").read_text().splitlines()

    @property
    def calls(self) -> int:
        """How often the agent was called."""
        count = self.home / "count"
        return int(count.read_text()) if count.exists() else 0

    def status(self) -> dict[str, Any]:
        """The newest run."""
        runs = json.loads(self.call("status", "--json"))["runs"]
        newest: dict[str, Any] = runs[0]
        return newest
