"""Use case: a scratch repository with a failing test, for the scripted agent to work on."""

import os
from collections.abc import Mapping

import msgspec

from ralph.app.processes import open_short_lived_processes
from ralph.config.environment import RUN_VARIABLES, VARIABLE_PREFIX
from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.ports import Processes
from ralph.process.output import Excerpt
from ralph.process.shell import find_program

DEMO_FOLDER = os.path.join(os.path.dirname(__file__), "demo_files")
DEMO_FILES = {"roman.py": "roman.py.txt", "test_roman.py": "test_roman.py.txt", "PROMPT.md": "prompt.md"}
GIT_SETUP_COMMANDS = (
    ("init", "--quiet", "--initial-branch=main"),
    ("config", "user.name", "ralph demo"),
    ("config", "user.email", "demo@localhost"),
    ("config", "commit.gpgsign", "false"),
    ("config", "core.hooksPath", os.devnull),
    ("add", "--all"),
    ("commit", "--quiet", "--message=Roman numerals, half done"),
)
# The demonstration is the same for everyone: neither git nor ralph has anything but what is set below.
ISOLATING_VARIABLES = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": os.devnull}


def isolate_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """The caller's, less what would lead git to another repository or change settings."""
    return {
        **{name: value for name, value in variables.items() if not _is_misleading_variable(name)},
        **ISOLATING_VARIABLES,
    }


def prepare_demo(folder: str, variables: Mapping[str, str]) -> None:
    """Files, settings and a first commit."""
    for name, source in DEMO_FILES.items():
        with open(os.path.join(DEMO_FOLDER, source), encoding="utf-8") as file:
            _write_file(folder, name, file.read())
    _write_file(folder, ".gitignore", ".ralph/\n__pycache__/\n")
    _write_file(folder, ".ralph/settings.json", msgspec.json.format(msgspec.json.encode(_demo_settings()).decode()))
    git = find_program("git", variables)
    if git is None:
        raise MachineError("git is not on PATH", "install git")
    with open_short_lived_processes() as processes:
        for words in GIT_SETUP_COMMANDS:
            _run_git(processes, Command(argv=(git, *words), environment=variables, cwd=folder, merged=True))


def _is_misleading_variable(name: str) -> bool:
    if name.startswith(VARIABLE_PREFIX):
        return name not in RUN_VARIABLES
    return name.startswith("GIT_") and name != "GIT_EXEC_PATH"


def _run_git(processes: Processes, command: Command) -> None:
    output = Excerpt(4096, 4096)
    exited = processes.run(command, output.write, output.write)
    if exited.code:
        raise MachineError(f"`{' '.join(command.argv)}` failed: {output.text().strip()}", "is git set up?")


def _demo_settings() -> dict[str, object]:
    return {
        "agent": {"command": "scripted", "flags": [os.path.join(DEMO_FOLDER, "script.yaml")]},
        "guardrails": [
            {
                "command": "python3 -m unittest -q",
                "failAction": "APPEND",
                "hint": "Make the tests pass; do not change them.",
            }
        ],
        "scm": {"command": "git", "tasks": ["commit"]},
        "includeIterationCountInPrompt": True,
    }


def _write_file(folder: str, name: str, text: str) -> None:
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
