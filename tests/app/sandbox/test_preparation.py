"""The setup command: run once for the same lock files."""

import os
from pathlib import Path

import pytest

from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.preparation import digest_setup, prepare_tree
from ralph.app.sandbox.shared_setup import MAX_SHARED_SETUPS, SharedSetup
from ralph.model.errors import MachineError


def test_a_tree_is_prepared_again_only_for_other_lock_files(tmp_path: Path) -> None:
    tree, marks = tmp_path / "tree", str(tmp_path / "marks")
    tree.mkdir()
    with open_short_lived_processes() as processes:

        def prepare(command: str) -> str:
            return prepare_tree(command, str(tree), marks=marks, environment={"PATH": "/bin"}, processes=processes)

        assert [prepare("echo x >> made"), prepare("echo x >> made")] == ["run", "known"]
        (tree / "uv.lock").write_text("1")
        assert [prepare("echo x >> made"), prepare("echo x >> made")] == ["run", "known"]
        assert (tree / "made").read_text() == "x\nx\n"
        with pytest.raises(MachineError, match="no such thing"):
            prepare("echo no such thing; exit 3")


def test_a_work_tree_made_anew_is_another_even_with_the_same_number(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    before = digest_setup("npm ci", str(tmp_path))
    assert digest_setup("npm ci", str(tmp_path)) == before
    os.utime(tmp_path / ".git", (1, 1))
    assert digest_setup("npm ci", str(tmp_path)) != before


def test_what_one_fresh_tree_installed_serves_the_next_with_the_same_lock_files(tmp_path: Path) -> None:
    marks, installed = str(tmp_path / "marks"), tmp_path / "installed"
    install = "echo x >> ../installs; mkdir -p node_modules/.bin deep/node_modules; echo a > node_modules/a"
    variables = {"PATH": "/bin:/usr/bin"}
    with open_short_lived_processes() as processes:

        def prepare(name: str, command: str = install) -> str:
            tree = tmp_path / name
            (tree / "deep").mkdir(parents=True, exist_ok=True)
            (tree / "package-lock.json").touch()

            def share(digest: str) -> SharedSetup:
                return SharedSetup(str(installed / digest), variables, processes)

            return prepare_tree(
                command, str(tree), marks=marks, environment=variables, processes=processes, share=share
            )

        assert [prepare("one"), prepare("two"), prepare("two")] == ["run", "shared", "known"]
        assert (tmp_path / "two/node_modules/a").read_text() == "a\n"
        assert (tmp_path / "two/deep/node_modules").is_dir()
        (tmp_path / "two/node_modules/a").write_text("changed by an agent\n")
        assert prepare("three") == "shared"
        assert (tmp_path / "three/node_modules/a").read_text() == "a\n", "nobody's changes reach another"
        assert (tmp_path / "installs").read_text() == "x\n"
        more = f"{install}; echo generated > code.js"
        assert [prepare("four", more), prepare("five", more)] == ["run", "run"], "it made more than can be copied"


def test_installations_of_a_few_states_are_kept(tmp_path: Path) -> None:
    with open_short_lived_processes() as processes:
        for number in range(MAX_SHARED_SETUPS + 2):
            tree = tmp_path / f"tree-{number}"
            (tree / "node_modules").mkdir(parents=True)
            assert SharedSetup(str(tmp_path / "installed" / str(number)), {"PATH": "/bin"}, processes).keep(
                str(tree), {}
            )
    assert len([*(tmp_path / "installed").iterdir()]) == MAX_SHARED_SETUPS


@pytest.mark.timeout(20)
def test_a_device_in_the_place_of_a_lock_file_is_not_read(tmp_path: Path) -> None:
    empty = digest_setup("npm ci", str(tmp_path))
    (tmp_path / "package-lock.json").symlink_to("/dev/zero")
    assert digest_setup("npm ci", str(tmp_path)) == empty
