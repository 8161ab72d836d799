"""Files of a project that tell coding agents what to do: whoever writes one speaks to the next agent."""

from collections.abc import Iterable

from msgspec import Struct

from ralph.model.agent_card import AgentCard

# Those that several agents read, and those of agents that ralph has no adapter for.
_COMMON_INSTRUCTIONS = (
    *("AGENTS.md", "AGENTS.override.md", "AGENT.md", "CONVENTIONS.md", ".agents/", ".mcp.json", ".vscode/mcp.json"),
    *(".aider.conf.yml", ".clinerules", ".cursorrules", ".cursor/", ".goosehints", ".windsurfrules"),
    *("CRUSH.md", "crush.json", ".crush.json", ".crush/"),
)


class InstructionFiles(Struct, frozen=True, kw_only=True):
    """Agents read names and folders in folders below, too."""

    names: tuple[str, ...]  # at the root git may ignore them: no tree tells of it
    folders: tuple[str, ...]
    paths: frozenset[str]  # from the root

    def contains(self, path: str) -> bool:
        """By its path in the project."""
        if path in self.paths or path.rpartition("/")[2] in self.names:
            return True
        around = f"/{path}"
        return any(f"/{folder}/" in around for folder in self.folders)


def collect_instruction_files(cards: Iterable[AgentCard]) -> InstructionFiles:
    """Of all agents: the next one may be another."""
    known = sorted({*_COMMON_INSTRUCTIONS, *(name for card in cards for name in card.instructions)})
    return InstructionFiles(
        names=tuple(name for name in known if "/" not in name),
        folders=tuple(name.removesuffix("/") for name in known if name.endswith("/")),
        paths=frozenset(name for name in known if "/" in name and not name.endswith("/")),
    )
