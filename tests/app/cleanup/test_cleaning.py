"""What would be removed of old runs, and what stays whatever its age."""

import os
import time
from pathlib import Path

import pytest

from ralph.app.cleanup.cleaning import clean_up, plan_cleaning, plan_removal_of_all
from ralph.app.cleanup.daily_cleaning import STAMP_NAME, clean_up_once_a_day
from ralph.app.paths import Paths, find_paths
from ralph.app.run_identity import identify_owner
from ralph.app.stores import open_stores
from ralph.model.errors import Busy
from ralph.model.runs import NewRun

DAY = 86_400
OLD, NEW = "20260101-000000-aaaa", "20260102-000000-bbbb"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths(str(tmp_path))


def record_run(paths: Paths, run: str, days_ago: float, *, is_over: bool = True) -> None:
    """With a folder that holds a file of ten bytes."""
    at = time.time() - days_ago * DAY
    owner = identify_owner(os.getpid())
    new = NewRun(id=run, kind="run", folder=paths.folder, agent="x", request=b"{}", owner=owner, started_at=at)
    with open_stores(paths) as stores:
        stores.runs.begin(new)
        if is_over:
            stores.runs.end(run, at, "completed", "")
    os.makedirs(paths.run_dir(run))
    Path(paths.run_dir(run), "events.ndjson").write_text("x" * 10)


def list_recorded(paths: Paths) -> list[str]:
    with open_stores(paths) as stores:
        return [record.id for record in stores.runs.list_latest(9)]


def test_a_run_goes_with_its_folder_once_it_ended_long_ago(paths: Paths) -> None:
    record_run(paths, OLD, 31)
    record_run(paths, NEW, 29)
    plan = plan_cleaning(paths, 30 * DAY, {})
    assert (plan.runs, plan.size) == ((OLD,), 10)
    clean_up(plan, paths, {})
    assert list_recorded(paths) == [NEW]
    assert os.listdir(os.path.dirname(paths.run_dir(NEW))) == [NEW]


def test_a_run_that_has_not_ended_stays(paths: Paths) -> None:
    record_run(paths, OLD, 31, is_over=False)
    assert plan_cleaning(paths, 30 * DAY, {}).is_empty


def test_a_folder_without_a_record_goes_unless_no_run_has_one(paths: Paths) -> None:
    os.makedirs(paths.run_dir("lost"))
    os.utime(paths.run_dir("lost"), (1, 1))
    assert plan_cleaning(paths, DAY, {}).is_empty  # the database may be what was lost
    record_run(paths, NEW, 0)
    assert plan_cleaning(paths, DAY, {}).folders == ("lost",)


def test_a_log_of_a_check_goes_and_a_file_of_the_user_stays(paths: Paths) -> None:
    folder = Path(paths.dot_ralph)
    folder.mkdir()
    for name in ("guardrail_001_make.log", "notes.log"):
        (folder / name).write_text("x")
        os.utime(folder / name, (1, 1))
    plan = plan_cleaning(paths, DAY, {})
    assert [os.path.basename(log) for log in plan.logs] == ["guardrail_001_make.log"]


def test_nothing_is_removed_as_a_whole_while_a_run_is_active(paths: Paths) -> None:
    record_run(paths, NEW, 0, is_over=False)
    with pytest.raises(Busy, match=NEW):
        plan_removal_of_all(paths, {})


def test_later_runs_clean_up_once_a_day_and_not_on_the_first(paths: Paths) -> None:
    record_run(paths, OLD, 31)
    stamp = Path(paths.state, STAMP_NAME)

    def list_left() -> list[str]:
        clean_up_once_a_day(paths, 30, {})
        return list_recorded(paths)

    assert list_left() == [OLD]  # nobody has been told before that it would go
    assert list_left() == [OLD]  # that was today
    os.utime(stamp, (1, 1))
    assert list_left() == []


def test_zero_days_keep_everything(paths: Paths) -> None:
    record_run(paths, OLD, 31)
    Path(paths.state, STAMP_NAME).touch()
    os.utime(Path(paths.state, STAMP_NAME), (1, 1))
    clean_up_once_a_day(paths, 0, {})
    assert list_recorded(paths) == [OLD]
