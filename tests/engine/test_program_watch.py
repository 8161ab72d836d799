"""Programs that judge: installed ones are fine, replaced ones are not."""

import os
from pathlib import Path

import pytest

from ralph.core.proofs.check_rules import resolve_check
from ralph.engine.program_watch import find_changed_programs

OLD, NEW = 10_000_000_000.0, 0.0  # a run that began after, and before all files of today
CONSOLE_SCRIPT = (
    "#!/x/bin/python\n# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom pytest import console_main\n"
    "if __name__ == '__main__':\n    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n"
    "    sys.exit(console_main())\n"
)
FAKE = "#!/bin/sh\nexit 0\n"


class NoFiles:
    def read(self, path: str) -> str | None:
        return None


def find(root: Path, command: str, since: float = NEW, **environment: str) -> list[str]:
    rules = [resolve_check(command, NoFiles())]
    variables = {"PATH": "/nowhere", **environment}
    return [each.path for each in find_changed_programs(rules, root=str(root), environment=variables, since=since)]


def install(root: Path, path: str, text: str) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


@pytest.mark.parametrize(
    ("command", "path", "text", "found"),
    [
        (".venv/bin/pytest", ".venv/bin/pytest", FAKE, True),
        (".venv/bin/pytest", ".venv/bin/pytest", CONSOLE_SCRIPT, False),
        (".venv/bin/pytest", ".venv/bin/pytest", CONSOLE_SCRIPT.replace("import re", "import os; os._exit(0)"), True),
        ("uv run pytest", ".venv/bin/pytest", FAKE, True),
        ("npx jest", "node_modules/.bin/jest", FAKE, True),
        ("npx jest", "node_modules/.bin/jest", '#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/x"\n', False),
        ("pytest", ".venv/bin/pytest", FAKE, False),  # nobody runs it
        ("./check.sh", "check.sh", FAKE, False),  # a file of the project: its tree tells
    ],
)
def test_what_no_installer_leaves_is_a_replacement(
    tmp_path: Path, command: str, path: str, text: str, found: bool
) -> None:
    install(tmp_path, path, text)
    assert find(tmp_path, command) == ([path] if found else [])
    assert find(tmp_path, command, OLD) == []


def test_a_launcher_of_a_module_of_the_project_was_not_installed(tmp_path: Path) -> None:
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT.replace("from pytest", "from fake"))
    assert find(tmp_path, ".venv/bin/pytest") == []
    install(tmp_path, "fake.py", "")
    assert find(tmp_path, ".venv/bin/pytest") == [".venv/bin/pytest"]


def test_a_program_on_the_path_counts_wherever_it_is(tmp_path: Path) -> None:
    program = install(tmp_path, "home/bin/pytest", FAKE)
    assert find(tmp_path / "project", "pytest", PATH=str(program.parent)) == [str(program)]


def test_a_link_to_a_python_that_was_there_is_fine(tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(os.path.realpath("/bin/sh"))
    assert find(tmp_path, ".venv/bin/python -m pytest") == []


def test_installed_packages_of_node_are_links(tmp_path: Path) -> None:
    install(tmp_path, "node_modules/jest/bin/jest.js", "x")
    install(tmp_path, "node_modules/jest/package.json", "{}")
    (tmp_path / "node_modules/.bin").mkdir()
    (tmp_path / "node_modules/.bin/jest").symlink_to("../jest/bin/jest.js")
    assert find(tmp_path, "npx jest") == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("sitecustomize.py", "", True),
        ("evil.pth", "import os; os._exit(0)\n", True),
        ("__editable__.x.pth", "/home/me/project/src\n", False),
        ("_virtualenv.pth", "import _virtualenv\n", False),
        ("x.py", "", False),
    ],
)
def test_what_every_python_runs_at_its_start(tmp_path: Path, name: str, text: str, found: bool) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT)
    path = f".venv/lib/python3.11/site-packages/{name}"
    install(tmp_path, path, text)
    assert find(tmp_path, ".venv/bin/pytest") == ([path] if found else [])


def test_a_runner_edited_where_it_is_installed(tmp_path: Path) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT)
    site = ".venv/lib/python3.11/site-packages"
    install(tmp_path, f"{site}/_pytest/runner.py", "x")
    assert find(tmp_path, ".venv/bin/pytest") == [f"{site}/_pytest/runner.py"]
    install(tmp_path, f"{site}/pytest-8.dist-info/RECORD", "_pytest/runner.py,sha256=x,1\n")
    assert find(tmp_path, ".venv/bin/pytest") == []  # installed just now
