"""What an unfinished run left is not the start of the next; what a person did in between is."""

from pathlib import Path

import pytest

from support.repository import open_repository

FIRST, SECOND = "20261116-010203-abcd", "20261116-010204-abcd"


@pytest.mark.parametrize("keeps", [True, False])
def test_only_what_nobody_changed_or_accepted_since_counts_as_the_unfinished_run_s(tmp_path: Path, keeps: bool) -> None:
    with open_repository(tmp_path) as repo:
        for name in ("left", "mended", "accepted", "deleted"):
            (repo.root / name).write_text("before\n")
        first = repo.keeper(FIRST, keeps=keeps)
        first.save_initial_tree()
        for name in ("left", "mended", "accepted", "added"):
            (repo.root / name).write_text("by the agent\n")
        (repo.root / "deleted").unlink()
        first.save_tree_after(1)
        (repo.root / "mended").write_text("by a person\n")
        (repo.root / "new").write_text("by a person\n")
        blobs = {each.path: each.new_blob for each in first.list_changes(first.baseline(), first.tree())}
        first.accepted.add("accepted", blobs["accepted"])
        second = repo.keeper(SECOND, keeps=keeps, unfinished=("20261116-010203-none", FIRST))
        second.save_initial_tree()
        found = second.list_changes(second.baseline(), second.tree())
        assert {(each.path, bool(each.old_blob), bool(each.new_blob)) for each in found} == {
            ("left", True, True),
            ("added", False, True),
            ("deleted", True, False),
        }
