"""Which files speak to the next agent."""

import pytest

from ralph.core.instruction_files import is_instruction_file


@pytest.mark.parametrize(
    "path",
    [
        "CLAUDE.md",
        "src/api/CLAUDE.md",
        "AGENTS.md",
        "GEMINI.md",
        ".mcp.json",
        ".claude/settings.json",
        "web/.claude/skills/a/SKILL.md",
        ".codex/config.toml",
        "opencode.json",
        ".github/copilot-instructions.md",
        ".github/instructions/tests.instructions.md",
    ],
)
def test_instructions_of_any_agent_count(path: str) -> None:
    assert is_instruction_file(path)


@pytest.mark.parametrize("path", ["README.md", "CLAUDE.md.txt", "claude/a.md", ".github/workflows/ci.yml"])
def test_other_files_do_not(path: str) -> None:
    assert not is_instruction_file(path)
