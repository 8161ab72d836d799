"""One running child: which of its limits has passed, and what becomes of pipes that outlive it."""

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT, Command
from ralph.process.child_state import HELD_PIPE_SECONDS, INBOX_POLL_SECONDS, ChildState, OutputSink


class Pipe(NamedTuple):
    reader: int
    writer: int


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    found = Pipe(*os.pipe())
    yield found
    os.close(found.writer)


def watch_child(
    pipe: Pipe,
    *,
    timeout: float | None = None,
    idle: float | None = None,
    linger: float | None = None,
    says: object = 0,
) -> ChildState:
    """A child that was started a minute ago and has printed a line, which its reader answers with `says`."""
    command = Command(argv=("x",), environment={}, cwd="/", timeout=timeout, idle_timeout=idle, linger=linger)
    sink: OutputSink = lambda data: says  # noqa: E731
    child = ChildState(command, time.monotonic() - 60, {pipe.reader: sink})
    os.write(pipe.writer, b"line\n")
    child.read(pipe.reader)
    return child


def test_a_child_without_limits_goes_on(pipe: Pipe) -> None:
    child = watch_child(pipe)
    assert child.find_passed_limit() is None
    assert child.compute_poll_seconds() == INBOX_POLL_SECONDS
    child.close_pipes()


def test_the_time_limit_counts_from_the_start(pipe: Pipe) -> None:
    child = watch_child(pipe, timeout=60)
    assert child.find_passed_limit() == "timed_out"
    child.close_pipes()


def test_silence_counts_from_the_last_output(pipe: Pipe) -> None:
    child = watch_child(pipe, idle=0.05)
    assert child.find_passed_limit() is None
    time.sleep(0.06)
    assert child.find_passed_limit() == "idle"
    child.close_pipes()


def test_silence_after_the_closing_event_has_a_limit_of_its_own(pipe: Pipe) -> None:
    child = watch_child(pipe, linger=0.05, says=FINAL_OUTPUT)
    time.sleep(0.06)
    assert child.find_passed_limit() == "lingered"
    child.close_pipes()


def test_a_reader_that_has_enough_ends_it(pipe: Pipe) -> None:
    child = watch_child(pipe, says=ENOUGH_OUTPUT)
    assert child.find_passed_limit() == "enough"
    child.close_pipes()


def test_a_child_that_has_ended_passes_no_limit_and_is_not_stopped(pipe: Pipe) -> None:
    child = watch_child(pipe, timeout=60)
    child.apply_reply("exited", ["3"])
    assert (child.code, child.find_passed_limit(), child.mark_stopping("stopped")) == (3, None, False)
    child.close_pipes()


def test_a_pipe_that_outlives_its_child_is_dropped_in_time(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    child = watch_child(pipe)
    child.apply_reply("exited", ["0"])
    child.drop_held_pipes()
    assert child.sinks
    ended = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: ended + HELD_PIPE_SECONDS)
    child.drop_held_pipes()
    assert (child.held, child.sinks) == (True, {})


def test_a_program_that_cannot_be_started_is_gone_at_once(pipe: Pipe) -> None:
    child = watch_child(pipe)
    child.apply_reply("failed", ["2"])
    assert (child.code, child.ending, child.error, child.empty) == (127, "not_started", os.strerror(2), True)
    child.close_pipes()
