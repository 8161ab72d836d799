"""Which adapter a command gets."""

import pytest

from ralph.agents._names import resolve_adapter_name


# 001-12, REQUIREMENTS §4 Names
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("claude", "claude"),
        ("/usr/local/bin/claude", "claude"),
        ("claude.exe", "claude"),
        (r"C:\tools\Codex.EXE", "codex"),
        ("./amp", "amp"),
        ("opencode", "opencode"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
        ("copilot", "copilot"),
        ("scripted", "scripted"),
        ("unknown-agent", "command"),
        ("unknown", "command"),
        ("command", "command"),
        ("_player", "command"),
        ("__init__", "command"),
        ("os", "command"),
        ("", "command"),
        ("/", "command"),
    ],
)
def test_a_command_is_known_by_its_last_part(command: str, expected: str) -> None:
    assert resolve_adapter_name(command) == expected
