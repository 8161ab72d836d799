"""The dotted names of settings: which there are, and what was meant by one that is none."""

import difflib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ralph.config.complaints import build_settings_schema, resolve_schema_node
from ralph.model.errors import ConfigError


class SettingKey(Struct, frozen=True):
    """A setting, or a group of them."""

    path: tuple[str, ...]
    is_list: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)


def parse_setting_key(text: str) -> SettingKey:
    """`agent.model` → its path; ConfigError, with what was probably meant, if there is no such setting."""
    document = build_settings_schema()
    node, parts = resolve_schema_node(document, document), tuple(text.split("."))
    for index, part in enumerate(parts):
        if node.get("type") == "array":
            whole = ".".join(parts[:index])
            raise ConfigError(f'"{whole}" is a list and is set as a whole', f"show it with `ralph config get {whole}`")
        inner = node.get("properties", {}).get(part) or node.get("additionalProperties")
        if not part or not isinstance(inner, dict):
            raise ConfigError(f'no setting "{text}"', _suggest_key(text))
        node = resolve_schema_node(inner, document)
    return SettingKey(parts, node.get("type") == "array")


def list_setting_keys() -> list[str]:
    """Every one that has a name of its own: not those that users name themselves, such as variables."""
    document = build_settings_schema()
    found = _iterate_keys(resolve_schema_node(document, document), document)
    return [key for key in found if not key.startswith("$")]


def _iterate_keys(node: dict[str, Any], document: dict[str, Any], where: str = "") -> Iterator[str]:
    for name, inner in node.get("properties", {}).items():
        yield where + name
        yield from _iterate_keys(resolve_schema_node(inner, document), document, f"{where}{name}.")


def _suggest_key(text: str) -> str:
    known = list_setting_keys()
    whole = {_simplify(name): name for name in reversed(known)}
    last = {_simplify(name.rpartition(".")[2]): name for name in reversed(known)}
    wanted = _simplify(text)
    near = [*filter(None, (whole.get(wanted), last.get(wanted)))]
    near += [whole[name] for name in difflib.get_close_matches(wanted, whole, 1, 0.7)]
    near += [last[name] for name in difflib.get_close_matches(wanted, last, 1, 0.8)]
    return f'did you mean "{near[0]}"?' if near else "list them with `ralph config show`"


def _simplify(name: str) -> str:
    """People write maximum_iterations, maximum-iterations or MaximumIterations."""
    return name.lower().replace("_", "").replace("-", "")
