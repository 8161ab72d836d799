"""Writes the reference pages from the program itself: docs/reference/settings.md and docs/reference/commands.md.

python tools/write_reference.py           write them
python tools/write_reference.py --check   exit 1 when one is stale
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ralph.config.reference import build_json_schema
from ralph.faces.cli.main import COMMAND_GROUPS
from ralph.faces.cli.main import ralph as command_line

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- Written by tools/write_reference.py; do not edit. -->\n"
SETTINGS_HEAD = """# Settings

Every key of `.ralph/settings.json`, from the schema that `ralph config schema` prints. Where settings come from, and
which win: [settings](../settings.md). `ralph config show --origin` shows the values in force.
"""
COMMANDS_HEAD = """# Commands

What `ralph COMMAND --help` prints. What the exit codes mean: [exit codes](../exit-codes.md).
"""
MAX_DEFAULT = 60
WIDTH = 100


def main(words: Sequence[str]) -> int:
    """The exit code."""
    pages = {"settings.md": render_settings(build_json_schema()), "commands.md": render_commands()}
    if "--check" in words:
        return int(any((FOLDER / name).read_text(encoding="utf-8") != text for name, text in pages.items()))
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def render_settings(schema: Mapping[str, Any]) -> str:
    rows = [*_list_keys(schema["$defs"], "Settings", "")]
    table = [f"| `{key}` | {default} | {_escape(meaning)} |" for key, default, meaning in rows]
    return "\n".join((f"{SETTINGS_HEAD}\n{NOTE}", "| key | default | meaning |", "|---|---|---|", *table, ""))


def _list_keys(definitions: Mapping[str, Any], name: str, before: str) -> Iterator[tuple[str, str, str]]:
    """Every key of a definition with those inside it: name, default, meaning."""
    for key, node in definitions[name]["properties"].items():
        inner = _find_inner(node)
        many = "[]" if "items" in node and inner else ".NAME" if _is_mapping(node) and inner else ""
        yield f"{before}{key}", "" if inner else _render_default(node), node["description"]
        if inner:
            yield from _list_keys(definitions, inner, f"{before}{key}{many}.")


def _is_mapping(node: Mapping[str, Any]) -> bool:
    """Whether people name its keys themselves, also where a short form is allowed."""
    return any("additionalProperties" in each for each in (node, *node.get("anyOf", ())))


def _find_inner(node: Mapping[str, Any]) -> str:
    """The definition a key's value is of; empty where it is a plain value."""
    found = re.search(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(node))
    return found[1] if found else ""


def _render_default(node: Mapping[str, Any]) -> str:
    value = node.get("default")
    if value in (None, "", [], {}):
        return "none"
    return f"`{json.dumps(value, ensure_ascii=False)[:MAX_DEFAULT]}`"


def render_commands() -> str:
    parts = [f"{COMMANDS_HEAD}\n{NOTE}"]
    settings = command_line.context_settings  # as on the command line: click keeps the help option it made first
    context = click.Context(command_line, info_name="ralph", terminal_width=WIDTH, **settings)
    for group, commands in COMMAND_GROUPS.items():
        parts.append(f"## {group}\n")
        for name in commands:
            found = command_line.get_command(context, name)
            assert found is not None, name
            parts.extend(_render_command(found, context, name, depth=3))
    return "\n".join(parts)


def _render_command(command: click.Command, parent: click.Context, name: str, *, depth: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH)
    yield f"{'#' * depth} {context.command_path}\n\n```text\n{inspect.cleandoc(command.get_help(context))}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from _render_command(found, context, inner, depth=depth + 1)


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
