"""What every loop has around its kernel, with a real database and a real guardian."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Paths, find_paths
from ralph.app.session import Callbacks, Replayed, Session, open_session
from ralph.app.stores import open_stores
from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules
from ralph.model.errors import Busy, CorruptState
from ralph.model.events import RunEnded, RunStarted
from ralph.model.loop import Began, Decision, Fact, Limits, Outcome, Reported, Resumed, RunAgent
from ralph.model.runs import RunRecord
from ralph.process.identity import identify_self
from support.scripted_processes import Listener

DONE = Reported(outcome="finished", text="<response>DONE</response>")
LIMITS = Limits(iterations=7)


class Request(Struct):
    prompt: str


class AgentEffects:
    """Agents that answer one after the other."""

    def __init__(self, *facts: Fact) -> None:
        self._facts = iter(facts)
        self.decisions: list[Decision] = []

    def perform(self, decision: Decision) -> Fact | None:
        self.decisions.append(decision)
        return next(self._facts)


class Killed(BaseException):
    """As by kill -9, but for the test."""


class DyingEffects:
    def perform(self, decision: Decision) -> Fact | None:
        raise Killed


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths(str(tmp_path))


@contextmanager
def opened(
    paths: Paths, *, run: str = "", variables: dict[str, str] | None = None, listener: Listener | None = None
) -> Iterator[Session]:
    with open_session(
        paths,
        run=run,
        kind="run",
        agent_name="claude",
        task="the-task",
        lock=paths.lock,
        variables=variables or {},
        guardian=None,
        callbacks=Callbacks(watchers=[listener] if listener else []),
    ) as session:
        yield session


def read_record(paths: Paths, run: str) -> RunRecord:
    with open_stores(paths) as stores:
        record = stores.runs.find_record(run)
    assert record is not None
    return record


def test_a_new_run_is_on_record_with_all_that_is_known_of_it(paths: Paths) -> None:
    before = time.time()
    with opened(paths, variables={"RALPH_RUN_ID": "the-parent"}) as session:
        session.record(Request("Fix it"), "/known/by")
        guardian = session.processes.guardian_pid
        assert session.runs.read_request(session.run) == b'{"prompt":"Fix it"}'
    record, me = read_record(paths, session.run), identify_self()
    assert (record.kind, record.agent, record.task, record.folder) == ("run", "claude", "the-task", "/known/by")
    assert (record.pid, record.ticks, record.guardian) == (me.pid, me.ticks, guardian)
    assert record.parent == "the-parent"
    assert before <= record.started_at <= time.time()


def test_nobody_else_works_in_the_same_place(paths: Paths) -> None:
    with opened(paths) as session, pytest.raises(Busy, match=session.run), opened(paths):
        pass
    with opened(paths):  # it is free again
        pass


def test_a_loop_is_played_to_its_end_and_watchers_hear_it(paths: Paths) -> None:
    listener = Listener()
    with opened(paths, listener=listener) as session:
        session.record(Request("Fix it"))
        stop = session.play(Rules(TagPolicy()), AgentEffects(DONE), Began(LIMITS))
    assert stop.outcome is Outcome.COMPLETED
    record = read_record(paths, session.run)
    assert (record.outcome, record.iteration, record.limit) == ("completed", 1, 7)
    assert record.folder == paths.folder
    (_, started), (_, ended) = listener.of(RunStarted, RunEnded)
    assert started == RunStarted(run=session.run, agent="claude", limit=7, isolation="no sandbox")
    assert isinstance(ended, RunEnded)
    assert Path(session.run_dir, "events.ndjson").exists()


def test_a_run_that_was_cut_off_goes_on_where_its_journal_ends(paths: Paths) -> None:
    rules = Rules(TagPolicy())
    with opened(paths) as session:
        session.record(Request("Fix it"))
        with pytest.raises(Killed):
            session.play(rules, DyingEffects(), Began(LIMITS))
    before = read_record(paths, session.run)
    with opened(paths, run=session.run) as again:
        replayed = again.take_over(rules)
        assert (replayed.written, replayed.elapsed) == (1, before.elapsed)
        effects = AgentEffects(DONE)
        again.play(rules, effects, Resumed(LIMITS), replayed=replace(replayed, elapsed=1000.0))
        assert len(again.runs.list_transitions(session.run)) == 3
    assert [type(decision) for decision in effects.decisions] == [RunAgent]
    after = read_record(paths, session.run)
    assert after.outcome == "completed"
    assert after.elapsed >= 1000.0  # its clock went on from there


def test_a_run_with_an_empty_journal_goes_on_from_nothing(paths: Paths) -> None:
    with opened(paths) as session:
        session.record(Request("Fix it"))
    with opened(paths, run=session.run) as again:
        assert again.take_over(Rules(TagPolicy())) == Replayed()


def test_a_journal_that_does_not_fit_is_refused_and_stays_its_last_owners(paths: Paths) -> None:
    with opened(paths) as session:
        session.record(Request("Fix it"))
        session.play(Rules(TagPolicy()), AgentEffects(DONE), Began(LIMITS))
    with opened(paths, run=session.run) as again, pytest.raises(CorruptState):
        again.take_over(Rules(TagPolicy(expected="SOMETHING ELSE")))
    assert read_record(paths, session.run).outcome == "completed"


def test_children_of_a_run_are_told_about_it(paths: Paths) -> None:
    with opened(paths, variables={"PATH": "/bin"}) as session:
        own = {"RALPH_RUN_ID": session.run, "TASK_FOLDER": paths.folder}
        assert session.run_variables == own
        assert session.gate_environment == {"PATH": "/bin", **own}


def test_a_run_that_an_agent_starts_is_known_to_its_parent(paths: Paths, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    machine = {"XDG_STATE_HOME": str(tmp_path / "machine")}
    with opened(paths, variables=machine) as parent:
        parent.record(Request("Fix it"))
        with opened(find_paths(str(elsewhere)), variables={**machine, **parent.run_variables}) as child:
            (known,) = parent.list_active_children()
            assert (known.parent, known.run, known.guardian) == (
                parent.run,
                child.run,
                child.processes.guardian_pid,
            )
