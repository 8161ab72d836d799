"""When a shell is needed."""

import os
from pathlib import Path

import pytest

from ralph.process.shell import build_shell_argv, find_program

VARIABLES = {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("command", ["git status --short", "env", "/bin/ls -l", "make test"])
def test_plain_words_need_no_shell(command: str) -> None:  # 001-19
    argv = build_shell_argv(command, VARIABLES)
    assert argv[0].endswith("/" + command.split()[0].rpartition("/")[2])
    assert list(argv[1:]) == command.split()[1:]


@pytest.mark.parametrize(
    "command",
    [
        "cd x", "A=1 true", "ls *.py", "echo hi", "true;", "true ", " true", "git  log", "~/x", "true\n", "! true",
        "ls $HOME", "a | b", "a && b", "./x", "no-such-program", "test -f x", "exit 3", "kill 1", 'git commit -m "x"',
        "ls #x", "(true)", "true &", "",
    ],
)  # fmt: skip
def test_all_else_goes_to_sh(command: str) -> None:  # 001-19
    assert build_shell_argv(command, VARIABLES) == ("/bin/sh", "-c", command)


def test_exported_functions_may_shadow_any_program() -> None:
    assert build_shell_argv("git status", {**VARIABLES, "BASH_FUNC_git%%": "() { :; }"})[0] == "/bin/sh"


def test_a_script_without_a_first_line_is_the_shells_to_interpret(tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text("exit 0\n")
    script.chmod(0o755)
    assert build_shell_argv("tool", {"PATH": str(tmp_path)})[0] == "/bin/sh"


def test_programs_are_found_by_the_childs_path(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    assert find_program("tool", {"PATH": str(tmp_path)}) is None  # not executable
    tool.chmod(0o755)
    assert find_program("tool", {"PATH": f"/nowhere:{tmp_path}"}) == str(tool)
    assert find_program("./tool", {}, str(tmp_path)) == os.path.join(str(tmp_path), "./tool")
    assert find_program("./tool", {}) is None
    assert find_program("tool", {"PATH": f"bin:{tmp_path}"}) is None  # a relative entry: not ours to resolve
    assert find_program("tool", {"PATH": "."}, str(tmp_path)) is not None
