"""Files of a project that tell coding agents what to do: whoever writes one speaks to the next agent."""

_NAMES = frozenset(
    (
        "CLAUDE.md",
        "CLAUDE.local.md",
        "AGENTS.md",
        "AGENTS.override.md",
        "AGENT.md",
        "GEMINI.md",
        "QWEN.md",
        "CRUSH.md",
        "CONVENTIONS.md",
        ".mcp.json",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        ".goosehints",
        ".aider.conf.yml",
        "opencode.json",
        "opencode.jsonc",
        ".opencode.json",
        "crush.json",
        ".crush.json",
    )
)
INSTRUCTION_FOLDERS = (
    ".claude",
    ".codex",
    ".gemini",
    ".qwen",
    ".opencode",
    ".cursor",
    ".copilot",
    ".github/instructions",
    ".github/prompts",
    ".github/agents",
    ".agents",
    ".amp",
    ".crush",
)
_PATHS = frozenset((".github/copilot-instructions.md", ".vscode/mcp.json"))
# What git may ignore of them, at the root: no tree tells of it.
INSTRUCTION_NAMES = tuple(sorted(_NAMES))


def is_instruction_file(path: str) -> bool:
    """By its path in the project; agents read such files in folders below, too."""
    if path in _PATHS or path.rpartition("/")[2] in _NAMES:
        return True
    around = f"/{path}"
    return any(f"/{folder}/" in around for folder in INSTRUCTION_FOLDERS)
