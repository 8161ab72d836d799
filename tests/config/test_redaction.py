"""What is shown of settings."""

import msgspec

from ralph.config.keys import list_setting_keys
from ralph.config.redaction import flatten_keys, redact_mapping, redact_settings
from ralph.config.schema import AgentSettings, Guardrail, Settings


def test_variables_that_look_secret_are_hidden() -> None:  # 001-26
    agent = AgentSettings(
        environment={"API_KEY": "s3", "AUTH_TOKEN": "s3", "db_password": "s3", "MY_SECRET": "s3", "PLAIN": "seen"}
    )
    raw = redact_settings(Settings(agent=agent))
    assert "s3" not in msgspec.json.encode(raw).decode()
    assert raw["agent"]["environment"]["PLAIN"] == "seen"  # type: ignore[index]
    assert raw["agent"]["environment"]["API_KEY"] == "***"  # type: ignore[index]


def test_flags_and_commands_too() -> None:  # 001-26
    flags = ("--api-key=s3", "--token s3 -v", "--password", "s3", "--secret", "--model", "opus", "two words")
    settings = Settings(agent=AgentSettings(flags=flags), guardrails=(Guardrail(command="DB_PASSWORD=s3 make test"),))
    text = msgspec.json.encode(redact_settings(settings)).decode()
    assert "s3" not in text
    assert redact_settings(settings)["agent"]["flags"] == [  # type: ignore[index]
        "--api-key=***",
        "--token *** -v",
        "--password",
        "***",
        "--secret",
        "--model",
        "opus",
        "two words",
    ]
    assert "make test" in text


def test_a_guardrail_is_shown_as_a_file_would_have_it() -> None:
    moon = Guardrail(kind="moon", hint="wait", options={"phase": "full", "API_KEY": "s3"})
    plain = Guardrail(command="make test")
    assert redact_settings(Settings(guardrails=(moon, plain)))["guardrails"] == [
        {
            "kind": "moon",
            "failAction": "APPEND",
            "hint": "wait",
            "timeoutSeconds": None,
            "phase": "full",
            "API_KEY": "***",
        },
        {"kind": "shell", "command": "make test", "failAction": "APPEND", "hint": "", "timeoutSeconds": None},
    ]


def test_nothing_else_is_touched() -> None:
    raw = {"maximumIterations": 3, "agent": {"command": "claude", "flags": ["-x"]}, "scm": None}
    assert redact_mapping(raw) == raw


def test_keys_are_dotted_and_empty_objects_stay() -> None:
    assert flatten_keys({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}


def test_every_key_that_is_shown_can_be_set() -> None:
    raw = redact_settings(Settings())
    assert {f"agent.{key}" for key in raw["agent"]} <= set(list_setting_keys())  # type: ignore[attr-defined]
