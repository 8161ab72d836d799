"""Runs the tests with every Python we support that is installed here, one after the other, each in a virtual
environment of its own (`make test-pythons`). One that is not installed is named and skipped."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLASSIFIER = re.compile(r'"Programming Language :: Python :: (3\.\d+)"')
QUESTION = "import sys; print('%d.%d' % sys.version_info[:2])"


def list_supported_versions(project: str) -> list[str]:
    """Those our classifiers name."""
    return CLASSIFIER.findall(project)


def list_candidates(version: str, path: str, pyenv: Path) -> Iterable[str]:
    """Where an interpreter of that version may be: on PATH, and among pyenv's, of which PATH has only one."""
    for folder in filter(None, path.split(os.pathsep)):
        yield os.path.join(folder, f"python{version}")
    for found in sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True):
        yield str(found)


def find_python(version: str, candidates: Iterable[str]) -> str:
    """The first that starts and is what it is called: a shim of pyenv may be there without it; empty without any."""
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            asked = subprocess.run([candidate, "-c", QUESTION], capture_output=True, text=True, check=False)
            if asked.stdout.strip() == version:
                return candidate
    return ""


def run_tests(version: str, python: str) -> bool:
    words = ["make", "--no-print-directory", f"VENV=.venv-{version}", f"PYTHON={python}", "test"]
    return subprocess.run(words, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    results = {}
    for version in sys.argv[1:] or list_supported_versions((ROOT / "pyproject.toml").read_text(encoding="utf-8")):
        python = find_python(version, list_candidates(version, os.environ.get("PATH", ""), pyenv))
        print(f"Python {version}: {python or 'not installed'}", flush=True)
        results[version] = ("passed" if run_tests(version, python) else "FAILED") if python else "not installed"
    print("\n".join(f"Python {version}: {result}" for version, result in results.items()))
    return 1 if "FAILED" in results.values() else 0


if __name__ == "__main__":
    sys.exit(main())
