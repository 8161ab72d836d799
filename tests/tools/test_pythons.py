"""Which Pythons `make test-pythons` finds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from pythons import find_python, list_candidates, list_supported_versions

PROJECT = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")


def make_python(path: Path, version: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


def test_the_classifiers_name_what_we_support() -> None:
    assert list_supported_versions(PROJECT) == ["3.11", "3.12", "3.13", "3.14"]


def test_path_comes_first_and_a_shim_without_its_python_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "shims").mkdir()
    shim = tmp_path / "shims/python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    make_python(tmp_path / "wrong/python3.12", "3.11")
    of_pyenv = make_python(tmp_path / "pyenv/versions/3.12.4/bin/python3.12", "3.12")

    def find(*folders: str) -> str:
        path = ":".join(str(tmp_path / folder) for folder in folders)
        return find_python("3.12", list_candidates("3.12", path, tmp_path / "pyenv"))

    assert find("shims", "wrong", "gone") == of_pyenv
    on_path = make_python(tmp_path / "bin/python3.12", "3.12")
    assert find("shims", "bin") == on_path
    assert find_python("3.13", list_candidates("3.13", "", tmp_path)) == ""
