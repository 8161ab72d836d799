"""What a repository should not keep of us."""

from pathlib import Path

import pytest

from ralph.app.setup.gitignore import find_missing_ignores, ignore_lines, ignore_logs
from ralph.core.own_files import GITIGNORE_LINES

LINES = "".join(f"{line}\n" for line in GITIGNORE_LINES).encode()


def repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")


@pytest.mark.parametrize(  # 001-33
    ("text", "missing"),
    [
        (None, GITIGNORE_LINES),
        ("*.pyc\n", GITIGNORE_LINES),
        (".ralph/*.log\n", GITIGNORE_LINES[1:]),
        ("\r\n".join(f" /{line} " for line in GITIGNORE_LINES), ()),
        (".ralph/\n", ()),
        ("# .ralph/\n", GITIGNORE_LINES),
    ],
)
def test_what_gitignore_lacks(tmp_path: Path, text: str | None, missing: tuple[str, ...]) -> None:
    if text is not None:
        (tmp_path / ".gitignore").write_bytes(text.encode())
    assert find_missing_ignores(str(tmp_path)) == missing


def test_outside_git_nothing_is_ignored(tmp_path: Path) -> None:
    assert ignore_logs(str(tmp_path)) == ""
    assert not (tmp_path / ".gitignore").exists()


@pytest.mark.parametrize(  # 001-33
    ("before", "after"),
    [
        (None, LINES),
        (b"*.pyc", b"*.pyc\n" + LINES),
        (b"*.pyc\r\n", b"*.pyc\r\n" + LINES.replace(b"\n", b"\r\n")),
        (b".ralph/*.log\n", LINES),
    ],
)
def test_gitignore_is_completed_once(tmp_path: Path, before: bytes | None, after: bytes) -> None:
    repository(tmp_path)
    if before is not None:
        (tmp_path / ".gitignore").write_bytes(before)
    assert ignore_logs(str(tmp_path)).startswith("Added .ralph/")
    assert (tmp_path / ".gitignore").read_bytes() == after
    assert ignore_logs(str(tmp_path)) == ""
    assert (tmp_path / ".gitignore").read_bytes() == after


def test_a_gitignore_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").mkdir()
    assert ignore_logs(str(tmp_path)).startswith(f"Could not add {', '.join(GITIGNORE_LINES)} to .gitignore: ")


def test_any_line_is_added_once_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"\xff\n/there")
    (tmp_path / ".gitignore").symlink_to("real")
    assert ignore_lines(str(tmp_path), ["there", "new"]) == "Added new to .gitignore"
    assert ignore_lines(str(tmp_path), ["there", "new"]) == ""
    assert (tmp_path / "real").read_bytes() == b"\xff\n/there\nnew\n"
    assert (tmp_path / ".gitignore").is_symlink()
