"""What every database guarantees that keeps the ports of `ralph.model.store_ports`: connections, runs, attempts.

A database is tested by a class for each contract and a fixture `database`: see `tests/stores/test_contract.py`.
"""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Protocol

import pytest
from msgspec.structs import replace

from ralph.model.board import Spec
from ralph.model.errors import MachineError, RalphError, StateGone
from ralph.model.ports import JournalRow
from ralph.model.runs import NewRun, RunOwner
from ralph.model.spec import Task
from ralph.model.store_ports import Changes, RunStore, Stores
from ralph.model.supervised import AttemptRecord, ChildRun
from support.processes import wait_until

OWNER = RunOwner(pid=11, ticks=12, boot="boot", guardian=13, guardian_ticks=14)
HEIR = RunOwner(pid=21, ticks=22, boot="boot", guardian=23, guardian_ticks=24)
APPENDING = """
from ralph.model.runs import NewRun, RunOwner
owner = RunOwner(pid=1, ticks=1, boot="", guardian=0, guardian_ticks=0)
stores.runs.begin(NewRun(id="killed", kind="run", folder="/", agent="a", request=b"", owner=owner, started_at=1.0))
number = 0
print("ready", flush=True)
while True:
    number += 1
    stores.runs.append(("killed", number, 1.0, 1.0, 1, 9, None, "", b"%d" % number, b""))
    print(number, flush=True)
"""


class DatabaseUnderTest(Protocol):
    """The state of one repository, which is not there yet."""

    def connect(self, *, shared: bool = False) -> Stores:
        """One more connection, closed after the test. The first one makes the state."""
        ...

    def watch(self) -> Changes: ...

    def friendly_errors(self) -> AbstractContextManager[None]: ...

    def delete(self) -> None:
        """As someone does who deletes a folder: nobody who has it open is asked."""
        ...

    def exists(self) -> bool: ...

    @property
    def opening(self) -> str:
        """Python that binds `stores` to a connection, for another process."""
        ...

    def check_integrity(self) -> None:
        """Fails where the database itself finds something damaged."""
        ...


def make_run(id_: str, *, kind: str = "run", task: str = "", at: float = 1.0, owner: RunOwner = OWNER) -> NewRun:
    return NewRun(
        id=id_, kind=kind, folder="/work", agent="claude", request=b"{}", owner=owner, started_at=at, task=task
    )


def make_row(run: str, number: int) -> JournalRow:
    return (run, number, 100.0 + number, 1.0, number, 10, 0.5, "check", b"seen %d" % number, b"decided %d" % number)


def make_attempt(id_: str, number: int, run: str = "run-1") -> AttemptRecord:
    return AttemptRecord(
        id=id_, run=run, number=number, previous=None, project="p", folder="/f", pid=7, started_at=1.0 + number
    )


def start_process(database: DatabaseUnderTest, script: str, *words: str) -> subprocess.Popen[str]:
    """Another process with a connection of its own, once it says that it is ready."""
    argv = [sys.executable, "-c", f"import sys\n{database.opening}\n{script}", *words]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    return child


class ConnectionContract:
    """Several connections to one state, and the end of it."""

    def test_what_one_connection_wrote_another_reads(self, database: DatabaseUnderTest) -> None:
        one, other = database.connect(), database.connect()
        one.runs.begin(make_run("run-1"))
        assert [run.id for run in other.runs.list_latest(9)] == ["run-1"]

    def test_what_was_written_outlives_its_connection(self, database: DatabaseUnderTest) -> None:
        one = database.connect()
        one.runs.begin(make_run("run-1"))
        one.close()
        assert database.connect().runs.find_record("run-1")

    def test_what_a_killed_process_was_told_is_written_is_there(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        child = start_process(database, APPENDING)
        assert wait_until(lambda: len(stores.runs.list_transitions("killed")) > 5)
        child.kill()
        with child:
            assert child.stdout
            told = child.stdout.read().split()  # communicate() would miss what came with the first line
        rows = stores.runs.list_transitions("killed")
        assert [seen for seen, _ in rows] == [b"%d" % number for number in range(1, len(rows) + 1)]
        assert len(rows) >= int(told[-1])

    def test_what_is_read_together_is_of_one_moment(self, database: DatabaseUnderTest) -> None:
        one, other = database.connect(), database.connect()
        one.runs.begin(make_run("run-1"))
        with one.read_consistently():
            assert len(one.runs.list_latest(9)) == 1
            other.runs.begin(make_run("run-2"))  # and need not wait
            assert len(one.runs.list_latest(9)) == 1
        assert len(one.runs.list_latest(9)) == 2

    def test_threads_take_turns_with_a_connection_they_share(self, database: DatabaseUnderTest) -> None:
        shared = database.connect(shared=True)
        shared.runs.begin(make_run("run-1"))
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(shared.runs.has_wish, "run-1", "cancel") for _ in range(40)]
            assert not any(answer.result(30) for answer in asked)

    def test_a_state_that_is_there_is_not_gone(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        stores.runs.begin(make_run("run-1"))
        database.connect().close()
        assert not stores.file.is_gone

    @pytest.mark.parametrize("anew", [False, True], ids=["deleted", "made anew"])
    def test_a_state_that_was_deleted_is_gone_for_every_thread(self, database: DatabaseUnderTest, anew: bool) -> None:
        stores = database.connect()
        database.delete()
        if anew:
            database.connect()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: stores.file.is_gone).result(30)
        assert database.exists() is anew


