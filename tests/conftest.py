"""Fixtures for tests that drive the installed program."""

import os
import signal
from pathlib import Path

import pytest

from support.interpreter import put_interpreter_on_path
from support.pipeline import PipelineFixture
from support.scratch import put_scratch_in_memory
from support.workshop import ProjectFixture

put_interpreter_on_path()
# A shell's background ignores both, and every child would inherit that: Ctrl-C could not be tried there.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
pytest.register_assert_rewrite("contracts")  # so that their failures are told as those of other tests


# Whole pipelines, kills, installed packages and state of older versions: a third of the time, and the last to break.
LONG_TESTS = (
    "tests/torture/",
    "tests/extensions/",
    "tests/compat/",
    "tests/tools/",
    "tests/faces/cli/commands/test_demo.py",
    "tests/faces/cli/commands/test_execute",
    "tests/faces/cli/commands/test_story",
    "tests/faces/cli/commands/test_verify_run.py",
    "tests/faces/cli/commands/trees/",
    "tests/faces/cli/test_discretion.py",
)


# The sandboxes that agent CLIs bring themselves put a /dev of their own over what lies in memory.
NEEDS_A_DISK = ("clients", "sandbox", "browser")


def pytest_configure(config: pytest.Config) -> None:
    if not any(mark in config.option.markexpr for mark in NEEDS_A_DISK):
        put_scratch_in_memory()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(LONG_TESTS):
            item.add_marker("long")


@pytest.fixture
def workshop(tmp_path: Path) -> ProjectFixture:
    """A fresh git repository with a fake claude on PATH."""
    return ProjectFixture(tmp_path)


@pytest.fixture
def pipeline(workshop: ProjectFixture) -> PipelineFixture:
    """A repository for `ralph execute`."""
    return PipelineFixture(workshop)


@pytest.fixture(autouse=True)
def _no_ralph_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith(("RALPH_", "CLAUDE")) or name in ("NO_COLOR", "FORCE_COLOR", "TASK_FOLDER"):
            monkeypatch.delenv(name)
