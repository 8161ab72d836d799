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
put_scratch_in_memory()
# A shell's background ignores both, and every child would inherit that: Ctrl-C could not be tried there.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
pytest.register_assert_rewrite("contracts")  # so that their failures are told as those of other tests


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
