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
    for name, document in ((SCHEMA_FILE, build_json_schema()), (SETTINGS_FILE, raw)):
        try:
            write_atomic(os.path.join(folder, name), format_json(document) + "\n", follow_links=True)
        except OSError as error:
            raise ConfigError(f"{name}: cannot be written: {error.strerror}", "ralph doctor") from None


def format_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
