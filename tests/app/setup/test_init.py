"""First settings."""

from pathlib import Path

import pytest

from ralph.app.agents.detect import GITIGNORE_LINES
from ralph.app.setup.init import build_settings_document, detect_settings, ignore_logs
from ralph.config.schema import convert_settings
from ralph.model.errors import MachineError

LINES = "".join(f"{line}\n" for line in GITIGNORE_LINES).encode()


def repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")


def test_what_is_detected_becomes_settings(tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    (tmp_path / "Makefile").write_text("test:\n\ttrue\nlint:\n\ttrue\n")
    read = convert_settings(detect_settings(str(tmp_path), {"PATH": str(tmp_path)}))
    assert (read.agent.command, read.agent.flags, read.agent.permissions) == ("claude", (), "checks")
    assert [(g.command, g.fail_action) for g in read.guardrails] == [("make lint", "APPEND"), ("make test", "APPEND")]


def test_without_an_agent_nothing_is_made_up(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no agent on PATH"):
        detect_settings(str(tmp_path), {"PATH": str(tmp_path)})


def test_a_document_has_the_basics_and_no_empty_extras() -> None:  # 001-11
    raw = build_settings_document("x", (), guardrails=())
    assert (raw["outputTruncateChars"], raw["streamAgentOutput"]) == (5000, True)
    assert "scm" not in raw


def test_outside_git_nothing_is_ignored(tmp_path: Path) -> None:
    assert ignore_logs(str(tmp_path)) == ""
    assert not (tmp_path / ".gitignore").exists()


@pytest.mark.parametrize(  # 001-33
    ("before", "after"),
    [
        (None, LINES),
        (b"*.pyc", b"*.pyc\n" + LINES),
        (b"*.pyc\r\n", b"*.pyc\r\n" + LINES.replace(b"\n", b"\r\n")),
        (b".ralph/*.log\n", LINES),
    ],
)
def test_gitignore_is_completed_once(tmp_path: Path, before: bytes | None, after: bytes) -> None:
    repository(tmp_path)
    if before is not None:
        (tmp_path / ".gitignore").write_bytes(before)
    assert ignore_logs(str(tmp_path)).startswith("Added .ralph/")
    assert (tmp_path / ".gitignore").read_bytes() == after
    assert ignore_logs(str(tmp_path)) == ""
    assert (tmp_path / ".gitignore").read_bytes() == after


def test_a_gitignore_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").mkdir()
    assert ignore_logs(str(tmp_path)).startswith(f"Could not add {' and '.join(GITIGNORE_LINES)} to .gitignore: ")
