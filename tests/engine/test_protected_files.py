"""prompt.md, prd.md and progress.txt: what an agent loses is put back."""

from pathlib import Path

import pytest

from ralph.engine import protected_files
from ralph.engine.protected_files import ProtectedFiles

TEXTS = {"prompt.md": "Do it.\n", "prd.md": "A door.\n", "progress.txt": "begun\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_gone_or_empty_is_lost_and_can_be_put_back(folder: Path, name: str) -> None:
    files = ProtectedFiles(str(folder))
    (folder / name).unlink()
    assert files.find_changes() == ((name,), ())
    (folder / name).write_text(" \n")
    assert files.find_changes() == ((name,), ())
    files.restore_files([name])
    assert (folder / name).read_text() == TEXTS[name]
    assert files.find_changes() == ((), ())


def test_what_was_rewritten_is_told_once_and_a_log_may_grow(folder: Path) -> None:
    files = ProtectedFiles(str(folder))
    (folder / "prd.md").write_text("A window.\n")
    (folder / "progress.txt").write_text("begun\nhalf done\n")
    assert files.find_changes() == ((), ("prd.md",))
    assert files.find_changes() == ((), ())
    (folder / "progress.txt").unlink()
    files.restore_files(files.find_changes()[0])
    assert (folder / "progress.txt").read_text() == "begun\nhalf done\n"


def test_what_was_never_there_is_not_missed_and_not_rewritten_when_it_comes(folder: Path) -> None:
    (folder / "prd.md").unlink()
    files = ProtectedFiles(str(folder))
    assert files.find_changes() == ((), ())
    (folder / "prd.md").write_text("A door.\n")
    assert files.find_changes() == ((), ())


def test_a_log_that_has_grown_too_large_is_not_lost(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ProtectedFiles(str(folder))

    def read(path: str) -> str:
        raise OSError(27, "File too large")

    monkeypatch.setattr(protected_files, "read_regular_file", read)
    assert files.find_changes() == (("prompt.md", "prd.md"), ())
