"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from ralph.config.writing import write_settings, write_through_links
from ralph.model.errors import ConfigError


def test_settings_and_schema_are_written_and_nothing_is_left_over(tmp_path: Path) -> None:
    write_settings(str(tmp_path), {"$schema": "./settings.schema.json", "maximumIterations": 3})
    assert sorted(os.listdir(tmp_path / ".ralph")) == ["settings.json", "settings.schema.json"]
    assert (tmp_path / ".ralph/settings.json").read_text() == (
        '{\n  "$schema": "./settings.schema.json",\n  "maximumIterations": 3\n}\n'
    )


def test_a_failure_keeps_the_old_file_and_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_through_links(str(target), "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:  # 001-07
    (tmp_path / ".ralph").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be written") as caught:
        write_settings(str(tmp_path), {})
    assert caught.value.exit_code == 2


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_through_links(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
