"""Which runs are dead, which live, and of which nobody can tell."""

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.app.paths import find_paths
from ralph.app.run_identity import identify_owner
from ralph.app.runs.recovery import (
    ABANDONED_SECONDS,
    LEASE_SECONDS,
    clean_up_lost_runs,
    find_run_liveness,
    mark_lost_runs,
)
from ralph.model.runs import NewRun, RunOwner
from ralph.process.identity import Liveness
from support.stores import connect

RUN = "20260101-000000-abcd"
HERE = identify_owner(os.getpid())
ELSEWHERE = replace(HERE, pid=1, pid_namespace=1)  # as a container sees it
OTHER_MACHINE = replace(HERE, pid=1, boot="its own", host="another")


def record_run(folder: Path, owner: RunOwner, silence: float) -> None:
    now = time.time()
    connect(find_paths(str(folder)).database).runs.begin(
        NewRun(
            id=RUN, kind="run", folder=str(folder), agent="claude", request=b"{}", owner=owner, started_at=now - silence
        )
    )


@pytest.mark.parametrize(
    ("owner", "silence", "found"),
    [
        (HERE, 1e6, "alive"),
        (replace(HERE, ticks=1), 0.0, "dead"),
        (replace(HERE, boot="before"), 0.0, "dead"),
        (replace(HERE, host="", pid_namespace=0), 1e6, "alive"),  # on record before there was more than a pid
        (ELSEWHERE, LEASE_SECONDS / 2, "alive"),
        (ELSEWHERE, LEASE_SECONDS * 2, "unknown"),
        (ELSEWHERE, ABANDONED_SECONDS * 2, "dead"),
        (OTHER_MACHINE, LEASE_SECONDS / 2, "alive"),
        (OTHER_MACHINE, LEASE_SECONDS * 2, "unknown"),
    ],
)
def test_signs_of_life_decide_where_pids_cannot(
    tmp_path: Path, owner: RunOwner, silence: float, found: Liveness
) -> None:
    record_run(tmp_path, owner, silence)
    paths = find_paths(str(tmp_path))
    stores = connect(paths.database)
    record = stores.runs.find_record(RUN)
    assert record
    assert find_run_liveness(record) == found
    mark_lost_runs(stores)
    clean_up_lost_runs(stores, paths)
    after = stores.runs.find_record(RUN)
    assert after
    assert (after.outcome == "lost") == (found == "dead")  # what nobody can tell changes nothing


def test_a_beat_is_a_sign_of_life(tmp_path: Path) -> None:
    record_run(tmp_path, ELSEWHERE, LEASE_SECONDS * 2)
    runs = connect(find_paths(str(tmp_path)).database).runs
    runs.beat(RUN, time.time())
    record = runs.find_record(RUN)
    assert record
    assert find_run_liveness(record) == "alive"
