"""What `ralph agents` and docs/agents.md say of an agent is what its file says."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import ralph.agents
from ralph.model.agent_card import AgentCard, EndpointConfig
from ralph.model.ports import Agent, AgentOptions

NAMES = [m.name for m in pkgutil.iter_modules(ralph.agents.__path__) if not m.name.startswith("_")]
DOCS = Path(__file__).parents[2] / "docs" / "agents.md"
each_agent = pytest.mark.parametrize("name", NAMES)


def traits(name: str) -> AgentCard:
    found: AgentCard = importlib.import_module(f"ralph.agents.{name}").CARD
    return found


@each_agent
def test_cost_is_promised_where_a_budget_can_be_kept(name: str) -> None:
    agent: Agent = importlib.import_module(f"ralph.agents.{name}").build(AgentOptions(command=(name,)))
    assert traits(name).cost == agent.reports_cost


@each_agent
def test_the_table_in_the_docs_is_true(name: str) -> None:  # issue 4
    rows = [
        [cell.strip() for cell in line.split("|")] for line in DOCS.read_text().splitlines() if line.startswith("|")
    ]
    title = "any other command" if name == "command" else f"`{name}`"
    row = next(row for row in rows if row[1] == title)
    told = traits(name)
    expected = [told.streaming, told.tools, told.session, told.tokens, told.cost]
    assert [cell == "yes" for cell in row[3:8]] == expected
    assert row[8] == told.verified


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_who_can_be_pointed_at_a_model_gets_its_address_and_no_real_key(name: str) -> None:  # issue 4
    pointing: EndpointConfig = importlib.import_module(f"ralph.agents.{name}").configure_endpoint(
        "http://127.0.0.1:9", "/home/x"
    )
    text = f"{pointing}"
    assert "http://127.0.0.1:9" in text
    assert "scripted" in text
    assert all(not path.startswith(("/", "..")) for path in pointing.files)


def test_amp_is_labelled_as_not_verified() -> None:  # issue 4
    assert traits("amp").verified == "format per its documentation, not verified"
