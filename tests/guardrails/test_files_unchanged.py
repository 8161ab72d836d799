"""Files an agent must leave as they were."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralph.guardrails.files_unchanged import build
from ralph.model.errors import ConfigError
from ralph.model.loop import GateResult
from ralph.model.ports import Evidence, Gate, GateOptions
from support.workshop import ProjectFixture, make_result_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("tests/unit/test_a.py", "tests/test_b.py", "tests/__pycache__/test_b.pyc", "src/a.py", "Makefile"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "tests/link.py").symlink_to("test_b.py")
    (tmp_path / "run").mkdir()
    return folder


def guard(project: Path, *paths: str, **options: Any) -> Gate:
    given = GateOptions(
        options={"paths": paths, **options}, folder=str(project), run_dir=str(project.parent / "run"), log_name="guard"
    )
    return build(given, None)  # type: ignore[arg-type]  # it starts no process


def check(gate: Gate, project: Path) -> GateResult:
    return gate.check(Evidence(1, str(project), {}))


def differences(gate: Gate, project: Path) -> list[str]:
    found = check(gate, project)
    return [] if found.passed else found.reason.split("; ")


def test_what_is_left_alone_passes(project: Path) -> None:
    gate = guard(project, "tests", "Makefile")
    (project / "src/a.py").write_text("changed, and none of its business")
    (project / "tests/__pycache__/test_b.pyc").write_text("written by running the tests")
    (project / "tests/test_new.py").write_text("new")
    assert check(gate, project) == GateResult(gate="files_unchanged tests, Makefile", passed=True)


def put_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("../Makefile")


def put_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("tests/unit/test_a.py", lambda path: path.write_text("assert True"), "changed: tests/unit/test_a.py"),
        ("tests/test_b.py", Path.unlink, "deleted: tests/test_b.py"),
        ("tests/test_b.py", put_link, "changed: tests/test_b.py"),
        ("tests/test_b.py", put_pipe, "changed: tests/test_b.py"),
        ("tests/link.py", put_link, "changed: tests/link.py"),
        ("Makefile", lambda path: path.write_text("test:\n"), "changed: Makefile"),
    ],
)
def test_what_is_not_fails_and_is_named(project: Path, name: str, spoil: Callable[[Path], object], said: str) -> None:
    gate = guard(project, "tests", "Makefile")
    spoil(project / name)
    found = check(gate, project)
    assert (found.passed, found.exit_code, found.reason) == (False, 1, said)
    assert found.feedback
    assert f"Output (truncated):\n{said}" in found.feedback.text


def test_patterns_choose_files_and_ignore_leaves_some_out(project: Path) -> None:
    gate = guard(project, "tests/**/*.py", ignore=["test_b.py"])
    (project / "tests/test_b.py").write_text("changed")
    (project / "tests/unit/test_a.py").write_text("changed")
    assert differences(gate, project) == ["changed: tests/unit/test_a.py"]


def test_new_files_can_be_forbidden(project: Path) -> None:
    gate = guard(project, "tests", forbidNew=True)
    (project / "tests/conftest.py").write_text("skip all")
    assert differences(gate, project) == ["new: tests/conftest.py"]


def test_a_resumed_run_knows_how_it_began(project: Path) -> None:
    guard(project, "tests")
    (project / "tests/test_b.py").write_text("changed before the resume")
    assert differences(guard(project, "tests"), project) == ["changed: tests/test_b.py"]


def test_a_name_need_not_be_text(project: Path) -> None:
    (Path(os.fsdecode(os.fsencode(project / "tests") + b"/\xff.py"))).write_text("x")
    gate = guard(project, "tests")
    assert check(guard(project, "tests"), project) == check(gate, project)
    assert check(gate, project).passed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "missing required field `paths`"),
        ({"paths": []}, "it takes paths"),
        ({"paths": "tests"}, "Expected `array`"),
        ({"paths": ["tests"], "path": 1}, "unknown field `path`"),
    ],
)
def test_options_it_does_not_take_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(GateOptions(options=options), None)  # type: ignore[arg-type]


def test_a_run_completes_only_when_the_tests_are_put_back(workshop: ProjectFixture) -> None:
    (workshop.repo / "test.sh").write_text("exit 1")
    workshop.settings(guardrails=["sh test.sh || true", {"kind": "files_unchanged", "paths": ["test.sh"]}])
    done = make_result_command("<response>DONE</response>")
    workshop.agent(f"echo 'exit 0' > test.sh; {done}", f"printf 'exit 1' > test.sh; {done}")
    ended = workshop.ralph("run", "-p", "Fix it")
    assert (ended.returncode, workshop.calls) == (0, 2), ended.stdout + ended.stderr
    assert 'Guardrail "files_unchanged test.sh" failed with exit code 1.' in workshop.prompt(2)
    assert "changed: test.sh" in workshop.prompt(2)
