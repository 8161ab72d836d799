"""`ralph completion`."""

import os
import shutil
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.completion import command


@click.group()
def root() -> None:
    """Stands for ralph."""


root.add_command(command, "completion")


def completion(*arguments: str) -> Result:
    return CliRunner().invoke(root, ["completion", *arguments], prog_name="other")


@pytest.mark.parametrize(  # 001-34
    ("shell", "mark"), [("bash", "complete -o nosort -F"), ("zsh", "#compdef ralph"), ("fish", "complete --no-files")]
)
def test_each_shell_gets_its_script(shell: str, mark: str) -> None:
    result = completion(shell)
    assert result.exit_code == 0
    assert mark in result.stdout
    assert f"_RALPH_COMPLETE={shell}_complete" in result.stdout
    assert result.stderr == ""  # evaluated at every start of a shell, it must be silent


def test_another_shell_is_a_usage_error() -> None:
    assert completion("tcsh").exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_can_read_it() -> None:
    subprocess.run(["bash", "-n"], input=completion("bash").stdout, text=True, check=True)


@pytest.mark.parametrize(  # 001-34
    ("line", "offered"),
    [("ralph run -f ", "file,"), ("ralph run --col", "plain,--color"), ("ralph stat", "plain,status")],
)
def test_words_flags_and_files_are_offered(line: str, offered: str) -> None:
    asked = {"_RALPH_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "ralph"], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == offered
