"""`ralph cost` as a user meets it."""

import json
from typing import Any

import pytest

from support.workshop import ProjectFixture, make_result_command

WORKING = make_result_command("still working", cost=0.25)
DONE = make_result_command("<response>DONE</response>", cost=0.5)


def read_sums(workshop: ProjectFixture, *words: str) -> tuple[dict[str, float], dict[str, Any]]:
    told = json.loads(workshop.ralph("cost", "--json", *words).stdout)
    return {group["name"]: group["cost_usd"] for group in told["groups"]}, told["total"]


def test_every_call_is_counted_once(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING, DONE)
    workshop.ralph("run", "-p", "x", "--model", "opus")
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-m", "1")
    by_model, total = read_sums(workshop, "--by", "model")
    assert by_model == {"opus": 0.75, "claude's default": 0.25}
    assert (total["calls"], total["cost_usd"], total["unpriced"]) == (3, 1.0, 0)
    by_run, _ = read_sums(workshop, "--by", "run")
    assert sorted(by_run.values()) == [0.25, 0.75]
    assert read_sums(workshop, "--by", "task")[0] == {"(ralph run)": 1.0}
    shown = workshop.ralph("cost").stdout.splitlines()
    assert [line.split()[1:4] for line in shown] == [["$1.00", "3", "calls"]] * 2


def test_what_a_resumed_run_spent_is_counted_once(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-m", "1")
    workshop.ralph("run", "--resume", "-m", "2")
    assert read_sums(workshop)[1]["cost_usd"] == 0.5


def test_only_what_was_spent_since_then_counts(workshop: ProjectFixture) -> None:
    workshop.agent(DONE)
    workshop.ralph("run", "-p", "x")
    for since in ("today", "1h", "2w", "2020-01-01"):
        assert read_sums(workshop, "--since", since)[1]["calls"] == 1
    assert read_sums(workshop, "--since", "2099-01-01")[1]["calls"] == 0
    assert workshop.ralph("cost", "--since", "2099-01-01").stdout == "No agent ran here since 2099-01-01.\n"
    done = workshop.ralph("cost", "--since", "lately")
    assert done.returncode == 2
    assert "'lately' is not a time" in done.stderr


def test_an_agent_that_tells_no_cost_makes_the_total_a_lower_bound(workshop: ProjectFixture) -> None:
    told = {"type": "result", "subtype": "success", "is_error": False, "result": "<response>DONE</response>"}
    told["usage"] = {"input_tokens": 7, "output_tokens": 2}
    workshop.agent(f"echo '{json.dumps(told)}'")
    workshop.ralph("run", "-p", "x")
    shown = workshop.ralph("cost").stdout
    assert "1 call reported no cost: the total is at least this much." in shown
    assert "7 in / 2 out" in shown


def test_all_knows_every_repository_of_this_machine(
    workshop: ProjectFixture, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = ProjectFixture(tmp_path_factory.mktemp("other"))
    other.environment["XDG_STATE_HOME"] = workshop.environment["XDG_STATE_HOME"] = str(workshop.home / "state")
    for project in (workshop, other):
        project.agent(DONE)
        project.ralph("run", "-p", "x")
    by_repository, total = read_sums(workshop, "--all", "--by", "repository")
    assert by_repository == {str(workshop.repo): 0.5, str(other.repo): 0.5}
    assert total["cost_usd"] == 1.0
    assert read_sums(workshop)[1]["cost_usd"] == 0.5


def test_without_a_run_it_says_so(workshop: ProjectFixture) -> None:
    assert workshop.ralph("cost").stdout == "No agent ran here yet.\n"


def test_prices_let_a_budget_be_kept_with_an_agent_that_tells_no_cost(workshop: ProjectFixture) -> None:
    program = workshop.home / "codex"
    said = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"at it"}}'
    end = '{"type":"turn.completed","usage":{"input_tokens":100000,"cached_input_tokens":0,"output_tokens":20000}}'
    program.write_text(f"#!/bin/sh\ndate +%N >> work.txt\necho '{said}'\necho '{end}'\nsleep 30\n")
    program.chmod(0o755)
    budget = ("run", "-p", "x", "--agent", "codex", "--budget", "0.25")
    refused = workshop.ralph(*budget)
    assert (refused.returncode, "`prices`" in refused.stderr) == (2, True)
    workshop.settings(prices={"codex": {"input": 1, "output": 10}}, agent={"command": "codex"})
    done = workshop.ralph(*budget)
    assert done.returncode == 1
    assert (
        "≈$0.30 of the $0.25 budget spent" in done.stdout
    )  # it was stopped in the middle, long before its sleep ended
    assert (workshop.repo / "work.txt").exists()  # its work is kept
    told = json.loads(workshop.ralph("cost", "--json", "--by", "agent").stdout)
    assert (told["total"]["cost_usd"], told["total"]["estimated_usd"]) == (None, 0.3)
    for command in ("cost", "status", "show"):
        assert "≈$0.30" in workshop.ralph(command).stdout, command
    assert done.stdout.count("≈$0.30") == 4  # the agent's end, its row in the table, why the run ended, and its sum


def test_a_budget_for_a_day_counts_the_runs_of_other_repositories(
    workshop: ProjectFixture, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = ProjectFixture(tmp_path_factory.mktemp("other"))
    other.environment["XDG_STATE_HOME"] = workshop.environment["XDG_STATE_HOME"] = str(workshop.home / "state")
    workshop.agent(DONE)
    assert workshop.ralph("run", "-p", "x").returncode == 0
    other.settings(budgetUsdPerDay=0.5)
    done = other.ralph("run", "-p", "x")
    assert (done.returncode, other.calls) == (1, 0)
    assert "$0.50 of the $0.50 for a day spent" in done.stdout


@pytest.mark.parametrize("tells_cost", [True, False])
def test_a_budget_for_a_day_is_kept_by_the_run_that_spends_it(workshop: ProjectFixture, tells_cost: bool) -> None:
    workshop.settings(budgetUsdPerDay=0.5, prices={"claude": {"input": 100_000.0, "output": 0.0}})
    cost = {} if tells_cost else {"total_cost_usd": None}
    workshop.agent(f"date +%N > work.txt; {make_result_command('still working', 0.3, **cost)}")  # 3 tokens in: $0.30
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (1, 2), done.stdout
    assert "$0.60 of the $0.50 for a day spent" in done.stdout
    assert "`ralph run --resume` tomorrow, or with a higher budgetUsdPerDay" in done.stderr
