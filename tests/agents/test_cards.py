"""What an agent gets, and what `ralph agents` and docs/agents.md say of it, is what its card says."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import ralph.agents
from ralph.agents._cards import load_builtin_cards
from ralph.core.environment import build_agent_env, build_gate_env
from ralph.model.agent_card import ANY_KEY, AgentCard, EndpointConfig
from ralph.model.ports import Agent, AgentOptions

NAMES = [m.name for m in pkgutil.iter_modules(ralph.agents.__path__) if not m.name.startswith("_")]
DOCS = Path(__file__).parents[2] / "docs" / "agents.md"
each_agent = pytest.mark.parametrize("name", NAMES)


def read_card(name: str) -> AgentCard:
    found: AgentCard = importlib.import_module(f"ralph.agents.{name}").CARD
    return found


# -- its environment ---------------------------------------------------------------------------------
CARDS = load_builtin_cards()
KNOWN_KEYS = {key for card in CARDS.values() for key in card.env_keys} - ANY_KEY
KEYS = dict.fromkeys(KNOWN_KEYS, "secret")


def keys_given_to(card: AgentCard, *passed: str) -> set[str]:
    return set(build_agent_env(KEYS, {}, card=card, cards=CARDS.values(), passed=passed, extra={}))


@each_agent
def test_an_agent_gets_its_own_keys_and_no_others(name: str) -> None:  # issue 11
    own = read_card(name).env_keys
    assert keys_given_to(read_card(name)) == (KNOWN_KEYS if own == ANY_KEY else own)


def test_an_adapter_that_names_no_keys_gets_none_of_the_known_ones() -> None:  # issue 11
    assert {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AMP_API_KEY"} <= KNOWN_KEYS
    assert keys_given_to(AgentCard(title="new")) == set()
    assert keys_given_to(AgentCard(title="new"), "OPENAI_API_KEY") == {"OPENAI_API_KEY"}


def test_a_key_that_no_card_names_is_nobodys_business() -> None:
    given = build_agent_env({"MY_TOKEN": "x"}, {}, card=CARDS["claude"], cards=CARDS.values(), passed=(), extra={})
    assert given == {"MY_TOKEN": "x"}


def test_no_child_inherits_the_marks_of_a_session() -> None:
    variables = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "PATH": "/bin"}
    assert build_gate_env(variables, {"RALPH_RUN_ID": "r"}, CARDS.values()) == {"PATH": "/bin", "RALPH_RUN_ID": "r"}


def test_settings_have_the_last_word_on_the_environment() -> None:
    extra = {"OPENAI_API_KEY": "other", "PATH": "/opt"}
    given = build_agent_env({"PATH": "/bin"}, {}, card=CARDS["claude"], cards=CARDS.values(), passed=(), extra=extra)
    assert given == extra


# -- what it says of itself --------------------------------------------------------------------------
@each_agent
def test_home_paths_lie_below_the_home(name: str) -> None:
    assert all(not path.startswith(("/", "~", "..")) for path in read_card(name).home_paths)


def test_every_agent_that_is_looked_for_has_a_turn_of_its_own_and_can_be_installed() -> None:
    looked_for = [card for card in CARDS.values() if card.detect_order is not None]
    assert len({card.detect_order for card in looked_for}) == len(looked_for)
    assert all(card.install and card.permission_flags for card in looked_for)


@each_agent
def test_cost_is_promised_where_a_budget_can_be_kept(name: str) -> None:
    agent: Agent = importlib.import_module(f"ralph.agents.{name}").build(AgentOptions(command=(name,)))
    assert read_card(name).cost == agent.reports_cost


@each_agent
def test_the_table_in_the_docs_is_true(name: str) -> None:  # issue 4
    rows = [
        [cell.strip() for cell in line.split("|")] for line in DOCS.read_text().splitlines() if line.startswith("|")
    ]
    title = "any other command" if name == "command" else f"`{name}`"
    row = next(row for row in rows if row[1] == title)
    card = read_card(name)
    expected = [card.streaming, card.tools, card.session, card.tokens, card.cost]
    assert [cell == "yes" for cell in row[3:8]] == expected
    assert row[8] == card.verified


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "qwen", "copilot"])
def test_who_can_be_pointed_at_a_model_gets_its_address_and_no_real_key(name: str) -> None:  # issue 4
    pointing: EndpointConfig = importlib.import_module(f"ralph.agents.{name}").configure_endpoint(
        "http://127.0.0.1:9", "/home/x"
    )
    text = f"{pointing}"
    assert "http://127.0.0.1:9" in text
    assert "scripted" in text
    assert all(not path.startswith(("/", "..")) for path in pointing.files)


def test_amp_is_labelled_as_not_verified() -> None:  # issue 4
    assert read_card("amp").verified == "format per its documentation, not verified"


def render_row(name: str, card: AgentCard) -> str:
    keys = "any" if card.env_keys == ANY_KEY else ", ".join(f"`{key}`" for key in sorted(card.env_keys)) or "none"
    cells = (
        "any other command" if name == "command" else f"`{name}`",
        f"`{card.install}`" if card.install else "",
        keys,
        f"`{card.model_flag}`" if card.model_flag else "",
        f"`{card.folder_flag}`" if card.folder_flag else "",
        "yes" if card.can_commit else "no",
    )
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


@each_agent
def test_the_table_of_keys_and_flags_is_true(name: str) -> None:  # issue 11
    assert render_row(name, read_card(name)) in DOCS.read_text().splitlines()
