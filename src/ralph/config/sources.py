"""Where settings come from: layers, each checked on its own, merged in order, with the origin of every value."""

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from ralph.config import environment as variables
from ralph.config.location import (
    LOCAL_SETTINGS_FILE,
    SETTINGS_FILE,
    SPECFLOW_FILE,
    locate_user_settings,
    shorten_home,
)
from ralph.config.schema import (
    Layer,
    RawSettings,
    Settings,
    check_layer,
    convert_settings,
    expand_shorthand,
    find_unknown_keys,
    split_flags,
)
from ralph.core.text.secrets import redact_argv
from ralph.model.errors import ConfigError
from ralph.process.atomic_file import open_regular_file

DEFAULT_ORIGIN = "default"
COMMAND_LINE_ORIGIN = "command line"


class LoadedSettings(Struct, frozen=True, kw_only=True):
    """Settings and where they come from."""

    settings: Settings
    origins: Mapping[str, str] = {}  # dotted key → source; a key that is not there has its default
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # those that were read, the weakest first


def load_settings(
    folder: str, environment: Mapping[str, str], flags: Mapping[str, object] | None = None, *, seen_from: str = ""
) -> LoadedSettings:
    """The settings of that folder. `flags` are dotted keys; None stands for a flag that was not given. `seen_from` is
    where the user is, who is told of files by their path from there."""
    files = [layer for layer in _read_files(folder, environment, seen_from or folder) if layer]
    layers = [*files, *variables.read_variable_layers(environment), *_build_flag_layer(flags or {})]
    warnings = [warning for layer in layers for warning in _find_warnings(layer)]
    raw, origins = combine_layers(layers)
    return LoadedSettings(
        settings=convert_settings(raw) if raw else Settings(),
        origins=origins,
        warnings=(*warnings, *variables.find_misspelt(environment)),
        files=tuple(layer.name for layer in files),
    )


def load_project_settings(folder: str) -> tuple[RawSettings, tuple[str, ...]]:
    """What the project's own two files say together, and which of them exist."""
    layers = [
        layer
        for name in (SETTINGS_FILE, LOCAL_SETTINGS_FILE)
        if (layer := read_json_layer(name, os.path.join(folder, name)))
    ]
    return combine_layers(layers)[0], tuple(layer.name for layer in layers)


def combine_layers(layers: Iterable[Layer]) -> tuple[RawSettings, Mapping[str, str]]:
    """All layers in one, the last one strongest, and the origin of each value. Each must stand on its own."""
    raw: RawSettings = {}
    origins: dict[str, str] = {}
    for layer in layers:
        check_layer(layer)
        for key in list_leaf_keys(layer.raw):
            for hidden in [old for old in origins if old.startswith(f"{key}.") or key.startswith(f"{old}.")]:
                del origins[hidden]
            origins[key] = layer.name
        raw = merge_raw(raw, layer.raw)
    return raw, origins


def merge_raw(base: RawSettings, over: RawSettings) -> dict[str, object]:
    """Scalars override, arrays replace, objects recurse."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merge_raw(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def list_leaf_keys(raw: RawSettings, where: str = "") -> Iterator[str]:
    """The dotted keys of all that is not an object."""
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from list_leaf_keys(value, f"{where}{key}.")
        else:
            yield f"{where}{key}"


def _read_files(folder: str, environment: Mapping[str, str], seen_from: str) -> Iterator[Layer | None]:
    def locate(name: str) -> tuple[str, str]:
        path = os.path.join(folder, name)
        return name if folder == seen_from else os.path.relpath(path, seen_from), path

    yield _read_user_file(environment)
    yield _read_specflow_layer(*locate(SPECFLOW_FILE))
    yield read_json_layer(*locate(SETTINGS_FILE))
    yield read_json_layer(*locate(LOCAL_SETTINGS_FILE))


def _read_user_file(environment: Mapping[str, str]) -> Layer | None:
    path = locate_user_settings(environment)
    if not path or not os.access(path, os.R_OK):  # another user's home is no error
        return None
    return read_json_layer(shorten_home(path, environment), path)


def read_json_layer(name: str, path: str) -> Layer | None:
    """A settings file as it is, not yet checked; None where there is none."""
    text = _read_text(name, path)
    return None if text is None else parse_json_layer(name, text)


def parse_json_layer(name: str, text: str) -> Layer:
    return Layer(name=name, raw=expand_shorthand(_decode_json(name, text)), text=text)


def _read_specflow_layer(name: str, path: str) -> Layer | None:
    text = _read_text(name, path)
    if text is None:
        return None
    from ralph.config.specflow import parse_specflow

    return parse_specflow(name, text)


def _read_text(name: str, path: str) -> str | None:
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}", f"ls -ld {path}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        from ralph.config.complaints import build_syntax_error

        before = data[: error.start].decode(errors="replace")
        raise build_syntax_error(name, before, len(before), "not UTF-8 text") from None


def _decode_json(name: str, text: str) -> RawSettings:
    try:
        raw: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        from ralph.config.complaints import build_malformed_error

        raise build_malformed_error(name, text, str(error)) from None
    if not isinstance(raw, dict):
        from ralph.config.complaints import build_not_an_object_error

        raise build_not_an_object_error(name, raw)
    return raw


def _build_flag_layer(flags: Mapping[str, object]) -> Iterator[Layer]:
    raw: dict[str, object] = {}
    for key, value in flags.items():
        if value is not None:
            nested: object = value
            for part in reversed(key.split(".")):
                nested = {part: nested}
            assert isinstance(nested, dict)
            raw = merge_raw(raw, nested)
    if raw:
        yield Layer(name=COMMAND_LINE_ORIGIN, raw=raw)


def _find_warnings(layer: Layer) -> Iterator[str]:
    yield from _warn_of_split_values(layer)
    for where, key, known in find_unknown_keys(layer.raw):
        from ralph.config.complaints import describe_unknown_key

        yield describe_unknown_key(
            layer.name, layer.root + where.removeprefix("specflow") if layer.root else where, key, known
        )


def _warn_of_split_values(layer: Layer) -> Iterator[str]:
    """A flag's value that is about to fall apart at its spaces."""
    match layer.raw:
        case {"agent": {"flags": [*flags]}}:
            for flag, seen in zip(flags, redact_argv(list(map(str, flags))), strict=False):
                if isinstance(flag, str) and not flag.startswith("-") and len(split_flags([flag])) > 1:
                    keep = f"to keep it whole write \"'{seen}'\""
                    yield f'agent.flags in {layer.name}: "{seen}" is split at its spaces; {keep}'
