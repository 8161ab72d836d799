"""`ralph stats` and the forecast as a user meets them."""

import json

from support.processes import wait_until
from support.workshop import ProjectFixture, make_result_command

WORKING = f"date +%N >> work.txt; {make_result_command('still working', cost=0.25)}"
DONE = make_result_command("<response>DONE</response>", cost=0.5)


def test_stats_and_forecast_come_from_what_was_done(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=["test -f ok"])
    assert workshop.ralph("stats").stdout == "No run has ended here yet.\n"
    workshop.agent(f"touch ok; {DONE}")
    workshop.ralph("run", "-p", "x", "--model", "opus")
    workshop.ralph("run", "-p", "x", "--model", "opus")
    (workshop.repo / "ok").unlink()
    workshop.agent(DONE, f"touch ok; {DONE}")
    (workshop.home / "answer.3").write_text(f"{DONE}\n")
    (workshop.home / "answer.4").write_text(f"touch ok; {DONE}\n")
    workshop.ralph("run", "-p", "x", "--model", "opus")
    (one,) = json.loads(workshop.ralph("stats", "--json").stdout)["agents"]
    assert (one["agent"], one["model"], one["runs"], one["done"], one["first_pass"]) == ("claude", "opus", 3, 3, 2)
    assert (one["iterations"], one["cost_usd"], one["failed_checks"]) == (4, 2.0, {"test -f ok": 1})
    shown = workshop.ralph("stats").stdout
    assert "67%" in shown
    assert "1 time  test -f ok" in shown
    workshop.agent(*["sleep 60"] * 5)
    with workshop.start("run", "-p", "x") as run:
        assert wait_until(lambda: "running" in workshop.ralph("status").stdout)
        assert "runs like this took 1–2 iterations, $0.50–1.00" in workshop.ralph("status").stdout
        run.kill()
