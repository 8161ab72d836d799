"""Packages of others: installed as users install them, used from the command line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture
from support.workshop import ProjectFixture, make_result_command

EXTENSIONS = Path(__file__).parent
GUIDE = EXTENSIONS.parents[1] / "docs/extending.md"
NAMES = sorted(path.parent.name for path in EXTENSIONS.glob("*/pyproject.toml"))
DONE = make_result_command("<response>DONE</response>")


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with all of them in it, installed by pip, without a network."""
    sources, target = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("packages")
    for name in NAMES:
        shutil.copytree(EXTENSIONS / name, sources / name)  # pip builds in its source
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    paths = [str(sources / name) for name in NAMES]
    subprocess.run([*install, "--target", str(target), *paths], check=True, timeout=110)
    return str(target)


@pytest.fixture
def equipped(workshop: ProjectFixture, packages: str) -> ProjectFixture:
    workshop.environment["PYTHONPATH"] = packages
    return workshop


def test_the_guide_shows_every_package_as_it_is() -> None:
    shown = dict(re.findall(r"```(?:python|toml)\n# (tests/extensions/\S+)\n(.*?)```\n", GUIDE.read_text(), re.DOTALL))
    files = [path for name in NAMES for path in (EXTENSIONS / name).iterdir() if path.suffix in (".py", ".toml")]
    assert shown == {os.path.relpath(path, EXTENSIONS.parents[1]): path.read_text() for path in files}


def test_a_run_completes_only_when_the_guardrail_of_a_package_passes(equipped: ProjectFixture) -> None:
    rail = {"kind": "max_lines", "pattern": "*.txt", "lines": 2, "hint": "Be brief."}
    equipped.settings(guardrails=[rail])
    equipped.agent(f"seq 9 > long.txt; {DONE}", f"seq 2 > long.txt; {DONE}")
    ended = equipped.ralph("run", "-p", "Count")
    assert (ended.returncode, equipped.calls) == (0, 2), ended.stdout + ended.stderr
    title = "at most 2 lines in *.txt"
    assert f'Guardrail "{title}" failed with exit code 1.\nHint: Be brief.' in equipped.prompt(2)
    assert "long.txt has 9 lines" in equipped.prompt(2)
    assert f"OK    guardrail {title}" in equipped.ralph("doctor").stdout
    assert f"Guardrail:   {title}" in equipped.ralph("run", "-p", "Count", "--dry-run").stdout


def test_the_options_of_a_packages_guardrail_are_checked_by_it(equipped: ProjectFixture) -> None:
    equipped.settings(guardrails=[{"kind": "max_lines", "lines": 2}])
    ended = equipped.ralph("run", "-p", "Count")
    assert (ended.returncode, equipped.calls) == (2, 0)
    assert "guardrails[0]: max_lines: Object missing required field `pattern`" in ended.stderr


def test_without_the_package_its_kind_is_unknown(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"kind": "max_lines", "pattern": "*"}])
    assert "no guardrail kind named 'max_lines'" in workshop.ralph("run", "-p", "Count").stderr


def test_a_task_is_verified_by_the_method_of_a_package(equipped: ProjectFixture) -> None:  # 002-26
    pipeline = PipelineFixture(equipped)
    pipeline.honest()
    tries = f"{pipeline.home}/tries"
    pipeline.agent(f"echo x >> {tries}; [ $(wc -l < {tries}) = 1 ] && echo '[1' > data.json || echo '[1]' > data.json")
    config = '{"paths": ["data.json"]}'
    words = (
        "--coder-verify",
        "valid_json",
        "--coder-verify-config",
        config,
        "--outcome",
        "data.json is JSON",
        "--acceptance",
        "it is",
    )
    stages = ("--reviewer-verify", "string_match", "--tester-verify", "string_match", "--qa-verify", "string_match")
    made = equipped.ralph("task", "create", "TASK-001", "files", "Write data.json", *words, *stages)
    assert made.returncode == 0, made.stderr
    ended = pipeline.execute()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert pipeline.status("TASK-001")["status"] == "done"
    reasons = [attempt["reason"] for attempt in pipeline.shown("TASK-001")["attempts"] if attempt["agent"] == "coder"]
    assert "data.json: Expecting ',' delimiter" in reasons[0]
    assert len(reasons) == 2
    assert "valid_json" in equipped.ralph("verify", "templates").stdout


PARROT = """#!/bin/sh
[ "$1" = --version ] && { echo 'parrot 1.0'; exit; }
printf '%s\\n' "$@" > {home}/parrot.argv
env > {home}/parrot.env
cat > {home}/parrot.prompt
echo '{"say": "<response>DONE</response>"}'
echo '{"squawk": 1}'
echo '{"end": true}'
"""


@pytest.fixture
def parrot(equipped: ProjectFixture) -> ProjectFixture:
    program = equipped.home / "parrot"
    program.write_text(PARROT.replace("{home}", str(equipped.home)))
    program.chmod(0o755)
    equipped.environment |= {"PARROT_API_KEY": "p", "ANTHROPIC_API_KEY": "a"}
    return equipped


@pytest.mark.parametrize("named", ["by flag", "in settings"])
def test_a_run_uses_the_agent_of_a_package_by_its_name(parrot: ProjectFixture, named: str) -> None:
    parrot.settings(agent="parrot" if named == "in settings" else "claude")
    ended = parrot.ralph("run", "-p", "Say hello", *(("--agent", "parrot") if named == "by flag" else ()))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (parrot.home / "parrot.argv").read_text() == "--json\n"
    assert "Say hello" in (parrot.home / "parrot.prompt").read_text()
    assert parrot.calls == 0  # of claude
    variables = (parrot.home / "parrot.env").read_text()
    assert "PARROT_API_KEY=p" in variables
    assert "ANTHROPIC_API_KEY" not in variables
    assert parrot.status()["agent"] == "parrot"


def test_agents_lists_the_agent_of_a_package_and_doctor_finds_it(parrot: ProjectFixture) -> None:
    assert "parrot" in parrot.ralph("agents").stdout
    parrot.settings(agent="parrot")
    assert f"OK    agent {parrot.home}/parrot parrot 1.0" in parrot.ralph("doctor").stdout
    (parrot.home / "claude").unlink()
    (parrot.repo / ".ralph/settings.json").write_text("{}")
    parrot.environment["PATH"] = f"{parrot.home}:/usr/bin:/bin"  # where no other agent is
    assert f"OK    agent {parrot.home}/parrot" in parrot.ralph("doctor").stdout
    assert parrot.ralph("run", "-p", "Say hello").returncode == 0


def test_an_adapter_nobody_knows_is_told_by_doctor(parrot: ProjectFixture) -> None:
    parrot.settings(agent={"command": "parrot", "adapter": "parot"})
    told = parrot.ralph("doctor").stdout
    assert "FAIL  no agent adapter named 'parot'; known: " in told
    assert "did you mean 'parrot'?" in told
