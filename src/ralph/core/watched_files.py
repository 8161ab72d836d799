"""Files that decide how the next run is judged: settings, prompts, hooks. Which they are, and what of them counts."""

from collections.abc import Mapping

GIT_CONFIG = ".git/config"
HOOKS_FOLDER = ".git/hooks/"
CLAUDE_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
# Of the work tree: programs on the host read them, and run what they say.
HOST_SETTINGS = (
    *(".ralph/settings.json", ".ralph/settings.local.json", ".specflow/config.yaml", ".mcp.json"),
    *(*CLAUDE_SETTINGS, ".codex/config.toml", ".codex/hooks.json"),
)
_HARMLESS_SECTIONS = ("branch", "remote", "submodule", "user", "color", "advice")  # they run nothing

Texts = Mapping[str, str]  # by name, as people know the file; what is not there has none


def extract_git_program_settings(text: str) -> str:
    """Of git's configuration what may run a program, a line each: branches and remotes come and go."""
    section, found = "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]").replace(' "', ".").replace('"', "")
        elif line and line[0] not in "#;" and section.split(".")[0].lower() not in _HARMLESS_SECTIONS:
            found.append(f"{section}.{line}")
    return "".join(f"{line}\n" for line in found)


def find_hooks_path(git_config: str) -> str:
    """The folder that `core.hooksPath` names, in the lines of the function above; empty without one."""
    for line in reversed(git_config.splitlines()):
        name, _, value = line.partition("=")
        if name.strip().lower() == "core.hookspath":
            return value.strip().strip('"')
    return ""
