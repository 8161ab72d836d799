"""Settings and their schema."""

import os
from pathlib import Path

import pytest

from ralph.config.writing import write_settings
from ralph.model.errors import ConfigError


def test_settings_and_schema_are_written_and_nothing_is_left_over(tmp_path: Path) -> None:
    write_settings(str(tmp_path), {"$schema": "./settings.schema.json", "maximumIterations": 3})
    assert sorted(os.listdir(tmp_path / ".ralph")) == ["settings.json", "settings.schema.json"]
    assert (tmp_path / ".ralph/settings.json").read_text() == (
        '{\n  "$schema": "./settings.schema.json",\n  "maximumIterations": 3\n}\n'
    )


def test_a_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:  # 001-07
    (tmp_path / ".ralph").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be written") as caught:
        write_settings(str(tmp_path), {})
    assert caught.value.exit_code == 2
