"""A link that an agent puts where ralph reads or writes leads nobody out of the sandbox."""

import os
from pathlib import Path

import pytest

from ralph.app.paths import find_paths
from ralph.app.sandbox.plan import SandboxRequest, list_used_files
from ralph.app.sandbox.used_files import UsedFiles
from ralph.config.schema import SandboxSettings
from ralph.model.errors import MachineError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("tree/.git/ralph", "tree/deep/runs", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tree/.git/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("outside/key", "tree/plain.md", "tree/.git/ralph/ralph.db"):
        (tmp_path / name).write_text("x")
    return tmp_path / "tree"


def used(tree: Path, *paths: str, folders: tuple[str, ...] = ()) -> UsedFiles:
    request = SandboxRequest(
        run="r",
        paths=find_paths(str(tree)),
        settings=SandboxSettings(),
        used=[os.path.abspath(tree / path) for path in paths],
        used_folders=[str(tree / path) for path in folders],
        variables={},
    )
    return list_used_files(request)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("prompt.md", "../outside/key"),
        ("deep/prompt.md", "../../outside/key"),
        ("prompt.md", "../nowhere"),
        ("prompt.md", ".git/ralph/ralph.db"),
    ],
)
def test_a_link_out_is_removed(tree: Path, link: str, target: str) -> None:
    (tree / link).symlink_to(target)
    used(tree, link).remove_links_out()
    assert not (tree / link).is_symlink()


def test_a_folder_on_the_way_that_became_a_link_is_removed_and_nothing_behind_it(tree: Path) -> None:
    (tree / "deep").rename(tree / "away")
    (tree / "deep").symlink_to("../outside")
    used(tree, "deep/key").remove_links_out()
    assert not (tree / "deep").is_symlink()
    assert (tree.parent / "outside/key").read_text() == "x"


def test_what_is_right_in_a_used_folder_counts_and_so_does_the_folder(tree: Path) -> None:
    (tree / "deep/runs/one").symlink_to("../../../outside")
    used(tree, folders=("deep/runs",)).remove_links_out()
    assert not (tree / "deep/runs/one").is_symlink()
    (tree / "deep/runs").rmdir()
    (tree / "deep/runs").symlink_to("../../outside")
    used(tree, folders=("deep/runs",)).remove_links_out()
    assert not (tree / "deep/runs").is_symlink()


def test_files_and_links_within_the_tree_stay(tree: Path) -> None:
    (tree / "prompt.md").symlink_to("plain.md")
    files = used(tree, "prompt.md", "plain.md", "none.md")
    files.refuse_links_out()
    files.remove_links_out()
    assert (tree / "prompt.md").read_text() == "x"


def test_a_file_outside_that_the_user_named_is_nobodys_business(tree: Path) -> None:
    (tree.parent / "own.md").symlink_to("outside/key")
    files = used(tree, "../own.md")
    files.refuse_links_out()
    files.remove_links_out()
    assert (tree.parent / "own.md").is_symlink()


def test_before_the_first_agent_a_link_out_is_refused_and_stays(tree: Path) -> None:
    (tree / "prompt.md").symlink_to("../outside/key")
    with pytest.raises(MachineError, match="outside of the sandbox"):
        used(tree, "prompt.md").refuse_links_out()
    assert (tree / "prompt.md").is_symlink()
