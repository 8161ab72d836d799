"""What an agent said last before its run was killed: believed where its log ends with its own closing event."""

from pathlib import Path

import msgspec
import pytest

from ralph.app.paths import find_paths
from ralph.app.runs.recovery import clean_up_lost_runs
from ralph.app.runs.spending import list_expenses, sum_expenses
from ralph.engine.agent_run import CallNote
from ralph.model.loop import Began, Brief, Decision, Limits, Observation, Reported, RunAgent, TakeSnapshot
from ralph.model.runs import NewRun, RunOwner
from support.scripted_processes import say
from support.stores import connect

RUN, STARTED_AT = "20260101-000000-abcd", 1_700_000_000.0
DEAD = RunOwner(pid=1, ticks=1, boot="of another boot", guardian=1, guardian_ticks=1)
CLOSED = say("<response>DONE</response>", 0.25).stdout
CUT_OFF = CLOSED[: len(CLOSED) // 2]


def leave_dead_run(folder: Path, log: bytes, *, called_at: float = STARTED_AT + 1) -> None:
    """A run whose last word is that an agent is to be started, and what that agent printed."""
    paths = find_paths(str(folder))
    runs = connect(paths.database).runs
    new = NewRun(
        id=RUN, kind="run", folder=str(folder), agent="claude", request=b"{}", owner=DEAD, started_at=STARTED_AT
    )
    runs.begin(new)
    seen = msgspec.json.encode(Observation(fact=Began(Limits()), wall=STARTED_AT))
    decision = msgspec.json.encode(RunAgent(Brief(iteration=1, limit=10)))
    runs.append((*(RUN, 1, STARTED_AT, 0.0), *(1, 10, None, "run_agent"), *(seen, decision)))
    run_dir = Path(paths.run_dir(RUN))
    run_dir.mkdir(parents=True)
    note = CallNote(adapter="claude", mode="stream", stdout="agent_001.log", started_at=called_at)
    (run_dir / "call.json").write_bytes(msgspec.json.encode(note))
    (run_dir / "agent_001.log").write_bytes(log)


def test_a_log_that_ends_with_the_agents_result_stands_for_the_row_that_is_missing(tmp_path: Path) -> None:
    leave_dead_run(tmp_path, CLOSED)
    paths = find_paths(str(tmp_path))
    stores = connect(paths.database)
    clean_up_lost_runs(stores, paths)
    clean_up_lost_runs(stores, paths)  # once is enough
    (_, last) = stores.runs.list_transitions(RUN)
    fact = msgspec.json.decode(last[0], type=Observation).fact
    assert isinstance(fact, Reported)
    assert (fact.outcome, fact.cost_usd, fact.unseen) == ("finished", 0.25, True)
    assert fact.text == "<response>DONE</response>"
    assert msgspec.json.decode(last[1], type=Decision) == TakeSnapshot(1)


def test_every_cent_is_counted_before_anyone_resumes(tmp_path: Path) -> None:
    leave_dead_run(tmp_path, CLOSED)
    paths = find_paths(str(tmp_path))
    assert sum_expenses(list_expenses(paths, 0.0)).cost_usd == 0.25
    assert sum_expenses(list_expenses(paths, 0.0)).cost_usd == 0.25


@pytest.mark.parametrize(
    ("log", "called_at"),
    [
        (CUT_OFF, STARTED_AT + 1),
        (b"", STARTED_AT + 1),
        (b"all done\n", STARTED_AT + 1),
        (CLOSED, STARTED_AT - 1),  # of the agent before
    ],
)
def test_no_other_log_is_believed(tmp_path: Path, log: bytes, called_at: float) -> None:
    leave_dead_run(tmp_path, log, called_at=called_at)
    paths = find_paths(str(tmp_path))
    stores = connect(paths.database)
    clean_up_lost_runs(stores, paths)
    assert len(stores.runs.list_transitions(RUN)) == 1
