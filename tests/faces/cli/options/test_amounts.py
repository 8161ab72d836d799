"""How much can be asked for on the command line."""

import pytest

from support.workshop import ProjectFixture

HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-p", "x", "-m", HUGE],
        ["run", "-p", "x", "-m", str(2**63)],
        ["supervise", ".", "--max-restarts", HUGE],
        ["story", "run", "-n", HUGE],
        ["story", "run", "--review-cap", HUGE],
        ["execute", "-j", HUGE],
        ["status", "-n", HUGE],
        ["task", "list", "-n", HUGE],
        ["bus", "read", "--last", HUGE],
    ],
)
def test_more_than_can_be_counted_is_refused(workshop: ProjectFixture, words: list[str]) -> None:
    refused = workshop.ralph(*words)
    assert refused.returncode == 2
    assert f"{words[-1]!r} is too many; write a whole number up to 1,000,000,000,000" in refused.stderr


@pytest.mark.parametrize("loop", [["run", "-p", "x"], ["supervise", "."], ["story", "run"], ["execute"]])
@pytest.mark.parametrize("amount", ["inf", "nan", "-inf", "0", "-1", "1e999", "much"])
def test_a_budget_is_a_number(workshop: ProjectFixture, loop: list[str], amount: str) -> None:
    refused = workshop.ralph(*loop, "--budget", amount)
    assert refused.returncode == 2
    assert f"{amount!r} is not an amount of dollars; write a number > 0" in refused.stderr
    assert workshop.calls == 0


def test_a_model_in_the_place_of_a_number_is_told_its_option(workshop: ProjectFixture) -> None:  # issue 12
    refused = workshop.ralph("run", "-p", "x", "-m", "opus")
    assert refused.returncode == 2
    assert "'opus' is not a valid integer; for a model: --model opus" in refused.stderr
    assert "--model" not in workshop.ralph("run", "-p", "x", "-m", "3.5").stderr


@pytest.mark.parametrize("option", ["--max-time", "--timeout", "--idle-timeout"])
@pytest.mark.parametrize("time", ["9" * 20, "9" * 400, "99999d"])
def test_nobody_waits_for_ever(workshop: ProjectFixture, option: str, time: str) -> None:
    refused = workshop.ralph("run", "-p", "x", option, time)
    assert refused.returncode == 2
    assert "is too long; write at most 1000000000 seconds" in refused.stderr


def test_large_amounts_are_fine(workshop: ProjectFixture) -> None:
    words = ["-m", "1000000000000", "--budget", "1000000000", "--max-time", "1000000000"]
    assert workshop.ralph("run", "-p", "x", *words).returncode == 0
    assert "1/1000000000000 iterations" in workshop.ralph("status").stdout
