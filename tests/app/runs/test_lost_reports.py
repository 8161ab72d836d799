"""What an agent said last before its run was killed: believed where its log ends with its own closing event."""

import time
from pathlib import Path

import msgspec
import pytest

from ralph.app.paths import find_paths
from ralph.app.runs.lost_reports import add_lost_answers
from ralph.app.runs.recovery import clean_up_lost_runs
from ralph.app.runs.spending import list_expenses, sum_expenses
from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules, replay
from ralph.engine.agent_run import CallNote
from ralph.model.loop import (
    AnswersLost,
    Began,
    Brief,
    Decision,
    Interrupted,
    Limits,
    Observation,
    Reported,
    RunAgent,
    Save,
    TakeSnapshot,
    Verify,
    Wait,
)
from ralph.model.runs import NewRun, RunOwner
from support.scripted_processes import say
from support.stores import connect

RUN, STARTED_AT = "20260101-000000-abcd", 1_700_000_000.0
DEAD = RunOwner(pid=1, ticks=1, boot="of another boot", guardian=1, guardian_ticks=1)
CLOSED = say("<response>DONE</response>", 0.25).stdout
CUT_OFF = CLOSED[: len(CLOSED) // 2]


def leave_dead_run(
    folder: Path, log: bytes, *, called_at: float = STARTED_AT + 1, wanted: Decision | None = None
) -> Path:
    """A run whose last word is that an agent is to be started, and what that agent printed."""
    paths = find_paths(str(folder))
    runs = connect(paths.database).runs
    new = NewRun(
        id=RUN, kind="run", folder=str(folder), agent="claude", request=b"{}", owner=DEAD, started_at=STARTED_AT
    )
    runs.begin(new)
    seen = msgspec.json.encode(Observation(fact=Began(Limits()), wall=STARTED_AT))
    decision = msgspec.json.encode(wanted or RunAgent(Brief(iteration=1, limit=10)))
    runs.append((*(RUN, 1, STARTED_AT, 0.0), *(1, 10, None, "run_agent"), *(seen, decision)))
    run_dir = Path(paths.run_dir(RUN))
    run_dir.mkdir(parents=True)
    note = CallNote(adapter="claude", mode="stream", stdout="agent_001.log", started_at=called_at)
    (run_dir / "call.json").write_bytes(msgspec.json.encode(note))
    (run_dir / "agent_001.log").write_bytes(log)
    return run_dir


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


def leave_question(run_dir: Path, name: str, log: bytes, *, asked_at: float = STARTED_AT + 1) -> None:
    note = CallNote(adapter="claude", mode="stream", stdout=f"{name}.log", started_at=asked_at)
    (run_dir / f"{name}.question.json").write_bytes(msgspec.json.encode(note))
    (run_dir / f"{name}.log").write_bytes(log)


@pytest.mark.parametrize("wanted", [Save(1), Verify(role="coder", turn=1, turns=5, text="")])
def test_answers_that_are_on_no_record_are_paid_for_once(tmp_path: Path, wanted: Decision) -> None:
    run_dir = leave_dead_run(tmp_path, b"", wanted=wanted)
    leave_question(run_dir, "judge_001", CLOSED)
    leave_question(run_dir, "judge_002", CLOSED)
    leave_question(run_dir, "judge_003", CUT_OFF)
    leave_question(run_dir, "judge_000", CLOSED, asked_at=STARTED_AT - 1)  # what that cost is on record
    paths = find_paths(str(tmp_path))
    assert sum_expenses(list_expenses(paths, 0.0)).cost_usd == 0.5
    stores = connect(paths.database)
    clean_up_lost_runs(stores, paths)
    (_, last) = stores.runs.list_transitions(RUN)
    fact = msgspec.json.decode(last[0], type=Observation).fact
    assert isinstance(fact, AnswersLost)
    assert (fact.cost_usd, fact.agent) == (0.5, "claude")
    assert isinstance(msgspec.json.decode(last[1], type=Decision), Wait)
    assert sum_expenses(list_expenses(paths, 0.0)).cost_usd == 0.5


def test_a_step_that_is_cut_short_tells_what_its_answers_cost(tmp_path: Path) -> None:
    def ask_and_stop(_: Decision) -> Interrupted:
        leave_question(tmp_path, "judge_001", CLOSED, asked_at=time.time())
        return Interrupted("received SIGINT")

    fact = add_lost_answers(ask_and_stop, str(tmp_path))(Save(1))
    assert isinstance(fact, Interrupted)
    assert fact.cost_usd == 0.25


def test_what_was_wanted_before_answers_were_lost_still_is() -> None:
    began, spent = (Observation(fact=fact) for fact in (Began(Limits()), AnswersLost(cost_usd=0.5)))
    state, (first, second) = replay(Rules(TagPolicy()), [began, spent])
    assert state is not None
    assert isinstance(first, RunAgent)
    assert isinstance(second, Wait)
    assert (state.tally.cost_usd, state.wanted) == (0.5, replay(Rules(TagPolicy()), [began])[0].wanted)  # type: ignore[union-attr]
