"""The values that three loops' commands share."""

import msgspec
import pytest

from ralph.faces.cli.options.loop_flags import collect_loop_flags
from ralph.model.errors import UsageError

GIVEN: dict[str, object] = {
    "agent": "claude",
    "model": None,
    "allow": ("make test",),
    "sandbox": None,
    "no_sandbox": True,
    "timeout": 90,
    "idle_timeout": 5.5,
    "accept_settings": False,
    "as_json": True,
    "plain": None,
    "verbose": False,
}


def test_what_was_typed_is_told_by_the_keys_of_settings() -> None:
    assert collect_loop_flags(GIVEN).list_settings() == {
        "agent.timeoutSeconds": 90.0,
        "agent.idleTimeoutSeconds": 5.5,
        "sandbox.kind": "none",
        "display.plain": None,
    }


def test_both_sandbox_options_are_refused() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        collect_loop_flags({**GIVEN, "sandbox": "docker"}).list_settings()


@pytest.mark.parametrize("given", [{**GIVEN, "unheard": 1}, {"agent": "claude"}], ids=["unknown", "missing"])
def test_an_option_that_is_not_passed_on_is_noticed(given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        collect_loop_flags(given)
