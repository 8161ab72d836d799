"""Files that must be there."""

from pathlib import Path

import pytest

from ralph.model.errors import ConfigError
from ralph.verifiers.files_exist import build
from support.claimed import make_claim, make_tools


def reason(folder: Path, *paths: str) -> tuple[bool, str]:
    found = build({"paths": paths}, make_tools()).verify(make_claim(folder))
    return found.verified, found.reason


def test_files_are_there_or_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "jwt.py").touch()
    (tmp_path / "link.py").symlink_to("src/jwt.py")
    assert reason(tmp_path, "src/jwt.py", "link.py") == (True, "All 2 files exist")
    assert reason(tmp_path, "src/jwt.py", "a.py", "b.py") == (False, "Missing files: a.py, b.py")
    assert not reason(tmp_path, "src")[0]  # a folder is no file


def test_what_is_outside_does_not_count(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "outside").touch()
    (tree / "link").symlink_to("../outside")
    for path in ("../outside", str(tmp_path / "outside"), "link", "/etc/passwd", "a\0b"):
        assert reason(tree, path) == (False, f"Missing files: {path}")


def test_no_paths_verify_nothing() -> None:
    with pytest.raises(ConfigError, match="No paths specified"):
        build({}, make_tools())
