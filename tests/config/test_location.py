"""Where settings lie."""

import os
import stat
from pathlib import Path

import pytest

from ralph.config.location import LOCAL_SETTINGS_FILE, SETTINGS_FILE, SPECFLOW_FILE, SettingsLocation, locate_settings


def write(folder: Path, name: str = SETTINGS_FILE) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    return file


def locate(start: Path, top: Path | None = None, home: str = "/nowhere") -> SettingsLocation:
    start.mkdir(parents=True, exist_ok=True)
    return locate_settings(str(start), str(top) if top else None, home)


@pytest.mark.parametrize("name", [SETTINGS_FILE, LOCAL_SETTINGS_FILE, SPECFLOW_FILE])
@pytest.mark.parametrize("in_git", [True, False])
def test_settings_above_hold_in_every_folder_below(tmp_path: Path, name: str, in_git: bool) -> None:  # 001-03
    write(tmp_path, name)
    top = tmp_path if in_git else None
    assert locate(tmp_path / "a/b", top) == SettingsLocation(str(tmp_path))
    assert locate(tmp_path, top) == SettingsLocation(str(tmp_path))


def test_the_nearest_settings_win(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path / "a", LOCAL_SETTINGS_FILE)
    assert locate(tmp_path / "a/b", tmp_path).folder == str(tmp_path / "a")
    assert locate(tmp_path / "other", tmp_path).folder == str(tmp_path)


def test_logs_alone_are_no_settings(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path / "a", ".ralph/guardrail_001_make.log")
    assert locate(tmp_path / "a", tmp_path).folder == str(tmp_path)


def test_settings_above_the_repository_do_not_hold_in_it(tmp_path: Path) -> None:
    write(tmp_path)
    assert locate(tmp_path / "repo/a", tmp_path / "repo") == SettingsLocation()


def test_settings_of_the_home_folder_hold_there_and_not_below(tmp_path: Path) -> None:
    write(tmp_path)
    assert locate(tmp_path / "a", home=str(tmp_path)) == SettingsLocation()
    assert locate(tmp_path, home=str(tmp_path)).folder == str(tmp_path)
    assert locate(tmp_path / "a", tmp_path, home=str(tmp_path)).folder == str(tmp_path), "dotfiles are a repository"


def test_settings_where_everyone_puts_files_hold_there_and_not_below(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    write(shared)
    write(tmp_path)
    shared.chmod(0o777 | stat.S_ISVTX)
    assert locate(shared / "a") == SettingsLocation()
    assert locate(shared).folder == str(shared)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_settings_above_are_named_and_ignored(tmp_path: Path) -> None:
    write(tmp_path)
    theirs = write(tmp_path / "a")
    below = tmp_path / "a/b"
    below.mkdir()
    os.chown(theirs, 12345, -1)
    assert locate(below, tmp_path) == SettingsLocation(str(tmp_path), str(theirs))
    assert locate(tmp_path / "a", tmp_path).folder == str(tmp_path / "a"), "who goes there means it"
    os.chown(below, 12345, -1)
    assert locate(below, tmp_path) == SettingsLocation(str(tmp_path / "a")), "all of it is that user's"
