"""Writes settings, and the schema beside them."""

import os

import msgspec

from ralph.config.location import SETTINGS_FILE
from ralph.config.reference import SCHEMA_FILE, build_json_schema
from ralph.config.schema import RawSettings
from ralph.model.errors import ConfigError
from ralph.process.atomic_file import write_atomic


def write_settings(folder: str, raw: RawSettings) -> None:
    """`.ralph/settings.json` and, first, the schema it refers to."""
    write_schema(folder)
    write_settings_text(SETTINGS_FILE, os.path.join(folder, SETTINGS_FILE), format_json(raw) + "\n")


def write_schema(folder: str) -> None:
    write_settings_text(SCHEMA_FILE, os.path.join(folder, SCHEMA_FILE), format_json(build_json_schema()) + "\n")


def write_settings_text(name: str, path: str, text: str) -> None:
    """`name` is what the user calls it."""
    try:
        write_atomic(path, text, follow_links=True)
    except OSError as error:
        raise ConfigError(f"{name}: cannot be written: {error.strerror}", "ralph doctor") from None


def format_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
