"""What to say of an agent that was not permitted to do something: what it was, and what to type."""

import re
from collections.abc import Sequence

from ralph.model.loop import Feedback, Reported

MAX_TYPED_CHARS = 200  # nobody types a longer command
MAX_TOLD_COMMANDS = 8
# Claude Code cannot look ahead into these, so no rule lets them pass: `&`, variables of a loop, `$?` and its like.
_UNCHECKED_PATTERN = r"(?<![&<>])&(?![&>])|\bfor \w+ in |\$[?!@*#$]"
_ALLOW_EVERYTHING = 'Only agent.permissions "all" does, in a sandbox.'
_NEEDS_SINGLE_QUOTES = '"$`\\!'


def describe_refusal(
    tools: Sequence[str], commands: Sequence[str], *, allowed: Sequence[str] = (), guard_words: Sequence[str] = ()
) -> str:
    """In a few sentences. `tools` are the refused calls by the name of the tool, `commands` those of them that are
    commands, where the agent reports them; `allowed` what it may run already; `guard_words` what our own guard said."""
    told = [f"ralph's guard refused a command: {words}" for words in guard_words]
    typed = [command for command in commands if "\n" not in command and len(command) <= MAX_TYPED_CHARS]
    stubborn = [command for command in typed if command in allowed or re.search(_UNCHECKED_PATTERN, command)]
    if new := [command for command in typed if command not in stubborn]:
        options = " ".join(f"--allow {_quote(command)}" for command in new)
        told.append(f"The agent was refused {_name_commands(new)}. Allow it: {options}, or agent.allow.")
    if stubborn:
        why = "it is allowed already" if stubborn[0] in allowed else "no rule allows `&`, `$?` and loops"
        told.append(
            f"The agent was refused {_name_commands(stubborn)}, and --allow does not change that: {why}."
            f" {_ALLOW_EVERYTHING}"
        )
    if told:
        return " ".join(told)
    calls = "1 tool call" if len(tools) == 1 else f"{len(tools)} tool calls"
    return (
        f"The agent was refused {calls} ({', '.join(dict.fromkeys(tools))}). Allow it more: agent.allow for commands,"
        ' agent.permissions "all" for everything, in a sandbox.'
    )


def build_refusal_feedback(refused: Reported) -> Feedback:
    """For the next agent, which would try the same again: what was refused, and what it may run."""
    short = [command for command in refused.refused_commands if "\n" not in command and len(command) <= MAX_TYPED_CHARS]
    what = _name_commands(short[:MAX_TOLD_COMMANDS]) or join_words([*dict.fromkeys(refused.refused_tools)])
    permitted = _name_commands(refused.permitted_commands)
    may = f" Besides editing files, you may run {permitted}." if permitted else ""
    return Feedback(f"The last iteration was refused {what}, and nobody is there to approve it: do without.{may}")


def _name_commands(commands: Sequence[str]) -> str:
    return join_words([f"`{command}`" for command in commands])


def join_words(words: Sequence[str], last: str = "and") -> str:
    """a, b and c"""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def _quote(command: str) -> str:
    """As a shell takes it; in double quotes where they will do."""
    if not any(sign in command for sign in _NEEDS_SINGLE_QUOTES):
        return f'"{command}"'
    return "'" + command.replace("'", "'\"'\"'") + "'"
