"""The setup command: run once for the same lock files."""

import os
from pathlib import Path

import pytest

from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.preparation import digest_setup, prepare_tree
from ralph.model.errors import MachineError


def test_a_tree_is_prepared_again_only_for_other_lock_files(tmp_path: Path) -> None:
    tree, marks = tmp_path / "tree", str(tmp_path / "marks")
    tree.mkdir()
    with open_short_lived_processes() as processes:

        def prepare(command: str) -> bool:
            return prepare_tree(command, str(tree), marks=marks, environment={"PATH": "/bin"}, processes=processes)

        assert [prepare("echo x >> made"), prepare("echo x >> made")] == [True, False]
        (tree / "uv.lock").write_text("1")
        assert [prepare("echo x >> made"), prepare("echo x >> made")] == [True, False]
        assert (tree / "made").read_text() == "x\nx\n"
        with pytest.raises(MachineError, match="no such thing"):
            prepare("echo no such thing; exit 3")


def test_a_work_tree_made_anew_is_another_even_with_the_same_number(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    before = digest_setup("npm ci", str(tmp_path))
    assert digest_setup("npm ci", str(tmp_path)) == before
    os.utime(tmp_path / ".git", (1, 1))
    assert digest_setup("npm ci", str(tmp_path)) != before
