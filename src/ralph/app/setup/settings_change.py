"""Use case: change one key of a settings file, and tell what that changes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.app.setup.gitignore import ignore_logs
from ralph.config.editing import remove_from_text, set_in_text
from ralph.config.environment import split_list_text
from ralph.config.keys import SettingKey, parse_setting_key
from ralph.config.location import LOCAL_SETTINGS_FILE, SETTINGS_FILE, locate_user_settings, shorten_home
from ralph.config.reference import SCHEMA_REFERENCE
from ralph.config.schema import Layer, check_layer
from ralph.config.sources import DEFAULT_ORIGIN, list_leaf_keys, load_settings, parse_json_layer, read_json_layer
from ralph.config.writing import format_json, write_schema, write_settings_text
from ralph.model.errors import ConfigError, UsageError

SettingsScope = Literal["project", "local", "user"]


class SettingsFile(Struct, frozen=True, kw_only=True):
    """One of the files people write."""

    scope: SettingsScope
    path: str
    name: str  # as the user sees it


class EffectiveValue(Struct, frozen=True, kw_only=True):
    """What a setting is in the end, and who says so."""

    value: object = None
    origin: str = DEFAULT_ORIGIN
    origins: Mapping[str, str] = {}  # of all settings
    problem: str = ""  # why there is no telling


class SettingChange(Struct, frozen=True, kw_only=True):
    """What was written, and what it means."""

    file: str
    key: SettingKey
    is_removed: bool
    value: object  # as the file has it now
    before: EffectiveValue  # by this file, else by whoever said it
    after: EffectiveValue
    overridden_by: str = ""  # a stronger source that says something else
    notes: tuple[str, ...] = ()


class SettingsEditor:
    """Changes one settings file. Nothing is written that ralph could not read."""

    def __init__(self, scope: SettingsScope, paths: Paths, environment: Mapping[str, str]) -> None:
        self._paths, self._environment = paths, environment
        self._file = _locate_file(scope, paths, environment)

    def set_value(self, name: str, words: Sequence[str]) -> SettingChange:
        """The value is JSON where the key takes that, else the text itself; several words are a list."""
        key = parse_setting_key(name)
        layer = read_json_layer(self._file.name, self._file.path)
        text = layer.text if layer else self._start_text()
        return self._write(key, layer, _choose_text(text, key, words, self._file.name), is_removed=False)

    def remove_value(self, name: str) -> SettingChange:
        key = parse_setting_key(name)
        layer = read_json_layer(self._file.name, self._file.path)
        text = layer.text if layer else ""
        left = remove_from_text(_expand_agent(text, key), key.path) if layer else ""
        if layer is None or left == _expand_agent(text, key):
            origin = self.look_up(key).origin
            where = f"it comes from {origin}" if origin != DEFAULT_ORIGIN else "it has its default"
            raise ConfigError(f"{key.name} is not set in {self._file.name}", where)
        check_layer(parse_json_layer(self._file.name, left))
        return self._write(key, layer, left, is_removed=True)

    def look_up(self, key: SettingKey) -> EffectiveValue:
        """As all sources together have it."""
        return look_up_setting(key, self._paths, self._environment)

    def _write(self, key: SettingKey, before: Layer | None, text: str, *, is_removed: bool) -> SettingChange:
        file = self._file
        own = None if before is None else _get_value(before.raw, key.path)
        was = self.look_up(key) if own is None else EffectiveValue(value=own, origin=file.name)
        if before is None and file.scope == "project":
            write_schema(self._paths.folder)
        write_settings_text(file.name, file.path, text)
        notes = ignore_logs(self._paths.folder) if before is None and file.scope != "user" else ""
        value, after = _get_value(msgspec.json.decode(text), key.path), self.look_up(key)
        written = list_leaf_keys(value, f"{key.name}.") if isinstance(value, dict) else [key.name]
        others = [after.origins[name] for name in written if after.origins.get(name, file.name) != file.name]
        return SettingChange(
            file=file.name,
            key=key,
            is_removed=is_removed,
            value=value,
            before=was,
            after=after,
            overridden_by=others[0] if others and not is_removed else "",
            notes=(notes,) if notes else (),
        )

    def _start_text(self) -> str:
        return format_json({"$schema": SCHEMA_REFERENCE} if self._file.scope == "project" else {}) + "\n"


def look_up_setting(key: SettingKey, paths: Paths, environment: Mapping[str, str]) -> EffectiveValue:
    """The setting in force. Files that cannot be read are told, not raised: one may be about to be mended."""
    try:
        loaded = load_settings(paths.folder, environment, seen_from=paths.started_in)
    except ConfigError as error:
        return EffectiveValue(origin="", problem=error.message)
    value = _get_value(msgspec.to_builtins(loaded.settings), key.path)
    return EffectiveValue(value=value, origin=_find_origin(key.name, loaded.origins), origins=loaded.origins)


def _locate_file(scope: SettingsScope, paths: Paths, environment: Mapping[str, str]) -> SettingsFile:
    if scope == "user":
        path = locate_user_settings(environment)
        if not path:
            raise UsageError("there is no home folder for user settings", "set HOME or XDG_CONFIG_HOME")
        return SettingsFile(scope=scope, path=path, name=shorten_home(path, environment))
    path = os.path.join(paths.folder, SETTINGS_FILE if scope == "project" else LOCAL_SETTINGS_FILE)
    return SettingsFile(scope=scope, path=path, name=os.path.relpath(path, paths.started_in))


def _choose_text(text: str, key: SettingKey, words: Sequence[str], name: str) -> str:
    """The file with the first reading of the words that the settings reader accepts; else what it says of the first."""
    first: ConfigError | None = None
    for value in _iterate_readings(key, words):
        changed = set_in_text(_expand_agent(text, key), key.path, value)
        try:
            check_layer(replace(parse_json_layer(name, changed), text=""))  # no line: it is not in the file
            return changed
        except ConfigError as error:
            first = first or error
    assert first is not None
    check_layer(parse_json_layer(name, text))  # another key may be what is wrong, and that has a line
    raise first


def _iterate_readings(key: SettingKey, words: Sequence[str]) -> Iterator[object]:
    if len(words) > 1:
        if not key.is_list:
            raise UsageError(f"{key.name} takes one value, got {len(words)}", "put it in quotes")
        yield list(words)
        return
    text = words[0]
    with suppress(msgspec.DecodeError, RecursionError):
        yield msgspec.json.decode(text)
    yield split_list_text(key.path, text) if key.is_list else text


def _expand_agent(text: str, key: SettingKey) -> str:
    """An agent that is only named becomes an object, where one of its keys is about to change."""
    agent = msgspec.json.decode(text).get("agent")
    if key.path[0] != "agent" or len(key.path) == 1 or not isinstance(agent, str):
        return text
    return set_in_text(text, ("agent",), {"command": agent})


def _get_value(raw: object, path: Sequence[str]) -> object:
    for part in path:
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw


def _find_origin(name: str, origins: Mapping[str, str]) -> str:
    if name in origins:
        return origins[name]
    near = [each for each in origins if each.startswith(f"{name}.") or name.startswith(f"{each}.")]
    return origins[near[-1]] if near else DEFAULT_ORIGIN
