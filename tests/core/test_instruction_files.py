"""Which files speak to the next agent."""

import pytest

from ralph.agents._cards import load_builtin_cards
from ralph.core.instruction_files import collect_instruction_files
from ralph.model.agent_card import AgentCard

KNOWN = collect_instruction_files(load_builtin_cards().values())


@pytest.mark.parametrize(
    "path",
    [
        "CLAUDE.md",
        "src/api/CLAUDE.md",
        "AGENTS.md",
        "GEMINI.md",
        "web/QWEN.md",
        ".mcp.json",
        ".vscode/mcp.json",
        ".claude/settings.json",
        "web/.claude/skills/a/SKILL.md",
        ".codex/config.toml",
        ".amp/settings.json",
        "opencode.json",
        ".github/copilot-instructions.md",
        ".github/instructions/tests.instructions.md",
        ".cursorrules",
    ],
)
def test_instructions_of_any_agent_count(path: str) -> None:
    assert KNOWN.contains(path)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "CLAUDE.md.txt",
        "claude/a.md",
        ".github/workflows/ci.yml",
        "docs/.github/copilot-instructions.md",  # a path counts from the root
    ],
)
def test_other_files_do_not(path: str) -> None:
    assert not KNOWN.contains(path)


@pytest.mark.parametrize("path", ["PARROT.md", "a/.parrot/b/c", "etc/parrot.toml"])
def test_those_that_another_adapters_card_names_count_with_it(path: str) -> None:
    card = AgentCard(title="Parrot", instructions=("PARROT.md", ".parrot/", "etc/parrot.toml"))
    assert collect_instruction_files([card]).contains(path)
    assert not KNOWN.contains(path)
