"""Programs that judge: installed ones are fine, replaced ones are not."""

import os
from pathlib import Path

import pytest

from ralph.core.proofs.check_rules import resolve_check
from ralph.engine.outside_settings import find_changed_home_files
from ralph.engine.program_watch import find_changed_programs
from ralph.model.proofs import WorkTime

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

    def find(self, pattern: str) -> list[str]:
        return []


def find(root: Path, command: str, since: float = NEW, **environment: str) -> list[str]:
    rules = [resolve_check(command, NoFiles())]
    variables = {"PATH": "/nowhere", **environment}
    return [
        each.path
        for each in find_changed_programs(rules, root=str(root), environment=variables, since=WorkTime(since=since))
    ]


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


@pytest.mark.parametrize("place", ["node_modules/.bin/pytest", ".venv/lib/python3.11/site-packages/evil.pth"])
@pytest.mark.timeout(20)
def test_a_pipe_in_the_place_of_a_program_is_not_waited_for(tmp_path: Path, place: str) -> None:
    install(tmp_path, ".venv/bin/pytest", "x")
    install(tmp_path, ".venv/pyvenv.cfg", "x")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / place)
    assert find(tmp_path, "pytest && .venv/bin/pytest") is not None


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


def test_a_folder_in_a_path_file_may_hold_what_every_python_runs(tmp_path: Path) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT)
    path = ".venv/lib/python3.11/site-packages/more.pth"
    install(tmp_path, path, f"{tmp_path}/lib\n")
    assert find(tmp_path, ".venv/bin/pytest") == []
    install(tmp_path, "lib/sitecustomize.py", "")
    assert find(tmp_path, ".venv/bin/pytest") == [path]


def test_a_runner_edited_where_it_is_installed(tmp_path: Path) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT)
    site = ".venv/lib/python3.11/site-packages"
    install(tmp_path, f"{site}/_pytest/runner.py", "x")
    assert find(tmp_path, ".venv/bin/pytest") == [f"{site}/_pytest/runner.py"]
    install(tmp_path, f"{site}/pytest-8.dist-info/RECORD", "_pytest/runner.py,sha256=x,1\n")
    assert find(tmp_path, ".venv/bin/pytest") == []  # installed just now


@pytest.mark.parametrize(
    ("command", "name", "found"),
    [
        ("npm test", ".npmrc", True),
        ("bash -lc 'sh check.sh'", ".bash_profile", True),
        ("bash -c 'sh check.sh'", ".bash_profile", False),
        ("cargo test", ".cargo/config.toml", True),
        ("mypy calc.py", ".mypy.ini", True),
        ("ruff check .", ".config/ruff/ruff.toml", True),
        ("sh gen.sh && git diff --exit-code", ".gitconfig", True),
        ("pytest", ".gitconfig", False),
        ("pytest", ".npmrc", False),
    ],
)
def test_settings_in_the_home_folder_that_steer_a_check_are_found(
    tmp_path: Path, command: str, name: str, found: bool
) -> None:
    install(tmp_path, name, "x")
    rules = [resolve_check(command, NoFiles())]

    def find_files(since: float) -> list[str]:
        changes = find_changed_home_files(rules, environment={"HOME": str(tmp_path)}, since=WorkTime(since=since))
        return [change.path for change in changes if change.is_suspect]

    assert find_files(NEW) == ([f"~/{name}"] if found else [])
    assert find_files(OLD) == []


def test_what_an_unfinished_run_replaced_counts_and_what_a_person_did_in_between_does_not(tmp_path: Path) -> None:
    place = install(tmp_path, ".venv/bin/pytest", FAKE)
    at = place.lstat().st_ctime
    rules = [resolve_check(".venv/bin/pytest", NoFiles())]

    def find_replaced(*earlier: tuple[float, float]) -> int:
        worked = WorkTime(since=OLD, earlier=earlier)
        return len(find_changed_programs(rules, root=str(tmp_path), environment={}, since=worked))

    assert (find_replaced((at - 9, at + 9)), find_replaced((at - 9, at - 5)), find_replaced()) == (1, 0, 0)
