"""`ralph completion`."""

import os
import shlex
import shutil
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.completion import command
from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture

ASKED = [  # what is typed before the tab, and what stands there after it
    ("ralph stat", "ralph status"),
    ("ralph run --col", "ralph run --color"),
    ("ralph run --color n", "ralph run --color never"),
    ("ralph task sh", "ralph task show"),
    ("ralph run -f PRO", "ralph run -f PROMPT.md"),
]


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
    [("ralph run -f ", "file,"), ("ralph run --col", "plain,--color"), ("ralph statu", "plain,status")],
)
def test_words_flags_and_files_are_offered(line: str, offered: str) -> None:
    asked = {"_RALPH_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "ralph"], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == offered


@pytest.fixture
def shop(workshop: ProjectFixture) -> ProjectFixture:
    """A repository with a prompt, and `ralph` on PATH."""
    (workshop.repo / "PROMPT.md").write_text("Do it.\n")
    program = workshop.home / "ralph"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(RALPH_ARGV)} "$@"\n')
    program.chmod(0o755)
    return workshop


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(("typed", "becomes"), ASKED)
def test_fish_completes(shop: ProjectFixture, typed: str, becomes: str) -> None:  # 001-34
    done = subprocess.run(
        ["fish", "-c", f"ralph completion fish | source; complete -C {shlex.quote(typed)}"],
        cwd=shop.repo,
        env=shop.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == [becomes.split()[-1]]
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(
    "start",
    [
        'eval "$(ralph completion zsh)"',  # as we say it
        'autoload -Uz compinit; compinit -D -u; eval "$(ralph completion zsh)"',
        "mkdir f; ralph completion zsh > f/_ralph; fpath+=($PWD/f); autoload -Uz compinit; compinit -D -u",
    ],
    ids=["bare", "started", "autoloaded"],
)
def test_zsh_completes(shop: ProjectFixture, start: str) -> None:  # 001-34
    lines = shop.home / "lines"
    kept = f"keep() {{ print -r -- $BUFFER >> {lines}; BUFFER=; }}; zle -N keep; bindkey '^T' keep"
    terminal = PseudoTerminal(["zsh", "-f", "-i"], shop.repo, shop.environment)
    try:
        terminal.types(f"{kept}; {start}; echo re''ady\n")
        assert terminal.sees("ready"), terminal.seen
        assert b"not found" not in terminal.seen
        for typed, becomes in ASKED:
            terminal.types(f"{typed}\t\x14")
            assert terminal.until(lambda: lines.exists() and lines.read_text().endswith("\n")), terminal.seen
            assert lines.read_text().strip() == becomes
            lines.unlink()
    finally:
        terminal.close()
