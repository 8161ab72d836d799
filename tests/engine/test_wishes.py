"""What people want of a run: read before each step, waited for, and asked while an agent works."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.engine import wishes
from ralph.engine.wishes import AgentStopWatch, WishReader
from ralph.model.control import WHOLE_EXECUTE, PauseRecord, Subject, Wishes
from ralph.model.store_ports import ControlStore
from support.quiet_inbox import QuietInbox
from support.stores import connect

TASK, RUN = Subject("task", "TASK-001"), Subject("run", "run-1")
SUBJECTS = (TASK, WHOLE_EXECUTE)


@pytest.fixture
def store(tmp_path: Path) -> ControlStore:
    return connect(str(tmp_path / "ralph.db")).control


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wishes, "PAUSE_POLL_SECONDS", 0.0)


def pause(store: ControlStore, subject: Subject, by: str = "alex", *, now: bool = False) -> None:
    store.pause(PauseRecord(subject=subject, by=by, at=1.0, now=now))


class WaitingInbox(QuietInbox):
    """Something happens while it waits."""

    def __init__(self, *happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens = [*happens]
        self.waits: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.happens.pop(0)()


def test_nobody_wants_anything_at_first(store: ControlStore) -> None:
    assert WishReader(store, SUBJECTS).read() == Wishes()


def test_who_paused_the_nearest_subject_is_named(store: ControlStore) -> None:
    reader = WishReader(store, SUBJECTS)
    pause(store, RUN, "nobody of ours")
    assert reader.read().paused_by == ""
    pause(store, WHOLE_EXECUTE, "kim")
    assert reader.read().paused_by == "kim"
    pause(store, TASK, "alex")
    assert reader.read().paused_by == "alex"


def test_notes_are_those_for_the_first_subject(store: ControlStore) -> None:
    note = store.add_note(TASK, "Use tabs", by="alex", at=2.0)
    store.add_note(RUN, "Not for it", by="alex", at=3.0)
    assert WishReader(store, (TASK, RUN)).read().notes == (note,)


def test_a_pause_is_waited_for_until_nobody_wants_it(store: ControlStore) -> None:
    for subject in SUBJECTS:
        pause(store, subject)
    inbox = WaitingInbox(lambda: store.lift(TASK), lambda: store.lift(WHOLE_EXECUTE))
    assert 0 <= WishReader(store, SUBJECTS).wait_for_resume(inbox) < 5
    assert inbox.waits == [wishes.PAUSE_POLL_SECONDS] * 2
    inbox.close()


def test_who_is_not_paused_does_not_wait(store: ControlStore) -> None:
    inbox = WaitingInbox()
    WishReader(store, SUBJECTS).wait_for_resume(inbox)
    assert inbox.waits == []
    inbox.close()


def test_an_interruption_ends_the_wait(store: ControlStore) -> None:
    pause(store, TASK)
    inbox = WaitingInbox()
    inbox.happens.append(lambda: setattr(inbox, "by", "received SIGINT"))
    WishReader(store, SUBJECTS).wait_for_resume(inbox)
    assert len(inbox.waits) == 1
    inbox.close()


@pytest.mark.usefixtures("at_once")
def test_an_agent_at_work_is_stopped_only_by_a_pause_that_says_now(store: ControlStore) -> None:
    watch = AgentStopWatch(store, SUBJECTS)
    assert not watch.is_stop_wanted()
    pause(store, TASK)
    assert not watch.is_stop_wanted()
    pause(store, WHOLE_EXECUTE, now=True)
    assert watch.is_stop_wanted()
    store.lift(WHOLE_EXECUTE)
    assert not watch.is_stop_wanted()


def test_the_database_is_asked_twice_a_second_and_no_more(store: ControlStore) -> None:
    watch = AgentStopWatch(store, SUBJECTS)
    assert not watch.is_stop_wanted()
    pause(store, TASK, now=True)
    assert not watch.is_stop_wanted(), "it has just asked"
    watch._asked_at -= wishes.PAUSE_POLL_SECONDS
    assert watch.is_stop_wanted()
    store.lift(TASK)
    assert watch.is_stop_wanted(), "it has just asked"
