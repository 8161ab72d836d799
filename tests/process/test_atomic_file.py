"""Files are written whole or not at all, wherever an agent may have been before."""

import os
import stat
from pathlib import Path

import pytest

from ralph.process.atomic_file import open_regular_file, read_regular_file, remove_path, write_atomic

BOTH = pytest.mark.parametrize("follow_links", [True, False])


@BOTH
def test_a_file_is_replaced_and_nothing_is_left_over(tmp_path: Path, follow_links: bool) -> None:
    target = tmp_path / "new folder/file"
    for text in ("old", "new \udcff"):
        write_atomic(str(target), text, follow_links=follow_links)
    assert target.read_bytes() == b"new \xff"
    assert os.listdir(target.parent) == ["file"]


@BOTH
def test_a_failure_keeps_the_old_file_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow_links: bool
) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(str(target), "new", follow_links=follow_links)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@BOTH
def test_an_interrupted_write_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow_links: bool
) -> None:
    def interrupt(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(str(tmp_path / "file"), "new", follow_links=follow_links)
    assert os.listdir(tmp_path) == []


@BOTH
def test_file_and_folder_are_on_disk_when_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow_links: bool
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(_kind_of(handle)))
    write_atomic(str(tmp_path / "file"), "new", follow_links=follow_links)
    assert synced == ["file", "folder"]


def _kind_of(handle: int) -> str:
    return "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"


def test_a_file_system_that_cannot_sync_folders_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_folders(handle: int) -> None:
        if _kind_of(handle) == "folder":
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse_folders)
    write_atomic(str(tmp_path / "file"), "new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_link_of_the_users_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(str(tmp_path / "link"), "new", follow_links=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_link_of_an_agents_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "link").symlink_to("precious")
    write_atomic(str(tmp_path / "link"), "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("in_the_way", ["file", "folder"])
def test_what_is_in_the_way_of_a_users_file_is_an_error(tmp_path: Path, in_the_way: str) -> None:
    target = tmp_path / ("note/file" if in_the_way == "file" else "note")
    (tmp_path / "note").write_text("mine") if in_the_way == "file" else (tmp_path / "note").mkdir()
    with pytest.raises(OSError, match=r"exists|Is a directory|Not a directory"):
        write_atomic(str(target), "new", follow_links=True)
    assert os.listdir(tmp_path) == ["note"]


def test_what_an_agent_put_in_the_way_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "parent").write_text("kept too")
    (tmp_path / "file").mkdir()
    (tmp_path / "file/inside").write_text("kept")
    write_atomic(str(tmp_path / "parent/file"), "new")
    write_atomic(str(tmp_path / "file"), "new")
    remove_path(str(tmp_path / "file"))
    assert {path.name.rpartition(".")[2] for path in tmp_path.iterdir()} == {"parent", "aside"}
    assert next(tmp_path.glob("file.*.aside/inside")).read_text() == "kept"
    assert next(tmp_path.glob("parent.*.aside")).read_text() == "kept too"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        read_regular_file(str(tmp_path / "pipe"))


def test_a_users_own_file_keeps_its_mode(tmp_path: Path) -> None:
    secret = tmp_path / "settings.local.json"
    secret.write_text("old")
    secret.chmod(0o600)
    write_atomic(str(secret), "new", follow_links=True)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.parametrize("special", ["pipe", "device", "folder"])
def test_only_a_regular_file_is_opened(tmp_path: Path, special: str) -> None:
    path = tmp_path / "it"
    match special:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
    with pytest.raises(OSError, match=r"regular file|Is a directory"):
        open_regular_file(str(path), os.O_RDONLY)
