"""What is started for somebody who is not at a terminal."""

from typing import Any

import pytest

from ralph.app.control.launching import StartBody, build_words
from ralph.model.errors import UsageError


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"prompt": "Fix it"}, ["run", "--prompt=Fix it"]),
        ({"prompt": "--yes", "worktree": True}, ["run", "--prompt=--yes", "--worktree="]),  # a value stays a value
        ({"resume": "r1", "max_iterations": 3}, ["run", "--resume=r1", "--max-iterations=3"]),
        ({"kind": "execute"}, ["execute", "--jobs=1", "--"]),
        (
            {"kind": "execute", "jobs": 2, "resume": "yes", "tasks": ("T-1", "T-2"), "budget_usd": 0.1},
            ["execute", "--jobs=2", "--resume", "--budget=0.1", "--", "T-1", "T-2"],
        ),
        (
            {"kind": "story", "agent": "claude", "max_time_seconds": 90.0, "no_sandbox": True},
            ["story", "run", "--agent=claude", "--max-time=90s", "--no-sandbox"],
        ),
    ],
)
def test_what_is_wanted_becomes_the_command_one_would_type(body: dict[str, Any], words: list[str]) -> None:
    assert build_words(StartBody(**body)) == words


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"prompt": " \n"}, "needs a prompt"),
        ({"prompt": "x", "agent": "sh -c evil"}, "no agent 'sh -c evil'"),
        ({"prompt": "x", "agent": "command"}, "no agent 'command'"),
        ({"kind": "execute", "tasks": ("--all",)}, "task id '--all'"),
        ({"resume": "r1", "agent": "claude"}, "resumed with the agent it has"),
    ],
)
def test_what_makes_no_sense_is_refused(body: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        build_words(StartBody(**body))
