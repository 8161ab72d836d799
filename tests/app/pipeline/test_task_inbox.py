"""What ends one task of many, and what it does not tear."""

import os
import threading
import time
from collections.abc import Iterator

import pytest

from ralph.app.pipeline import task_inbox
from ralph.app.pipeline.task_inbox import TASK_CANCELLED, TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses
from ralph.model.command import Command
from support.quiet_inbox import QuietInbox


class Wish:
    """Somebody's, in a database."""

    def __init__(self) -> None:
        self.there = False

    def __call__(self) -> bool:
        return self.there


@pytest.fixture
def wish() -> Wish:
    return Wish()


@pytest.fixture
def inbox(wish: Wish, monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskInbox]:
    monkeypatch.setattr(task_inbox, "TASK_CANCEL_POLL_SECONDS", 0.0)
    signals = QuietInbox()
    made = TaskInbox(signals, wish)
    yield made
    signals.close()


def shell(script: str) -> Command:
    return Command(argv=("/bin/sh", "-c", script), environment={"PATH": os.environ["PATH"]}, cwd="/")


def test_a_cancel_ends_this_task(inbox: TaskInbox, wish: Wish) -> None:
    assert (inbox.poll_interruption(), inbox.poll_stop_grace()) == ("", None)
    wish.there = True
    assert (inbox.poll_interruption(), inbox.poll_stop_grace()) == (TASK_CANCELLED, 1.0)


def test_a_wait_ends_with_it(inbox: TaskInbox, wish: Wish) -> None:
    threading.Timer(0.2, lambda: setattr(wish, "there", True)).start()
    began = time.monotonic()
    inbox.wait(30)
    assert time.monotonic() - began < 5


def test_what_must_not_be_torn_is_finished(inbox: TaskInbox, wish: Wish) -> None:
    processes = TaskProcesses(inbox, set())
    wish.there = True
    try:
        assert processes.make_uninterruptible().run(shell("sleep 0.2"), len, len).ending == "exited"
        assert processes.run(shell("sleep 30"), len, len).ending == "stopped"
    finally:
        processes.close()


def test_two_at_once_have_a_guardian_each(inbox: TaskInbox) -> None:
    guardians: set[int] = set()
    processes = TaskProcesses(inbox, guardians)
    with processes.borrow() as one, processes.borrow() as other:
        assert one is not other
        assert len(guardians) == 2
        assert other.run(shell("exit 7"), len, len).code == 7
    assert guardians == {processes.guardian_pid}
    with processes.borrow() as again:
        assert again is one
    processes.close()
    assert guardians == set()
