"""Signals and cancellation as facts, with the real signals of this process."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from ralph.engine import inbox as engine_inbox
from ralph.engine.inbox import CANCEL_GRACE_SECONDS, SIGNAL_GRACE_SECONDS, SignalInbox


class People:
    """What they want, and how often the inbox asked them."""

    def __init__(self) -> None:
        self.cancelled = self.stopped = False
        self.asked = self.first_signals = 0

    def is_cancelled(self) -> bool:
        self.asked += 1
        return self.cancelled

    def note_signal(self) -> None:
        self.first_signals += 1

    def open(self) -> SignalInbox:
        return SignalInbox(self.is_cancelled, self.note_signal, lambda: self.stopped)


@pytest.fixture
def people() -> People:
    return People()


@pytest.fixture
def inbox(people: People) -> Iterator[SignalInbox]:
    made = people.open()
    yield made
    made.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_inbox, "CANCEL_POLL_SECONDS", 0.0)


def test_nobody_wants_it_to_end_at_first(inbox: SignalInbox, people: People) -> None:
    assert (inbox.poll_interruption(), inbox.poll_stop_grace()) == ("", None)
    assert (people.first_signals, people.asked) == (0, 0), "asking costs a query"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_lets_the_step_finish_and_the_second_stops_it(
    inbox: SignalInbox, people: People, number: signal.Signals
) -> None:
    signal.raise_signal(number)
    assert (inbox.poll_interruption(), inbox.poll_stop_grace()) == (f"received {number.name}", None)
    assert people.first_signals == 1
    signal.raise_signal(signal.SIGTERM)
    assert (inbox.poll_interruption(), inbox.poll_stop_grace()) == (f"received {number.name}", SIGNAL_GRACE_SECONDS)
    assert people.first_signals == 1


@pytest.mark.usefixtures("at_once")
def test_a_cancel_stops_the_step_at_once_and_is_not_asked_about_again(inbox: SignalInbox, people: People) -> None:
    people.cancelled = True
    signal.raise_signal(signal.SIGINT)
    assert (inbox.poll_stop_grace(), people.asked) == (CANCEL_GRACE_SECONDS, 1)
    assert (inbox.poll_interruption(), people.asked) == ("cancelled with `ralph cancel`", 1)


def test_a_cancel_is_answered_within_two_seconds() -> None:
    assert engine_inbox.CANCEL_POLL_SECONDS + CANCEL_GRACE_SECONDS < 2


@pytest.mark.usefixtures("at_once")
def test_a_stop_lets_the_step_finish_and_is_remembered(inbox: SignalInbox, people: People) -> None:
    people.stopped = True
    assert (inbox.poll_interruption(), inbox.poll_stop_grace()) == ("stopped with `ralph stop`", None)
    people.stopped = False
    assert inbox.poll_interruption() == "stopped with `ralph stop`"
    signal.raise_signal(signal.SIGINT)
    assert inbox.poll_interruption() == "received SIGINT"


def test_people_are_asked_twice_a_second_and_no_more(inbox: SignalInbox, people: People) -> None:
    inbox._asked_at -= engine_inbox.CANCEL_POLL_SECONDS
    for _ in range(3):
        inbox.poll_interruption()
    assert people.asked == 1


def test_a_signal_ends_a_wait_at_once(inbox: SignalInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_inbox, "CANCEL_POLL_SECONDS", 60.0)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    began = time.monotonic()
    inbox.wait(60)
    assert time.monotonic() - began < 30, "not at the next time it asks about a cancel"
    assert inbox.poll_interruption() == "received SIGTERM"
    timer.join()


def test_a_wait_takes_as_long_as_it_was_told_and_sleeps(inbox: SignalInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(inbox, "poll_interruption", lambda: looks.append(None))
    began = time.monotonic()
    inbox.wait(0.1)
    assert 0.1 <= time.monotonic() - began < 30
    assert len(looks) < 9


def test_a_signal_wakes_who_polls_the_inbox_and_is_read_once(inbox: SignalInbox) -> None:
    signal.raise_signal(signal.SIGINT)
    assert os.read(inbox.fileno(), 1) == bytes([signal.SIGINT])
    signal.raise_signal(signal.SIGINT)
    inbox.poll_interruption()
    with pytest.raises(BlockingIOError):
        os.read(inbox.fileno(), 1)


def test_afterwards_signals_are_as_they_were(people: People) -> None:
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, hear)
    read_fd, wake_fd = os.pipe()
    os.set_blocking(wake_fd, False)
    wakeup_before = signal.set_wakeup_fd(wake_fd)
    try:
        inbox = people.open()
        fds = (inbox._read_fd, inbox._wake_fd)
        inbox.close()
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert os.read(read_fd, 1) == bytes([signal.SIGTERM])
        for fd in fds:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(fd)
    finally:
        signal.set_wakeup_fd(wakeup_before)
        signal.signal(signal.SIGTERM, before)
        os.close(read_fd)
        os.close(wake_fd)


def test_what_nohup_ignores_stays_ignored(people: People) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        inbox = people.open()
        signal.raise_signal(signal.SIGHUP)
        assert inbox.poll_interruption() == ""
        inbox.close()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("at_once")
def test_in_another_thread_cancelling_is_left(people: People) -> None:
    found: list[str] = []

    def work() -> None:
        inbox = people.open()
        people.cancelled = True
        found.append(inbox.poll_interruption())
        inbox.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["cancelled with `ralph cancel`"]
