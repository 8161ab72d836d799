"""Verifications by name."""

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ralph.app.pipeline.verification import load_verifier
from ralph.model.errors import ConfigError
from ralph.model.spec import VerificationMethod
from ralph.model.verdict import Verdict
from ralph.verifiers.templates import TEMPLATES, apply_template, resolve_method
from support.claimed import PROMISE, make_claim, make_tools

COMMANDS = {
    "pytest": "pytest",
    "ruff": "ruff",
    "npm-test": "npm",
    "cargo-test": "cargo",
    "go-test": "go",
    "mypy": "mypy",
    "make-test": "make",
    "tsc": "npx",
}


def verdict(name: str, config: dict[str, Any], **more: Any) -> Verdict:
    gate = load_verifier(name, config, make_tools())
    assert gate is not None
    return gate.verify(make_claim(**more))


def test_the_templates_people_ask_for_are_there() -> None:  # 002-26
    assert {*TEMPLATES} >= {"contradictions", "files-exist", "http-health", *COMMANDS}


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_is_usable_or_says_what_it_needs(name: str) -> None:  # 002-26
    template = TEMPLATES[name]
    assert template.description
    given = {"paths": ["a"], "url": "http://127.0.0.1/"}
    assert load_verifier(name, {key: given[key] for key in template.needs}, make_tools()) is not None
    for missing in template.needs:
        with pytest.raises(ConfigError, match=missing):
            load_verifier(name, {key: given[key] for key in template.needs if key != missing}, make_tools())


@pytest.mark.parametrize(("name", "program"), COMMANDS.items())
@pytest.mark.parametrize("code", [0, 1])
def test_a_command_decides(tmp_path: Path, name: str, program: str, code: int) -> None:  # 002-26
    tool = tmp_path / program
    tool.write_text(f'#!/bin/sh\necho $0 "$@" >> {tmp_path}/ran\nexit {code}\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    gate = load_verifier(name, {}, make_tools())
    assert gate is not None
    found = gate.verify(replace(make_claim(tmp_path), environment={"PATH": str(tmp_path)}))
    assert found.verified is (code == 0)
    assert (tmp_path / "ran").read_text().startswith(str(tool))


def test_a_clean_tree(tmp_path: Path) -> None:
    import subprocess

    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert verdict("clean-tree", {}, folder=tmp_path).verified
    (tmp_path / "left").touch()
    assert not verdict("clean-tree", {}, folder=tmp_path).verified


@pytest.mark.parametrize(
    ("said", "agent", "expected"),
    [
        ("Committed.", "coder", "Promise verified"),
        ("Written.", "coder", "No commit detected in coder output"),
        ("Committed. TODO: docs", "coder", "Output contains contradictions to promise"),
        ("Approved", "reviewer", "Promise verified"),
    ],
)
def test_the_first_versions_rule(said: str, agent: str, expected: str) -> None:  # 000-10, 000-11
    found = verdict("contradictions", {}, output=f"{said}\n<promise>{PROMISE}</promise>", agent=agent)
    assert (found.verified, found.reason) == (expected == "Promise verified", expected)


def test_the_first_versions_rule_minds_the_form() -> None:  # 000-10, 000-11, 000-14
    inline = f"Committed. <promise>{PROMISE}</promise>"
    assert verdict("contradictions", {}, output=inline).reason == "Promise not found or malformed"
    assert verdict("contradictions", {}, output=inline, loose=True).verified


def test_options_of_the_task_go_on_top() -> None:
    assert apply_template("pytest", {"timeout": 9}) == ("external", {"command": "pytest", "timeout": 9})
    assert apply_template("pytest", {"command": "pytest -x"}) == ("external", {"command": "pytest -x"})
    assert apply_template("external", {"template": "ruff", "timeout": 9}) == (
        "external",
        {"command": "ruff check .", "timeout": 9},
    )
    assert apply_template("external", {"command": "true"}) == ("external", {"command": "true"})
    assert apply_template("my_gate", {"x": 1}) == ("my_gate", {"x": 1})


def test_every_name_can_stand_in_a_task() -> None:
    assert resolve_method("external", {"command": "true"}) == (VerificationMethod.EXTERNAL, {"command": "true"})
    assert resolve_method("pytest", {}) == (VerificationMethod.EXTERNAL, {"command": "pytest"})
    assert resolve_method("files-exist", {"paths": ["a"]}) == (
        VerificationMethod.MULTI_STAGE,
        {"stages": [{"name": "files-exist", "method": "files_exist", "config": {"paths": ["a"]}}]},
    )
    assert resolve_method("my_gate", {})[0] is VerificationMethod.MULTI_STAGE
