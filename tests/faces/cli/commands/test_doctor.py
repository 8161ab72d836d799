"""`ralph doctor`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.doctor import build


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def doctor(*arguments: str) -> Result:
    command = build(version_of=lambda program: "1.2.3", active_run=lambda: "20260101-1")
    return CliRunner().invoke(command, list(arguments), standalone_mode=False, catch_exceptions=False)


def install_claude(folder: Path) -> None:
    (folder / "bin/claude").write_text("#!/bin/sh\n")
    (folder / "bin/claude").chmod(0o755)


def test_a_failure_is_exit_code_2_and_tells_what_to_type() -> None:
    result = doctor()
    assert result.return_value == 2
    lines = result.stdout.splitlines()
    assert all(line[:6] in ("OK    ", "WARN  ", "FAIL  ") for line in lines)
    (failure,) = (line for line in lines if line.startswith("FAIL"))
    assert failure.startswith("FAIL  no agent on PATH")
    assert " — npm install" in failure
    assert "WARN  run 20260101-1 is active here: another cannot start — ralph status" in lines


def test_warnings_alone_are_no_failure(tmp_path: Path) -> None:
    install_claude(tmp_path)
    result = doctor()
    assert result.return_value == 0
    assert f"OK    agent {tmp_path}/bin/claude 1.2.3" in result.stdout.splitlines()


def test_json_says_the_same(tmp_path: Path) -> None:
    result = doctor("--json")
    told = json.loads(result.stdout)
    assert (result.return_value, told["ok"]) == (2, False)
    assert {"verdict", "what", "next"} == set(told["findings"][0])
    install_claude(tmp_path)
    assert json.loads(doctor("--json").stdout)["ok"] is True
