"""`ralph agents` and `ralph agents check`, with a small agent of our own in the place of Claude Code."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.workshop import ProjectFixture

MINI = Path(__file__).parents[3] / "support" / "mini_agent.py"


def mini(workshop: ProjectFixture, fault: str = "") -> Path:
    """The small agent, as `claude` on PATH."""
    program = workshop.home / "claude"
    text = MINI.read_text().replace("#!/usr/bin/env python3", f"#!{sys.executable}")
    program.write_text(text.replace('FAULT = ""', f"FAULT = {fault!r}"))
    program.chmod(0o755)
    return program


def card(workshop: ProjectFixture, *words: str, code: int) -> dict[str, Any]:
    done = workshop.ralph("agents", "check", *words, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def verdicts(told: dict[str, Any]) -> dict[str, str]:
    return {mark["topic"]: mark["verdict"] for mark in told["marks"]}


def test_all_agents_are_listed_with_what_is_known_of_them(workshop: ProjectFixture) -> None:  # issue 4
    mini(workshop)
    shown = workshop.ralph("agents", PATH=f"{workshop.home}:/usr/bin:/bin").stdout
    assert f"claude    Claude Code: {workshop.home}/claude, mini 1\n" in shown
    assert "reports: events, tools, session, tokens, cost" in shown
    assert "amp       Amp: not found on PATH" in shown
    assert "verified: format per its documentation, not verified" in shown
    listed = json.loads(workshop.ralph("agents", "--json").stdout)["agents"]
    assert {agent["name"] for agent in listed} >= {"claude", "codex", "amp", "gemini", "opencode", "scripted"}
    assert next(agent for agent in listed if agent["name"] == "claude")["version"] == "mini 1"


def test_an_agent_that_keeps_to_it_has_a_clean_card(workshop: ProjectFixture) -> None:  # issue 4
    mini(workshop)
    told = card(workshop, "claude", code=0)
    assert told["conforms"]
    assert told["version"] == "mini 1"
    found = verdicts(told)
    assert found.pop("beyond this kit") == "unverified"
    assert set(found.values()) == {"yes"}
    assert set(found) >= {"completion", "streaming", "cost", "tokens", "tools", "session", "signals", "exit codes"}


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [
        ("free", {"cost"}),
        ("nameless", {"session"}),
        ("deaf", {"long prompt"}),
        ("cheerful", {"exit codes", "overload"}),
        ("new events", {"known events"}),
        ("silent", {"streaming", "session", "tools"}),
    ],
)
def test_what_is_wrong_is_on_the_card(workshop: ProjectFixture, fault: str, wrong: set[str]) -> None:  # issue 4
    program = mini(workshop, fault)
    found = verdicts(card(workshop, str(program), code=1))
    assert {topic for topic, verdict in found.items() if verdict == "wrong"} == wrong


def test_the_card_reads_well(workshop: ProjectFixture) -> None:
    mini(workshop)
    scratch = workshop.home / "scratch"
    scratch.mkdir()
    done = workshop.ralph("agents", "check", "claude", TMPDIR=str(scratch))
    assert not [*scratch.iterdir()]
    assert done.stdout.startswith(f"Claude Code: {workshop.home}/claude, mini 1; tried with the scripted model\n")
    assert "\n  tools            yes         Write, Bash\n" in done.stdout
    assert "… being stopped in the middle of a tool" in done.stderr


def test_nothing_of_the_users_reaches_an_agent_on_trial(workshop: ProjectFixture) -> None:
    program = mini(workshop)
    spy = f"open({str(workshop.home / 'seen')!r}, 'a').write(repr(dict(os.environ)))"
    program.write_text(program.read_text().replace("def main() -> None:\n", f"def main() -> None:\n    {spy}\n"))
    workshop.ralph("agents", "check", "claude", ANTHROPIC_AUTH_TOKEN="s3cret", CLAUDE_CODE_USE_BEDROCK="1")
    trials = (workshop.home / "seen").read_text().split("}")
    assert not any("s3cret" in trial or "BEDROCK" in trial for trial in trials if "'ANTHROPIC_BASE_URL'" in trial)
    assert any("'ANTHROPIC_BASE_URL'" in trial for trial in trials)


def test_without_the_scripted_model_a_real_prompt_needs_a_yes(workshop: ProjectFixture) -> None:  # issue 4
    workshop.agent("echo '<response>DONE</response>'", name="my-agent")
    done = workshop.ralph("agents", "check", "my-agent --fast")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert workshop.calls == 0
    told = card(workshop, "my-agent --fast", "--yes", code=0)
    assert workshop.calls == 1
    assert workshop.argv(1) == ["--fast"]
    found = verdicts(told)
    assert (found["completion"], found["signals"], found["its format"]) == ("yes", "unverified", "unverified")


def test_a_real_prompt_that_goes_wrong_is_told(workshop: ProjectFixture) -> None:
    workshop.agent("echo no; exit 3", name="amp")
    told = card(workshop, "amp", "--yes", code=1)
    assert verdicts(told)["completion"] == "wrong"
    assert {"topic": "its format", "verdict": "unverified",
            "detail": "format per its documentation, not verified"} in told["marks"]  # fmt: skip


def test_an_agent_that_is_not_there_is_told(workshop: ProjectFixture) -> None:
    done = workshop.ralph("agents", "check", "no-such-agent")
    assert done.returncode == 2
    assert "agent not found: 'no-such-agent'" in done.stderr
