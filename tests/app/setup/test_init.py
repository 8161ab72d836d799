"""First settings."""

from pathlib import Path

import pytest

from ralph.app.setup.init import build_settings_document, detect_settings
from ralph.config.schema import convert_settings
from ralph.model.errors import MachineError


def test_what_is_detected_becomes_settings(tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    (tmp_path / "Makefile").write_text("test:\n\ttrue\nlint:\n\ttrue\n")
    read = convert_settings(detect_settings(str(tmp_path), {"PATH": str(tmp_path)}))
    assert (read.agent.command, read.agent.flags, read.agent.permissions) == ("claude", (), None)
    assert [(g.command, g.fail_action) for g in read.guardrails] == [("make lint", "APPEND"), ("make test", "APPEND")]


def test_without_an_agent_nothing_is_made_up(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no agent on PATH"):
        detect_settings(str(tmp_path), {"PATH": str(tmp_path)})


def test_a_document_has_the_basics_and_no_empty_extras() -> None:  # 001-11
    raw = build_settings_document("x", (), guardrails=())
    assert (raw["outputTruncateChars"], raw["streamAgentOutput"]) == (5000, True)
    assert "scm" not in raw
