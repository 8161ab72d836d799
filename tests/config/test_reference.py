"""The JSON Schema."""

import msgspec

from ralph.config.reference import SETTING_DESCRIPTIONS, build_json_schema
from ralph.config.schema import SETTINGS_PARTS, OwnAgentSettings, Settings
from ralph.model.price import TokenPrice

FILLED_BY_US = {"substitutes", "price"}


def test_every_key_is_explained_and_nothing_else_is() -> None:
    kinds: dict[str, type[msgspec.Struct]] = {"Settings": Settings, "Stage": SETTINGS_PARTS["coder"]}
    kinds["OwnAgentSettings"] = OwnAgentSettings  # the values of `agents`
    kinds["TokenPrice"] = TokenPrice  # those of `prices`
    kinds |= {
        kind.__name__: kind for key, kind in SETTINGS_PARTS.items() if key not in ("coder", "reviewer", "tester", "qa")
    }
    assert {name: set(keys) for name, keys in SETTING_DESCRIPTIONS.items()} == {
        name: {*kind.__struct_encode_fields__} - FILLED_BY_US for name, kind in kinds.items()
    }


def test_the_schema_says_what_is_checked() -> None:
    schema = build_json_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    keys = schema["$defs"]["Settings"]["properties"]
    assert keys["maximumIterations"] == {
        "description": "Agent runs before ralph stops with exit code 1.",
        "type": "integer",
        "minimum": 1,
        "maximum": 1_000_000_000_000,
        "default": 10,
    }
    assert "$schema" in keys
    closed = {name for name, definition in schema["$defs"].items() if definition.get("additionalProperties") is False}
    assert closed == set(schema["$defs"]) - {"Guardrail"}
    msgspec.json.encode(schema)


def test_only_a_guardrail_of_another_kind_has_keys_of_its_own() -> None:
    guardrail = build_json_schema()["$defs"]["Guardrail"]
    assert guardrail["if"] == {"properties": {"kind": {"const": "shell"}}}
    assert guardrail["then"]["required"] == ["command"]
    assert set(guardrail["then"]["propertyNames"]["enum"]) == set(guardrail["properties"])


def test_what_may_be_written_short_is_in_the_schema() -> None:
    keys = build_json_schema()["$defs"]["Settings"]["properties"]
    for node in (keys["agent"], keys["guardrails"]["items"]):
        assert [option.get("type", "object") for option in node["anyOf"]] == ["string", "object"]


def test_environment_variables_stay_free() -> None:
    environment = build_json_schema()["$defs"]["AgentSettings"]["properties"]["environment"]
    assert environment["additionalProperties"]["type"] == "string"
