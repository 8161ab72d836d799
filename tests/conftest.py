"""Fixtures for tests that drive the installed program."""

import os
from pathlib import Path

import pytest

from support.pipeline import Pipeline
from support.workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A fresh git repository with a fake claude on PATH."""
    return Workshop(tmp_path)


@pytest.fixture
def pipeline(workshop: Workshop) -> Pipeline:
    """A repository for `ralph execute`."""
    return Pipeline(workshop)


@pytest.fixture(autouse=True)
def _no_ralph_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith(("RALPH_", "CLAUDE")) or name in ("NO_COLOR", "FORCE_COLOR", "TASK_FOLDER"):
            monkeypatch.delenv(name)
