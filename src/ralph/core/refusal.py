"""What to say of an agent that was not permitted to do something: what it was, and what to type."""

from collections.abc import Sequence

MAX_TYPED_CHARS = 200  # nobody types a longer command
_NEEDS_SINGLE_QUOTES = '"$`\\!'


def describe_refusal(tools: Sequence[str], commands: Sequence[str]) -> str:
    """In a sentence or two. `tools` are the refused calls by the name of the tool, `commands` those of them that are
    commands, where the agent reports them."""
    typed = [command for command in commands if "\n" not in command and len(command) <= MAX_TYPED_CHARS]
    if typed:
        allowed = " ".join(f"--allow {_quote(command)}" for command in typed)
        return f"The agent was refused {join_words([f'`{c}`' for c in typed])}. Allow it: {allowed}, or agent.allow."
    calls = "1 tool call" if len(tools) == 1 else f"{len(tools)} tool calls"
    return (
        f"The agent was refused {calls} ({', '.join(dict.fromkeys(tools))}). Allow it more: agent.allow for commands,"
        ' agent.permissions "all" for everything, in a sandbox.'
    )


def join_words(words: Sequence[str], last: str = "and") -> str:
    """a, b and c"""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def _quote(command: str) -> str:
    """As a shell takes it; in double quotes where they will do."""
    if not any(sign in command for sign in _NEEDS_SINGLE_QUOTES):
        return f'"{command}"'
    return "'" + command.replace("'", "'\"'\"'") + "'"