class ChangesContract:
    """For those who watch."""

    def test_watching_what_is_not_there_finds_nothing_and_makes_nothing(self, database: DatabaseUnderTest) -> None:
        assert database.watch().find_stores() is None
        assert not database.exists()

    def test_what_appears_later_is_found(self, database: DatabaseUnderTest) -> None:
        changes = database.watch()
        changes.find_stores()
        database.connect().runs.begin(make_run("run-1"))
        found = changes.find_stores()
        assert found
        assert found.runs.find_record("run-1")

    def test_a_change_of_anything_by_anyone_is_noticed(self, database: DatabaseUnderTest) -> None:
        stores, changes = database.connect(), database.watch()
        stores.runs.begin(make_run("run-1"))
        found = changes.find_stores()
        assert found
        seen = {changes.read_version()}
        stores.runs.append(make_row("run-1", 1))
        seen.add(changes.read_version())
        database.connect().tasks.add_new([Task("T-1", "auth", "Do it")], [Spec(id="auth", title="Auth")])
        seen.add(changes.read_version())
        stores.attempts.save(make_attempt("a-1", 0))
        seen.add(changes.read_version())
        assert len(seen) == 4
        assert changes.find_stores() is found

    def test_without_a_change_the_version_stays_whoever_reads(self, database: DatabaseUnderTest) -> None:
        stores, changes = database.connect(), database.watch()
        stores.runs.begin(make_run("run-1"))
        found = changes.find_stores()
        assert found
        before = changes.read_version()
        found.tasks.list_cards()
        stores.runs.list_latest(9)
        assert changes.read_version() == before

    def test_what_was_deleted_is_not_read_any_more(self, database: DatabaseUnderTest) -> None:
        database.connect().runs.begin(make_run("run-1"))
        changes = database.watch()
        first = changes.find_stores()
        database.delete()
        assert changes.find_stores() is None
        database.connect().runs.begin(make_run("run-2"))
        second = changes.find_stores()
        assert second
        assert second is not first
        assert [run.id for run in second.runs.list_latest(9)] == ["run-2"]

    def test_who_watches_cannot_write(self, database: DatabaseUnderTest) -> None:
        stores, changes = database.connect(), database.watch()
        stores.runs.begin(make_run("run-1"))
        stores.tasks.add_new([Task("T-1", "auth", "Do it")], [Spec(id="auth", title="Auth")])
        found = changes.find_stores()
        assert found
        with pytest.raises(MachineError), database.friendly_errors():
            found.runs.add_wish("run-1", "cancel", 1.0)
        with pytest.raises(MachineError), database.friendly_errors():
            found.tasks.claim("run-1")
        assert not stores.runs.has_wish("run-1", "cancel")
        assert stores.tasks.claim("run-1")


