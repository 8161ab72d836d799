"""`specflow`: the commands of SpecFlow under their own names; each is one of ralph's."""

import sys
from collections.abc import Sequence

from ralph.faces.cli.terminal.columns import align_columns

SPECFLOW_COMMANDS = {
    "task-create": (("task", "create"), "Create a task that says what done means."),
    "task-followup": (("task", "followup"), "Create a follow-up of another task."),
    "ralph-status": (("task", "loops"), "Show the active Ralph loops."),
    "ralph-cancel": (("task", "cancel"), "Cancel the Ralph loop of a task."),
    "execute": (("execute",), "Work on the tasks."),
}


def translate_command(words: Sequence[str]) -> list[str] | None:
    """The words of a SpecFlow command as those of ralph; None if SpecFlow has no such command."""
    known = SPECFLOW_COMMANDS.get(words[0]) if words else None
    return [*known[0], *words[1:]] if known else None


def render_usage() -> str:
    lines = align_columns([(f"  {name}", help_text) for name, (_, help_text) in SPECFLOW_COMMANDS.items()])
    return "\n".join(["Usage: specflow COMMAND [ARGS]…  (each also takes --help)", "", *lines])


def entry() -> None:
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(render_usage() + "\n")
        sys.exit(0 if words else 2)
    ours = translate_command(words)
    if ours is None and words[0] not in ("--version", "-v"):
        sys.stderr.write(f"specflow: no command {words[0]!r}\n  → known: {', '.join(SPECFLOW_COMMANDS)}\n")
        sys.exit(2)
    from ralph.__main__ import entry as ralph_entry

    sys.argv[1:] = words if ours is None else ours
    ralph_entry()


if __name__ == "__main__":
    entry()
