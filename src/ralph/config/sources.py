"""Where settings come from: layers, each checked on its own, merged in order, with the origin of every value."""

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from ralph.config import environment as variables
from ralph.config.schema import Layer, Raw, Settings, checked, flag_words, settings, unknown_keys
from ralph.core.text.secrets import hidden_words
from ralph.model.errors import ConfigError

SETTINGS = ".ralph/settings.json"
LOCAL_SETTINGS = ".ralph/settings.local.json"
SPECFLOW = ".specflow/config.yaml"
DEFAULT = "default"
COMMAND_LINE = "command line"


class Loaded(Struct, frozen=True):
    """Settings and where they come from."""

    settings: Settings
    origins: Mapping[str, str] = {}  # dotted key → source; a key that is not there has its default
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # those that were read, the weakest first


def load(folder: str, environment: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Loaded:
    """The settings in force here. `flags` are dotted keys; None stands for a flag that was not given."""
    files = [layer for layer in _files(folder, environment) if layer]
    layers = [*files, *variables.layers(environment), *_flags(flags or {})]
    warnings = [warning for layer in layers for warning in _warnings(layer)]
    raw, origins = combined(layers)
    return Loaded(
        settings(raw) if raw else Settings(),
        origins,
        (*warnings, *variables.misspelt(environment)),
        tuple(layer.name for layer in files),
    )


def project(folder: str) -> tuple[Raw, tuple[str, ...]]:
    """What the project's own two files say together, and which of them exist."""
    layers = [layer for name in (SETTINGS, LOCAL_SETTINGS) if (layer := _json(name, os.path.join(folder, name)))]
    return combined(layers)[0], tuple(layer.name for layer in layers)


def combined(layers: Iterable[Layer]) -> tuple[Raw, Mapping[str, str]]:
    """All layers in one, the last one strongest, and the origin of each value. Each must stand on its own."""
    raw: Raw = {}
    origins: dict[str, str] = {}
    for layer in layers:
        checked(layer)
        for key in leaves(layer.raw):
            for hidden in [old for old in origins if old.startswith(f"{key}.") or key.startswith(f"{old}.")]:
                del origins[hidden]
            origins[key] = layer.name
        raw = merged(raw, layer.raw)
    return raw, origins


def merged(base: Raw, over: Raw) -> dict[str, object]:
    """Scalars override, arrays replace, objects recurse."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def leaves(raw: Raw, where: str = "") -> Iterator[str]:
    """The dotted keys of all that is not an object."""
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{where}{key}.")
        else:
            yield f"{where}{key}"


def _files(folder: str, environment: Mapping[str, str]) -> Iterator[Layer | None]:
    yield _of_the_user(environment)
    yield _specflow(os.path.join(folder, SPECFLOW))
    yield _json(SETTINGS, os.path.join(folder, SETTINGS))
    yield _json(LOCAL_SETTINGS, os.path.join(folder, LOCAL_SETTINGS))


def _of_the_user(environment: Mapping[str, str]) -> Layer | None:
    home, base = environment.get("HOME", ""), environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the XDG rule: a relative path is no path
        base = os.path.join(home, ".config") if os.path.isabs(home) else ""
    path = os.path.join(base, "ralph", "settings.json")
    name = "~" + path[len(home) :] if home and path.startswith(home + os.sep) else path
    return _json(name, path) if base and os.access(path, os.R_OK) else None  # another user's home is no error


def _json(name: str, path: str) -> Layer | None:
    text = _read(name, path)
    return None if text is None else Layer(name, _decoded(name, text), text)


def _specflow(path: str) -> Layer | None:
    text = _read(SPECFLOW, path)
    if text is None:
        return None
    from ralph.config.specflow import layer

    return layer(SPECFLOW, text)


def _read(name: str, path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}", f"ls -ld {path}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        from ralph.config.complaints import syntax_error

        before = data[: error.start].decode(errors="replace")
        raise syntax_error(name, before, len(before), "not UTF-8 text") from None


def _decoded(name: str, text: str) -> Raw:
    try:
        raw: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        from ralph.config.complaints import malformed

        raise malformed(name, text, str(error)) from None
    if not isinstance(raw, dict):
        from ralph.config.complaints import not_an_object

        raise not_an_object(name, raw)
    return raw


def _flags(flags: Mapping[str, object]) -> Iterator[Layer]:
    raw: dict[str, object] = {}
    for key, value in flags.items():
        if value is not None:
            nested: object = value
            for part in reversed(key.split(".")):
                nested = {part: nested}
            assert isinstance(nested, dict)
            raw = merged(raw, nested)
    if raw:
        yield Layer(COMMAND_LINE, raw)


def _warnings(layer: Layer) -> Iterator[str]:
    yield from _split_values(layer)
    for where, key, known in unknown_keys(layer.raw):
        from ralph.config.complaints import unknown_key

        yield unknown_key(layer.name, layer.root + where.removeprefix("specflow") if layer.root else where, key, known)


def _split_values(layer: Layer) -> Iterator[str]:
    """A flag's value that is about to fall apart at its spaces."""
    match layer.raw:
        case {"agent": {"flags": [*flags]}}:
            for flag, seen in zip(flags, hidden_words(list(map(str, flags))), strict=False):
                if isinstance(flag, str) and not flag.startswith("-") and len(flag_words([flag])) > 1:
                    keep = f"to keep it whole write \"'{seen}'\""
                    yield f'agent.flags in {layer.name}: "{seen}" is split at its spaces; {keep}'
