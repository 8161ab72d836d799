"""`ralph completion`."""

import shutil
import subprocess

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
