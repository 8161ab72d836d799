"""Installs the checkout as users would, from a wheel into a virtual environment of its own: `install.py VENV`."""

import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-dev.lock"
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", ".cache", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info", "build", "dist", "tests", "bench"
)


def made(home: Path) -> None:
    """A virtual environment with the locked dependencies, made anew when the lock is newer."""
    ready = home / "ready"
    if ready.exists() and ready.stat().st_mtime > max(LOCK.stat().st_mtime, (ROOT / "pyproject.toml").stat().st_mtime):
        return
    venv.create(home, clear=True, with_pip=True)
    # Old pips write `import re` into the console script, which alone costs a third of bare Python.
    pip(home, "install", "--upgrade", "pip>=25.1")
    pip(home, "install", "--constraint", str(LOCK), *dependencies())
    ready.touch()


def dependencies() -> list[str]:
    """What the project needs to run."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [str(each) for each in project["dependencies"]]


def install(home: Path) -> None:
    """Build in a copy: setuptools would leave, and later ship, a stale `build/` in the checkout."""
    with tempfile.TemporaryDirectory(prefix="ralph-bench-wheel-") as scratch:
        source, wheels = Path(scratch, "source"), Path(scratch, "wheels")
        shutil.copytree(ROOT, source, ignore=NOT_SOURCE)
        pip(home, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(source))
        pip(home, "install", "--no-deps", "--force-reinstall", *map(str, wheels.glob("*.whl")))


def pip(home: Path, *arguments: str) -> None:
    """Run the environment's pip; its words go to stderr."""
    subprocess.run(
        [home / "bin" / "python", "-m", "pip", "--quiet", *arguments], check=True, stdout=sys.stderr, timeout=120
    )


def main() -> None:
    """Install, and print where `ralph` is."""
    home = Path(sys.argv[1]).resolve()
    made(home)
    install(home)
    print(home / "bin" / "ralph")


if __name__ == "__main__":
    main()
