"""Reads the `ralph:` part of `.specflow/config.yaml`. Importing this imports yaml."""

import yaml

from ralph.config.complaints import build_not_an_object_error, build_syntax_error
from ralph.config.schema import SETTINGS_PARTS, Layer
from ralph.model.errors import ConfigError

ROOT_KEY = "ralph"


def parse_specflow(name: str, text: str) -> Layer:
    """What the file says of ralph; the names other versions of SpecFlow used are taken for ours."""
    part = _load_ralph_part(name, text)
    if isinstance(part, dict):
        part = _rename_old_keys(_normalise_keys(part))
    return Layer(name=name, raw={} if part is None else {"specflow": part}, text=text, root=ROOT_KEY)


def _load_ralph_part(name: str, text: str) -> object:
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        offset = mark.index if mark else 0
        raise build_syntax_error(name, text, offset, f"not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{name}: not YAML: {error}") from None
    if document is None:
        return None
    if not isinstance(document, dict):
        raise build_not_an_object_error(name, document)
    return document.get(ROOT_KEY)


def _normalise_keys(part: dict[object, object], depth: int = 2) -> dict[str, object]:
    """Keys are text, a section with nothing in it is none, and what lies too deep (YAML may be endless) is left out."""
    named: dict[str, object] = {}
    for key, value in part.items():
        if isinstance(value, dict):
            named[str(key)] = _normalise_keys(value, depth - 1) if depth else {}
        elif value is not None or key not in SETTINGS_PARTS:
            named[str(key)] = value
    return named


def _rename_old_keys(part: dict[str, object]) -> dict[str, object]:
    agents = part.pop("agent_defaults", None)
    if isinstance(agents, dict):
        part = {**agents, **part}
    if "max_iterations" in part:
        part.setdefault("default_max_iterations", part.pop("max_iterations"))
    return part
