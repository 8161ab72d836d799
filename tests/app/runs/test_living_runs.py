"""Who is announced as living is, and the dead are not."""

import os
from pathlib import Path

from msgspec.structs import replace

from ralph.app.paths import find_paths
from ralph.app.run_identity import identify_owner
from ralph.app.runs.living_runs import announce_run, list_living_runs, withdraw_announcement

HERE = identify_owner(os.getpid())


def list_files(state: Path) -> list[str]:
    return sorted(path.name for path in state.rglob("living/*"))


def test_who_looks_for_living_runs_takes_away_what_the_dead_left(tmp_path: Path) -> None:
    paths, variables = find_paths(str(tmp_path)), {"XDG_STATE_HOME": str(tmp_path / "state")}
    with announce_run("killed", replace(HERE, ticks=1), paths, variables):
        (left,) = tmp_path.rglob("living/killed.json")
        text = left.read_bytes()
    left.write_bytes(text)
    with announce_run("living", HERE, paths, variables):
        assert [living.run for living in list_living_runs(paths, variables)] == ["living"]
        assert list_files(tmp_path) == ["living.json"]
    assert list_files(tmp_path) == []


def test_what_a_crash_tore_is_withdrawn_with_its_run(tmp_path: Path) -> None:
    paths, variables = find_paths(str(tmp_path)), {"XDG_STATE_HOME": str(tmp_path / "state")}
    with announce_run("torn", HERE, paths, variables):
        pass
    (folder,) = tmp_path.rglob("living")
    (folder / "torn.json").write_text("{")
    withdraw_announcement("torn", paths, variables)
    assert list_files(tmp_path) == []
