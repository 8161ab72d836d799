"""`ralph doctor`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.doctor import command


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), standalone_mode=False, catch_exceptions=False)


def install_claude(folder: Path) -> None:
    (folder / "bin/claude").write_text("#!/bin/sh\necho 1.2.3\n")
    (folder / "bin/claude").chmod(0o755)


def test_a_failure_is_exit_code_2_and_tells_what_to_type() -> None:
    result = doctor()
    assert result.return_value == 2
    lines = result.stdout.splitlines()
    assert all(line[:6] in ("OK    ", "WARN  ", "FAIL  ") for line in lines)
    (failure,) = (line for line in lines if line.startswith("FAIL"))
    assert failure.startswith("FAIL  no agent on PATH")
    assert " — npm install" in failure


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


def test_try_runs_each_guardrail_once_and_shows_what_came(tmp_path: Path) -> None:
    install_claude(tmp_path)
    (tmp_path / ".ralph").mkdir()
    rails = [
        "echo '12 passed in 0.40s'",
        "echo '1 failed, 2 passed in 0.40s'; exit 1",
        "echo 'sh: 1: x: not found'; exit 127",
    ]
    (tmp_path / ".ralph/settings.json").write_text(json.dumps({"guardrails": [{"command": rail} for rail in rails]}))
    result = doctor("--try")
    assert result.return_value == 2
    shown = [line for line in result.stdout.splitlines() if line[6:].startswith("guardrail")]
    assert shown[0].startswith(f"OK    guardrail {rails[0]}: passes (12 passed, ")
    assert shown[1].startswith(f"OK    guardrail {rails[1]}: fails (1 failed, 2 passed, ")
    assert shown[2].startswith(f"FAIL  guardrail {rails[2]}: cannot run here: x: not found")
