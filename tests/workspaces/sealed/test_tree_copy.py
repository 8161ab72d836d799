"""Files that are put where others are: whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from ralph.workspaces.sealed.tree_copy import put_file, remove_file


def fail(*args: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def list_all(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("there", ["nothing", "a file", "a link", "a folder"])
@pytest.mark.parametrize(("mode", "is_link"), [("100644", False), ("100755", False), ("120000", True)])
def test_it_takes_the_place_of_whatever_is_there(tmp_path: Path, there: str, mode: str, is_link: bool) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / "in").mkdir()
    lay_out(tmp_path / "in/a", there, tmp_path / "elsewhere")
    put_file(str(tmp_path), "in/a", b"new", mode)
    assert (tmp_path / "in/a").is_symlink() is is_link
    if is_link:
        assert os.readlink(tmp_path / "in/a") == "new"
    else:
        assert (tmp_path / "in/a").read_text() == "new"
        assert bool((tmp_path / "in/a").stat().st_mode & 0o100) is (mode == "100755")
    assert list_all(tmp_path) == ["elsewhere", "in", "in/a"]
    assert (tmp_path / "elsewhere").read_text() == "theirs"


def lay_out(path: Path, what: str, target: Path) -> None:
    match what:
        case "a file":
            path.write_text("old")
        case "a link":
            path.symlink_to(target)
        case "a folder":
            path.mkdir()
            (path / "deep").write_text("old")


@pytest.mark.parametrize("there", ["nothing", "a file", "a folder"])
@pytest.mark.parametrize("call", ["fchmod", "replace"])
def test_what_finds_no_room_leaves_no_half_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, call: str
) -> None:
    lay_out(tmp_path / "a", there, tmp_path)
    before = list_all(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError, match="No space"):
            put_file(str(tmp_path), "a", b"new", "100644")
    if not (call == "replace" and there == "a folder"):  # a folder cannot be replaced, and gives way at last
        assert list_all(tmp_path) == before
    assert not [*tmp_path.glob(".ralph-draft-*")]


@pytest.mark.parametrize("there", ["nothing", "a file", "a link", "a folder"])
def test_what_is_removed_is_not_there(tmp_path: Path, there: str) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    lay_out(tmp_path / "a", there, tmp_path / "elsewhere")
    remove_file(str(tmp_path), "a")
    assert list_all(tmp_path) == ["elsewhere"]


@pytest.mark.parametrize("act", [lambda at: put_file(at, "in/a", b"new", "100644"), lambda at: remove_file(at, "in/a")])
def test_no_link_on_the_way_leads_elsewhere(tmp_path: Path, act: object) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a").write_text("theirs")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/in").symlink_to(tmp_path / "elsewhere")
    act(str(tmp_path / "root"))  # type: ignore[operator]  # one of the two above
    assert (tmp_path / "elsewhere/a").read_text() == "theirs"
    assert not (tmp_path / "root/in").is_symlink()
