"""`ralph mcp` as a client meets it: the real program, by the protocol's own client."""

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from ralph.faces.mcp.answers import MAX_TOOL_ANSWER_CHARS, bound_answer, describe_error
from ralph.model.errors import NoSuchRun
from support.workshop import ProjectFixture, make_result_command

LOOKING = {"board", "task_create", "task_show", "run_show", "run_diff", "events_since"}
STEERING = {"start", "note", "pause", "resume", "answer", "cancel"}
WORK = f"echo new > work; {make_result_command('<response>DONE</response>', cost=0.25)}"
Calls = list[tuple[str, dict[str, Any]]]


def play(workshop: ProjectFixture, calls: Calls, *words: str) -> tuple[set[str], list[tuple[bool, str]]]:
    """Names of the tools, and (is an error, text) of each call."""
    from mcp import Client, StdioServerParameters, stdio_client

    environment = {**workshop.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ralph", "mcp", *words], env=environment, cwd=str(workshop.repo)
    )

    async def talk() -> tuple[set[str], list[tuple[bool, str]]]:
        async with Client(stdio_client(server)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            told = []
            for name, arguments in calls:
                answer = await client.call_tool(name, arguments)
                text = "".join(part.text for part in answer.content if part.type == "text")
                told.append((bool(answer.is_error), text))
            return names, told

    return asyncio.run(talk())


def test_a_client_reads_what_there_is_and_creates_a_task(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"command": "test -f work"}])
    (workshop.repo / "README").write_text("x\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    workshop.agent(WORK)
    workshop.ralph("run", "-p", "Write the work")
    task = {"id": "T-1", "title": "Do it", "spec": "new", "outcome": "o", "acceptance": ["a"], "check": "test -f x"}
    names, told = play(
        workshop,
        [
            ("task_create", task),
            ("board", {}),
            ("task_show", {"id": "T-1"}),
            ("run_show", {}),
            ("run_diff", {}),
            ("events_since", {"after": 0, "limit": 3}),
            ("run_show", {"run": "nothing"}),
            ("task_create", task),
            ("task_show", {"id": "T-9"}),
        ],
    )
    assert names == LOOKING
    assert [is_error for is_error, _ in told] == [False] * 6 + [True] * 3
    created, board, shown, run, diff, events = (json.loads(text) for _, text in told[:6])
    assert created["created"] == "T-1"
    assert [card["id"] for card in board["cards"]] == ["T-1"]
    assert board["runs"][0]["outcome"] == "completed"
    assert shown["card"]["title"] == "Do it"
    assert (run["run"]["cost_usd"], run["iterations"][0]["checks"][0]["passed"]) == (0.25, True)
    assert "+new" in diff["text"]
    assert (len(events["lines"]), events["more"]) == (3, True)
    assert (
        told[6][1] == "Error executing tool run_show: no run matches 'nothing' (no_such_run). Hint: see `ralph status`"
    )
    assert "T-1" in told[7][1]
    assert "no_such_task" in told[8][1]


def test_with_allow_control_a_client_answers_starts_notes_pauses_and_cancels(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("<question>Which port?</question>"))
    workshop.ralph("run", "-p", "x")
    asking = workshop.status()["id"]
    waiting = f"! {asking}: asks: Which port?\n  → ralph answer {asking} 'YOUR ANSWER'"
    assert waiting in workshop.ralph("report", "--short").stdout
    workshop.agent("sleep 60")
    steps: Calls = [
        ("answer", {"name": asking, "text": "8080"}),
        ("answer", {"name": asking, "text": "8080"}),
        ("start", {"prompt": "Do it", "max_iterations": 3}),
        ("start", {"kind": "run"}),
        ("note", {"name": "", "text": "Mind the gap"}),
        ("pause", {}),
        ("resume", {}),
        ("resume", {}),
    ]
    names, told = play(workshop, steps, "--allow-control")
    assert names == LOOKING | STEERING
    assert [is_error for is_error, _ in told] == [False, True, False, True, False, False, False, True], told
    assert "has asked nothing" in told[1][1]
    assert "a run needs a prompt (usage). Hint: " in told[3][1]
    run = json.loads(told[2][1])["run"]
    assert (workshop.status()["id"], workshop.status()["active"]) == (run, True)  # it outlives the server
    _, told = play(workshop, [("cancel", {"name": run})], "--allow-control")
    assert (told[0][0], workshop.status()["outcome"]) == (False, "interrupted")


def test_an_agent_of_ours_gets_no_control(workshop: ProjectFixture) -> None:
    refused = workshop.home / "refused"
    workshop.agent(
        f"{sys.executable} -m ralph mcp --allow-control < /dev/null 2> {refused}; echo $? >> {refused}; {WORK}"
    )
    workshop.ralph("run", "-p", "x", PYTHONPATH=os.pathsep.join(sys.path))
    assert "is not available inside run" in refused.read_text()
    assert refused.read_text().endswith("\n2\n")


def test_without_the_extra_it_says_what_to_install(workshop: ProjectFixture) -> None:
    (workshop.home / "sitecustomize.py").write_text("import sys; sys.modules['mcp'] = None")
    done = workshop.ralph("mcp", PYTHONPATH=str(workshop.home))
    assert (done.returncode, "pip install 'ralph-verified[mcp]'" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "value", [{"a": ["x" * 1000] * 5000}, {"a": {"b": "y" * 10**6}}, {"a": [["z" * 99] * 999] * 99}]
)
def test_an_answer_is_never_too_long_for_a_client(value: object) -> None:
    assert len(json.dumps(bound_answer(value))) < MAX_TOOL_ANSWER_CHARS
    assert bound_answer({"a": "x" * 50_000}) == {"a": "x" * 50_000}


def test_an_error_has_its_code_and_its_hint_and_no_secret() -> None:
    key = "sk-ant-api03-" + "a" * 40
    assert key not in describe_error(NoSuchRun(f"no run {key}", "see"))
    assert describe_error(NoSuchRun("none")) == "none (no_such_run)."
