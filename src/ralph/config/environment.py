"""The RALPH_* variables: one for every setting, e.g. RALPH_AGENT_IDLE_TIMEOUT_SECONDS for agent.idleTimeoutSeconds.

Numbers and true/false are written as in JSON; a list is a JSON list or words as in a shell; guardrails are
a JSON list or one command; agent.environment is JSON. An empty variable counts as unset.
"""

from collections.abc import Iterator, Mapping

import msgspec

from ralph.config.schema import SETTINGS_PARTS, Layer, RawSettings, Scm, Settings, check_layer

VARIABLE_PREFIX = "RALPH_"
RUN_VARIABLES = frozenset(  # told to agents and guardrails; no settings
    f"{VARIABLE_PREFIX}{name}"
    for name in (
        "RUN_ID ATTEMPT_ID STATE CONTAINED GUARD PROJECT TASK STAGE STORY MODE ITERATION MAX_ITERATIONS"
        " TRACEBACK".split()
    )
)


def list_variables() -> dict[str, tuple[str, ...]]:
    """Every variable and the key it sets."""
    names: dict[str, tuple[str, ...]] = {}
    for attribute, key in zip(Settings.__struct_fields__, Settings.__struct_encode_fields__, strict=True):
        if key in ("$schema", "specflow"):
            continue
        if key in SETTINGS_PARTS and key != "guardrails":
            part = SETTINGS_PARTS[key]
            for inner, inner_key in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
                names[f"{VARIABLE_PREFIX}{attribute}_{inner}".upper()] = (key, inner_key)
        else:
            names[f"{VARIABLE_PREFIX}{attribute}".upper()] = (key,)
    return names | {f"{VARIABLE_PREFIX}PLAIN": ("display", "plain")}  # short: it is set once, in a profile


def read_variable_layers(environment: Mapping[str, str]) -> Iterator[Layer]:
    """One layer a variable, so that each complaint and each origin names its own."""
    if not any(name.startswith(VARIABLE_PREFIX) for name in environment):
        return
    defaults = msgspec.to_builtins(Settings(scm=Scm()))
    for name, path in list_variables().items():
        if text := environment.get(name, "").strip():
            yield _check_types(
                Layer(
                    name=name, raw=_nest_value(path, _parse_value(text, path, _get_value_at(defaults, path))), lax=True
                ),
                path,
            )


def find_misspelt(environment: Mapping[str, str]) -> Iterator[str]:
    """Warnings for variables that look very much like one of ours."""
    own = RUN_VARIABLES if f"{VARIABLE_PREFIX}RUN_ID" in environment else ()  # we are inside a run
    unknown = [name for name in environment if name.startswith(VARIABLE_PREFIX) and name not in own]
    names = list_variables() if unknown else {}
    for name in unknown:
        if name not in names:
            import difflib

            for near in difflib.get_close_matches(name, names, n=1, cutoff=0.8):
                yield f"unknown environment variable {name}: did you mean {near}?"


def _check_types(layer: Layer, path: tuple[str, ...]) -> Layer:
    return Layer(name=layer.name, raw=_nest_value(path, _get_value_at(msgspec.to_builtins(check_layer(layer)), path)))


def _parse_value(text: str, path: tuple[str, ...], default: object) -> object:
    """Lists and mappings out of text; the rest is left to the schema."""
    if not isinstance(default, (list, tuple, dict)):
        return text
    if text[0] in "[{":
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text
    return text if isinstance(default, dict) else split_list_text(path, text)


def split_list_text(path: tuple[str, ...], text: str) -> list[str] | str:
    """The items of a list that is not written as JSON: words as in a shell; a command or a flag is one item. The text
    itself where a quotation does not end."""
    if path[-1] in ("flags", "allow", "guardrails"):  # flags are split where all are: once
        return [text]
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return text


def _nest_value(path: tuple[str, ...], value: object) -> RawSettings:
    for key in reversed(path):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def _get_value_at(raw: object, path: tuple[str, ...]) -> object:
    for key in path:
        assert isinstance(raw, dict)
        raw = raw[key]
    return raw
