"""What becomes of errors of the database."""

import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from ralph.model.errors import MachineError
from ralph.stores.sqlite.database import translate_errors


@pytest.mark.parametrize(("free_blocks", "told"), [(3, "the disk is full"), (1000, "disk I/O error")])
def test_who_cannot_read_for_want_of_room_is_told_that_the_disk_is_full(
    free_blocks: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free_blocks, f_frsize=4096))
    with pytest.raises(MachineError, match=told), translate_errors(str(tmp_path / "ralph.db")):
        raise sqlite3.OperationalError("disk I/O error")