class RunStoreContract:
    """Runs, their journals, and wishes about them."""

    def test_a_run_is_on_record_before_its_first_transition(self, database: DatabaseUnderTest) -> None:
        runs = database.connect().runs
        runs.begin(replace(make_run("run-1", kind="execute", task="T-1", at=5.0), parent="run-0", request=b"\0raw"))
        record = runs.find_record("run-1")
        assert record
        assert (record.kind, record.folder, record.agent, record.task, record.parent) == (
            *("execute", "/work", "claude", "T-1", "run-0"),
        )
        assert (record.pid, record.ticks, record.boot, record.guardian, record.guardian_ticks) == (
            *(11, 12, "boot", 13, 14),
        )
        assert (record.started_at, record.changed_at, record.doing, record.ended_at) == (5.0, 5.0, "starting", None)
        assert runs.read_request("run-1") == b"\0raw"

    def test_a_record_shows_the_last_transition(self, database: DatabaseUnderTest) -> None:
        runs = begin_run(database)
        runs.append(make_row("run-1", 1))
        runs.append(make_row("run-1", 2))
        record = runs.find_record("run-1")
        assert record
        assert (record.iteration, record.limit, record.cost_usd, record.doing) == (2, 10, 0.5, "check")
        assert (record.elapsed, record.changed_at) == (1.0, 102.0)

    def test_transitions_come_back_in_order_byte_for_byte(self, database: DatabaseUnderTest) -> None:
        runs = begin_run(database)
        runs.begin(make_run("run-2"))
        for number in range(1, 12):
            runs.append(make_row("run-1", number))
            runs.append(make_row("run-2", number))
        expected = [(b"seen %d" % number, b"decided %d" % number) for number in range(1, 12)]
        assert database.connect().runs.list_transitions("run-1") == expected
        assert database.connect().runs.list_transitions("run-1", after=9) == expected[9:]

    def test_a_transition_cannot_be_written_twice(self, database: DatabaseUnderTest) -> None:
        runs = begin_run(database)
        runs.append(make_row("run-1", 1))
        with pytest.raises(RalphError), database.friendly_errors():
            runs.append(make_row("run-1", 1))
        assert len(runs.list_transitions("run-1")) == 1

    def test_the_last_transition_and_the_end_are_written_together(self, database: DatabaseUnderTest) -> None:
        runs = begin_run(database)
        runs.append(make_row("run-1", 1))
        with pytest.raises(RalphError), database.friendly_errors():
            runs.append_last(make_row("run-1", 1), "completed", "done")
        assert [run.id for run in runs.list_unfinished()] == ["run-1"]
        runs.append_last(make_row("run-1", 2), "completed", "done")
        record = database.connect().runs.find_record("run-1")
        assert record
        assert (record.ended_at, record.outcome, record.why) == (102.0, "completed", "done")
        assert len(runs.list_transitions("run-1")) == 2

    @pytest.mark.parametrize("anew", [False, True], ids=["deleted", "made anew"])
    @pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
    def test_nothing_is_appended_where_nobody_would_find_it(
        self, database: DatabaseUnderTest, anew: bool, resumed: bool
    ) -> None:
        runs = begin_run(database)
        runs.append(make_row("run-1", 1))
        if resumed:
            runs = database.connect().runs
            runs.take_over("run-1", HEIR)
        database.delete()
        if anew:
            database.connect()
        with pytest.raises(StateGone, match="was deleted during the run"):
            runs.append(make_row("run-1", 2))
        with pytest.raises(StateGone):
            runs.append_last(make_row("run-1", 3), "completed", "why")
        assert database.exists() is anew

    def test_a_run_is_found_by_an_unambiguous_beginning(self, database: DatabaseUnderTest) -> None:
        runs = database.connect().runs
        for id_ in ("run-1", "run-12", "other", "100%_x"):
            runs.begin(make_run(id_))
        names = ["run-1", "run-12", "run-", "oth", "100%", "%", "_ther", "gone"]
        found = [runs.find_record(name) for name in names]
        assert [record and record.id for record in found] == [
            *("run-1", "run-12", None, "other", "100%_x", None, None, None),
        ]

    def test_the_newest_run_comes_first(self, database: DatabaseUnderTest) -> None:
        runs = database.connect().runs
        for id_, at in (("old", 1.0), ("newest", 3.0), ("first-of-two", 2.0), ("second-of-two", 2.0)):
            runs.begin(make_run(id_, at=at))
        runs.end("newest", 4.0, "completed", "")
        runs.begin(make_run("of-a-task", kind="execute", at=0.0))
        runs.end("of-a-task", 1.0, "completed", "")
        assert list_ids(runs.list_latest(9, besides="run")) == ["of-a-task"]
        assert list_ids(runs.list_latest(9, besides="execute")) == ["newest", "second-of-two", "first-of-two", "old"]
        assert list_ids(runs.list_latest(2)) == ["newest", "second-of-two"]
        assert set(list_ids(runs.list_unfinished())) == {"second-of-two", "first-of-two", "old"}

    def test_a_tasks_last_run_is_found_unless_it_was_of_another_life(self, database: DatabaseUnderTest) -> None:
        runs = database.connect().runs
        for id_, task, at in (("a", "T-1", 1.0), ("b", "T-1", 2.0), ("c", "T-2", 3.0)):
            runs.begin(make_run(id_, kind="execute", task=task, at=at))
        runs.begin(make_run("d", kind="supervise", task="T-1", at=4.0))
        assert runs.find_last_of_task("execute", "T-1", since=0.0) == "b"
        assert runs.find_last_of_task("execute", "T-1", since=2.0) == "b"
        assert runs.find_last_of_task("execute", "T-1", since=2.5) is None

    def test_a_process_started_with_its_first_run(self, database: DatabaseUnderTest) -> None:
        runs = database.connect().runs
        for id_, owner, at in (("a", OWNER, 2.0), ("b", OWNER, 3.0), ("c", HEIR, 1.0)):
            runs.begin(make_run(id_, at=at, owner=owner))
        last = runs.find_record("b")
        assert last
        assert runs.find_process_start(last) == 2.0

    def test_a_run_that_is_taken_over_has_a_new_owner_no_end_and_no_wishes(self, database: DatabaseUnderTest) -> None:
        runs = begin_run(database)
        runs.append(make_row("run-1", 1))
        runs.end("run-1", 9.0, "lost", "gone")
        runs.add_wish("run-1", "cancel", 9.0)
        runs.take_over("run-1", HEIR)
        record = database.connect().runs.find_record("run-1")
        assert record
        assert (record.pid, record.ticks, record.guardian, record.guardian_ticks) == (21, 22, 23, 24)
        assert (record.ended_at, record.outcome, record.why) == (None, None, None)
        assert not runs.has_wish("run-1", "cancel")
        runs.append(make_row("run-1", 2))
        assert len(runs.list_transitions("run-1")) == 2

    def test_what_was_lost_is_swept_once(self, database: DatabaseUnderTest) -> None:
        runs = database.connect().runs
        for id_ in ("running", "lost", "completed"):
            runs.begin(make_run(id_))
        runs.begin(make_run("unguarded", owner=replace(OWNER, guardian=0)))
        runs.end("lost", 2.0, "lost", "")
        runs.end("completed", 2.0, "completed", "")
        assert set(list_ids(runs.list_unswept())) == {"running", "lost"}
        runs.mark_swept("lost")
        assert list_ids(runs.list_unswept()) == ["running"]

    def test_a_wish_reaches_whoever_runs_it_and_no_other(self, database: DatabaseUnderTest) -> None:
        runs = begin_run(database)
        runs.begin(make_run("run-2"))
        other = database.connect().runs
        other.add_wish("run-1", "cancel", 1.0)
        other.add_wish("run-1", "cancel", 2.0)
        assert runs.has_wish("run-1", "cancel")
        assert not runs.has_wish("run-1", "pause")
        assert not runs.has_wish("run-2", "cancel")


