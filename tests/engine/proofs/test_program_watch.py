"""Programs that judge: installed ones are fine, replaced ones are not."""

import os
import time
from pathlib import Path

import pytest

from ralph.core.proofs.check_rules import resolve_check
from ralph.engine.proofs.program_watch import (
    find_changed_programs,
    find_ignored_protected,
    find_ignored_shadows,
    has_changed_packages,
)
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


def wait_a_moment() -> float:
    """A time between what was written before and what comes; the clock of files is some milliseconds late."""
    began = time.time() + 0.01
    time.sleep(0.03)
    return began


@pytest.mark.parametrize(
    ("command", "path", "text", "found"),
    [
        (".venv/bin/pytest", ".venv/bin/pytest", FAKE, True),
        (".venv/bin/pytest", ".venv/bin/pytest", CONSOLE_SCRIPT, False),
        (".venv/bin/pytest", ".venv/bin/pytest", CONSOLE_SCRIPT.replace("import re", "import os; os._exit(0)"), True),
        ("uv run pytest", ".venv/bin/pytest", FAKE, True),
        ("npx jest", "node_modules/.bin/jest", FAKE, True),
        (".venv/bin/pytest", ".venv/bin/pytest", "#!/x/bin/python\nimport sys\n", True),  # it calls nothing
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


def test_a_replaced_program_is_told_with_its_check(tmp_path: Path) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", FAKE)
    install(tmp_path, ".venv/lib/python3.11/site-packages/sitecustomize.py", "")
    rules = [resolve_check(".venv/bin/pytest", NoFiles())]
    found = find_changed_programs(rules, root=str(tmp_path), environment={}, since=WorkTime(since=NEW))
    assert [(each.check, each.reason) for each in found] == [
        (".venv/bin/pytest", "replaced, and not by an installer"),
        (".venv/bin/pytest", "is run at the start of every Python"),
    ]


def test_a_program_of_a_package_somewhere_in_the_project_is_no_file_of_the_project(tmp_path: Path) -> None:
    install(tmp_path, "web/node_modules/.bin/jest", FAKE)
    assert find(tmp_path, "web/node_modules/.bin/jest") == ["web/node_modules/.bin/jest"]


def test_a_link_counts_by_what_it_leads_to_and_by_when_it_was_made(tmp_path: Path) -> None:
    link = tmp_path / ".venv/bin/pytest"
    old = install(tmp_path, "elsewhere/old", FAKE)
    install(tmp_path, "elsewhere/new", FAKE)
    link.parent.mkdir(parents=True)
    link.symlink_to(old)
    began = wait_a_moment()
    assert find(tmp_path, ".venv/bin/pytest", began) == []
    install(tmp_path, "elsewhere/old", "#!/bin/sh\ntrue\n")
    assert find(tmp_path, ".venv/bin/pytest", began) == [".venv/bin/pytest"]
    began = wait_a_moment()
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere/new")
    assert find(tmp_path, ".venv/bin/pytest", began) == [], "it has always been there"


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


@pytest.mark.parametrize("package", ["jest", "@scope/jest"])
def test_installed_packages_of_node_are_links(tmp_path: Path, package: str) -> None:
    install(tmp_path, f"node_modules/{package}/bin/jest.js", "x")
    install(tmp_path, f"node_modules/{package}/package.json", "{}")
    (tmp_path / "node_modules/.bin").mkdir()
    (tmp_path / "node_modules/.bin/jest").symlink_to(f"../{package}/bin/jest.js")
    assert find(tmp_path, "npx jest") == []


@pytest.mark.parametrize("package", ["jest", "@scope/jest"])
def test_a_package_of_node_that_was_edited_where_it_is_installed(tmp_path: Path, package: str) -> None:
    install(tmp_path, f"node_modules/{package}/bin/jest.js", "x")
    install(tmp_path, f"node_modules/{package}/package.json", "{}")
    (tmp_path / "node_modules/.bin").mkdir()
    link = tmp_path / "node_modules/.bin/jest"
    link.symlink_to(f"../{package}/bin/jest.js")
    began = wait_a_moment()
    link.unlink()
    link.symlink_to(f"../{package}/bin/jest.js")
    assert find(tmp_path, "npx jest", began) == []
    install(tmp_path, f"node_modules/{package}/bin/jest.js", "process.exit(0)")
    assert find(tmp_path, "npx jest", began) == ["node_modules/.bin/jest"]


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
    install(tmp_path, "lib/other.py", "")
    assert find(tmp_path, ".venv/bin/pytest") == []
    install(tmp_path, "lib/sitecustomize.py", "")
    assert find(tmp_path, ".venv/bin/pytest") == [path]


def test_a_runner_edited_where_it_is_installed(tmp_path: Path) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT)
    site = ".venv/lib/python3.11/site-packages"
    install(tmp_path, f"{site}/_pytest/main.py", "x")
    install(tmp_path, f"{site}/sitecustomize.py", "of the system")
    install(tmp_path, f"{site}/pytest-8.dist-info/RECORD", "_pytest/main.py,sha256=x,1\n")
    began = wait_a_moment()
    install(tmp_path, f"{site}/_pytest/runner.py", "x")
    for other in ("_pytest/notes.txt", "_pytest/__pycache__/runner.py", "third/x.py", "other-1.dist-info/RECORD"):
        install(tmp_path, f"{site}/{other}", "other/x.py,sha256=x,1\n")
    assert find(tmp_path, ".venv/bin/pytest", began) == [f"{site}/_pytest/runner.py"]
    install(tmp_path, f"{site}/pytest-8.dist-info/RECORD", "_pytest/runner.py,sha256=x,1\n")
    assert find(tmp_path, ".venv/bin/pytest", began) == []  # installed just now


def test_what_an_unfinished_run_replaced_counts_and_what_a_person_did_in_between_does_not(tmp_path: Path) -> None:
    place = install(tmp_path, ".venv/bin/pytest", FAKE)
    at = place.lstat().st_ctime
    rules = [resolve_check(".venv/bin/pytest", NoFiles())]

    def find_replaced(*earlier: tuple[float, float]) -> int:
        worked = WorkTime(since=OLD, earlier=earlier)
        return len(find_changed_programs(rules, root=str(tmp_path), environment={}, since=worked))

    assert (find_replaced((at - 9, at + 9)), find_replaced((at - 9, at - 5)), find_replaced()) == (1, 0, 0)


def test_files_that_would_be_taken_for_something_else_are_found_though_git_ignores_them(tmp_path: Path) -> None:
    install(tmp_path, "pytest/__init__.py", "")
    install(tmp_path, "other.py", "")
    rules = [resolve_check("pytest", NoFiles())]
    found = [*find_ignored_shadows(rules, root=str(tmp_path), since=WorkTime(since=NEW))]
    said = [(each.path, each.kind, each.reason, each.check) for each in found]
    assert said == [("pytest/__init__.py", "shadowed", "would be imported as pytest", "pytest")]
    assert [*find_ignored_shadows(rules, root=str(tmp_path), since=WorkTime(since=OLD))] == []


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["conf/*.env"], ["conf/.local.env", "conf/a.env"]),
        (["/conf/a.env"], ["conf/a.env"]),
        (["*.env"], ["conf/.local.env", "conf/a.env", "conf/deep/b.env"]),
        (["conf/**/*.env"], ["conf/.local.env", "conf/a.env", "conf/deep/b.env"]),
        (["conf/a.env", "b.env"], ["conf/a.env", "conf/deep/b.env"]),
        (["conf/none"], []),
        ([], []),
    ],
)
def test_protected_files_are_found_though_git_ignores_them(
    tmp_path: Path, patterns: list[str], found: list[str]
) -> None:
    install(tmp_path, "conf/old.env", "")
    began = wait_a_moment()
    for path in ("conf/a.env", "conf/.local.env", "conf/deep/b.env", "conf/other", ".git/c.env", ".venv/d.env"):
        install(tmp_path, path, "")
    (tmp_path / "conf/folder.env").mkdir()
    changes = [*find_ignored_protected(patterns, root=str(tmp_path), since=WorkTime(since=began))]
    assert sorted({change.path for change in changes}) == found
    assert {(each.kind, each.reason, each.protected) for each in changes} <= {("changed", "git ignores it", True)}


def test_packages_that_came_or_went_are_noticed_beside_the_program_and_in_the_home_folder(tmp_path: Path) -> None:
    install(tmp_path, ".venv/pyvenv.cfg", "")
    install(tmp_path, ".venv/bin/pytest", CONSOLE_SCRIPT)
    places = [tmp_path / ".venv/lib/python3.11/site-packages", tmp_path / "home/.local/lib/python3.11/site-packages"]
    for place in places:
        place.mkdir(parents=True)
    rule = resolve_check(".venv/bin/pytest", NoFiles())

    def has_changed(since: float) -> bool:
        environment = {"HOME": str(tmp_path / "home")}
        return has_changed_packages(rule, root=str(tmp_path), environment=environment, since=WorkTime(since=since))

    for place in places:
        began = wait_a_moment()
        assert not has_changed(began)
        (place / "new").mkdir()
        assert has_changed(began)
