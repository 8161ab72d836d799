"""Caches that an agent could have written are removed before checks; nothing else is."""

import time
from pathlib import Path

import pytest

from ralph.engine.proofs import stale_caches
from ralph.engine.proofs.stale_caches import remove_new_bytecode, remove_new_test_cache

BYTECODE = "__pycache__/calc.cpython-311.pyc"


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")


def list_files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_compiled_python_that_is_new_is_removed_everywhere_but_where_it_is_installed(tmp_path: Path) -> None:
    kept = (
        "__pycache__/keep.txt",
        "loose.pyc",
        f"env/lib/{BYTECODE}",
        "env/pyvenv.cfg",
        f"node_modules/x/{BYTECODE}",
        f".git/{BYTECODE}",
    )
    write(tmp_path, *kept, BYTECODE, f"src/deep/{BYTECODE}")
    assert remove_new_bytecode(str(tmp_path), since=0.0) == 2
    assert list_files(tmp_path) == sorted(kept)


def test_what_was_there_before_the_run_stays(tmp_path: Path) -> None:
    write(tmp_path, BYTECODE, ".pytest_cache/v/cache/lastfailed")
    later = time.time() + 60
    assert (remove_new_bytecode(str(tmp_path), later), remove_new_test_cache(str(tmp_path), later)) == (0, 0)
    assert len(list_files(tmp_path)) == 2


def test_of_pytests_cache_goes_what_selects_tests(tmp_path: Path) -> None:
    write(tmp_path, *(f".pytest_cache/v/cache/{name}" for name in ("lastfailed", "stepwise", "nodeids", "other")))
    assert remove_new_test_cache(str(tmp_path), since=0.0) == 3
    assert list_files(tmp_path) == [".pytest_cache/v/cache/other"]
    assert remove_new_test_cache(str(tmp_path / "nowhere"), since=0.0) == 0


def test_a_tree_without_end_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale_caches, "MAX_VISITED_FOLDERS", 3)
    write(tmp_path, *(f"{'d/' * depth}{BYTECODE}" for depth in range(9)))
    assert remove_new_bytecode(str(tmp_path), since=0.0) < 4