class AttemptStoreContract:
    """Agent runs of supervised tasks, and the runs that agents start."""

    def test_an_attempt_is_kept_whole_and_replaced_by_its_id(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        stores.runs.begin(make_run("run-1"))
        first = make_attempt("a-1", 0)
        stores.attempts.save(first)
        ended = replace(first, ended_at=9.0, exit_code=1, status="failed", error="no", previous="a-0")
        stores.attempts.save(ended)
        assert database.connect().attempts.list_for_run("run-1") == [ended]

    def test_attempts_come_in_the_order_of_their_numbers(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        for run in ("run-1", "run-2"):
            stores.runs.begin(make_run(run))
        for id_, number, run in (("b", 1, "run-1"), ("c", 2, "run-1"), ("a", 0, "run-1"), ("x", 0, "run-2")):
            stores.attempts.save(make_attempt(id_, number, run))
        assert [attempt.id for attempt in stores.attempts.list_for_run("run-1")] == ["a", "b", "c"]
        assert stores.attempts.list_for_run("gone") == []

    def test_a_child_is_known_to_its_parent_once(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        stores.runs.begin(make_run("run-1"))
        child = ChildRun(parent="run-1", run="child", pid=1, ticks=2, boot="b", guardian=3)
        again = replace(child, pid=4, guardian=5)  # resumed
        other = database.connect().attempts
        other.add_child(child)
        other.add_child(again)
        assert stores.attempts.list_children("run-1") == [again]
        assert stores.attempts.list_children("child") == []


def begin_run(database: DatabaseUnderTest) -> RunStore:
    runs = database.connect().runs
    runs.begin(make_run("run-1"))
    return runs


def list_ids(records: Sequence[object]) -> list[str]:
    return [getattr(record, "id", "") for record in records]
