"""What `make` does on a machine where nothing is set up yet."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


def make(*words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path or os.environ["PATH"], "MAKEFLAGS": ""}
    return subprocess.run(
        [shutil.which("make") or "make", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_the_demo_installs_nothing_for_developers(tmp_path: Path) -> None:  # issue 12
    planned = make("--dry-run", f"VENV={tmp_path}/venv", "demo").stdout
    assert "--editable ." in planned
    assert f"{tmp_path}/venv/bin/ralph demo" in planned
    assert "requirements-dev.lock" not in planned
    assert "requirements-dev.lock" in make("--dry-run", f"VENV={tmp_path}/venv", "test").stdout


@pytest.mark.parametrize(
    ("fails_on", "says"),
    [("version_info", "Python 3.11 or newer is needed"), ("ensurepip", "apt install python3-venv")],
)
def test_what_is_missing_is_said_with_how_to_get_it(tmp_path: Path, fails_on: str, says: str) -> None:  # issue 12
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$2" in *{fails_on}*) exit 1;; esac\n')
    python.chmod(0o755)
    made = make(f"PYTHON={python}", f"VENV={tmp_path}/venv", "demo")
    assert made.returncode == 2
    assert says in made.stderr
    assert not (tmp_path / "venv").exists()


def test_without_git_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    made = make(f"VENV={tmp_path}/venv", "demo", path=str(tmp_path))
    assert made.returncode == 2
    assert "git is missing: apt install git" in made.stderr
