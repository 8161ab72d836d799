"""Writes files whole or not at all."""

import os

import msgspec

from ralph.config.reference import SCHEMA_FILE, build_json_schema
from ralph.config.schema import RawSettings
from ralph.config.sources import SETTINGS_FILE
from ralph.model.errors import ConfigError


def write_settings(folder: str, raw: RawSettings) -> None:
    """`.ralph/settings.json` and, first, the schema it refers to."""
    for name, document in ((SCHEMA_FILE, build_json_schema()), (SETTINGS_FILE, raw)):
        try:
            write_through_links(os.path.join(folder, name), format_json(document) + "\n")
        except OSError as error:
            raise ConfigError(f"{name}: cannot be written: {error.strerror}", "ralph doctor") from None


def format_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def write_through_links(path: str, text: str) -> None:
    """Replaces the file in one step that survives a crash; a link stays a link."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    draft = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.tmp")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
