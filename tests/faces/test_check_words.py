"""What decided comes first, in as few words as fit."""

import pytest

from ralph.faces.check_words import shorten_agent, shorten_reason

SPENT = "coder: Ralph loop exceeded 15 iterations. Max iterations reached. Last verification: Command exited with 1"


@pytest.mark.parametrize(
    ("reason", "short"),
    [
        (SPENT, "coder: Command exited with 1"),
        ("qa: Ralph loop exceeded 5 iterations. Max iterations reached without completion promise", None),
        ("it waits for a person", None),
        ("", None),
    ],
)
def test_a_spent_loop_is_named_by_its_last_verification(reason: str, short: str | None) -> None:
    assert shorten_reason(reason) == (reason if short is None else short)


def test_an_agent_is_named_without_its_folder() -> None:
    assert shorten_agent("/opt/tools/bin/claude --model opus") == "claude --model opus"
    assert shorten_agent("codex") == "codex"
