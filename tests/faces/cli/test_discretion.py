"""Secrets in settings reach the agent, and no face."""

import re

import pytest

from support.pipeline import PipelineFixture
from support.workshop import ProjectFixture, make_result_command

FLAGS = [
    *("--api-key", "s1cret", "--api-key=s2cret", "--token s3cret", "-H", "'Authorization: Bearer s4cret'"),
    *("-H", "'X-Api-Key: s5cret'", "--db", "postgres://u:s6cret@h", "https://u:s7cret@h"),
    *("--password", "'my s1cret'"),
]
AGENT = {"command": "claude", "flags": FLAGS, "environment": {"URL": "https://u:s8cret@h"}}
SECRET = re.compile(r"s\dcret")
GUARDRAILS = [{"command": "DB_PASSWORD=s9cret true"}, {"command": "curl -H 'Authorization: Bearer s0cret'; false"}]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-p", "x", "-m", "1", "-V", "--baseline"],
        ["run", "-p", "x", "-m", "1", "-V", "--json"],
        ["run", "-p", "x", "--dry-run"],
        ["config", "show"],
        ["config", "show", "--json", "--origin"],
        ["doctor"],
        ["doctor", "--json"],
    ],
)
def test_no_face_shows_a_secret(workshop: ProjectFixture, words: list[str]) -> None:  # 001-26
    workshop.settings(agent=AGENT, guardrails=GUARDRAILS)
    shown = workshop.ralph(*words)
    assert "***" in shown.stdout
    assert not SECRET.search(shown.stdout + shown.stderr)


def test_nor_does_a_look_at_it_afterwards(workshop: ProjectFixture) -> None:  # 001-26
    workshop.settings(agent=AGENT, guardrails=GUARDRAILS)
    workshop.ralph("run", "-p", "x", "-m", "1", "--baseline")
    for words in (["show"], ["show", "--json"], ["logs"], ["logs", "--json"], ["status"]):
        shown = workshop.ralph(*words)
        assert shown.returncode == 0
        assert not SECRET.search(shown.stdout + shown.stderr)
    assert not [path.name for path in (workshop.repo / ".ralph").iterdir() if SECRET.search(path.name)]


def test_no_log_keeps_what_an_agent_or_a_check_printed_of_them(workshop: ProjectFixture) -> None:  # 001-26
    token = "ghp_" + "a1B2c3D4" * 5
    workshop.agent(f"echo agent saw {token} $OWN_TOKEN; echo {token} >&2; {make_result_command('working')}")
    agent = {"command": "claude", "environment": {"OWN_TOKEN": "quite-a-secret"}}
    workshop.settings(agent=agent, guardrails=[f"echo check saw {token}; false"])
    workshop.ralph("run", "-p", "x", "-m", "1")
    state = workshop.repo / ".git/ralph/runs"
    logs = [*state.rglob("*.log"), *state.rglob("*.ndjson"), *(workshop.repo / ".ralph").rglob("*.log")]
    texts = [path.read_text() for path in logs]
    assert any("agent saw ****" in text for text in texts)
    assert any("check saw ****" in text for text in texts)
    assert [path.name for path, text in zip(logs, texts, strict=True) if token in text or "quite-a" in text] == []


def test_nor_does_any_of_a_task(pipeline: PipelineFixture) -> None:  # 001-26
    token = "ghp_" + "a1B2c3D4" * 5
    pipeline.honest()
    pipeline.agent(before=f"echo agent saw {token} $OWN_TOKEN $DEPLOY_KEY")
    pipeline.workshop.settings(agent={"environment": {"OWN_TOKEN": "quite-a-secret"}})
    pipeline.workshop.environment["DEPLOY_KEY"] = "open-sesame-now"
    pipeline.task("TASK-001")
    shown = pipeline.execute("-V")
    state = pipeline.repo / ".git/ralph/runs"
    texts = {path.name: path.read_text() for path in (*state.rglob("*.log"), *state.rglob("*.ndjson"))}
    texts["screen"] = shown.stdout + shown.stderr
    assert "agent saw ***" in texts["events.ndjson"]
    secrets = (token, "quite-a", "open-sesame")
    assert [name for name, text in texts.items() if any(secret in text for secret in secrets)] == []


def test_nor_does_the_board_of_a_task_that_failed(pipeline: PipelineFixture) -> None:  # 001-26
    pipeline.agent(before="echo agent saw $DEPLOY_KEY; exit")
    pipeline.workshop.environment["DEPLOY_KEY"] = "open-sesame-now"
    pipeline.task("TASK-001", "--coder-max-iterations", "1")
    assert pipeline.execute().returncode == 1
    assert pipeline.status("TASK-001")["metadata"]["ralph_failure"]["last_output"] == "agent saw ***\n"


def test_the_agent_gets_all_of_it(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("working"), make_result_command("<response>DONE</response>"))
    workshop.settings(agent=AGENT, guardrails=GUARDRAILS)
    workshop.ralph("run", "-p", "x", "-m", "2")
    given = (workshop.home / "argv.1").read_text()
    assert all(f"s{number}cret" in given for number in range(1, 8))
    assert "Guardrail \"curl -H 'Authorization: Bearer s0cret'; false\" failed" in workshop.prompt(2)


@pytest.mark.parametrize(
    "agent",
    [
        {"command": "claude --api-key s1cret 'open"},
        {"command": "claude", "flags": ["--token", "s1cret 'open"]},
        {"command": "claude", "flags": "--api-key s1cret"},
        {"command": "no-such-agent --api-key s1cret"},
        {"command": "claude", "flags": ["--token", "s1cret and more"]},
    ],
)
def test_an_error_or_a_warning_quotes_none(workshop: ProjectFixture, agent: dict[str, object]) -> None:  # 001-26
    workshop.settings(agent=agent)
    for words in (["run", "-p", "x"], ["run", "-p", "x", "--json"], ["doctor"]):
        told = workshop.ralph(*words)
        assert told.stdout + told.stderr
        assert not SECRET.search(told.stdout + told.stderr)
