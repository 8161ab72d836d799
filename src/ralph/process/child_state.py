"""One running child as its supervisor knows it: its streams, its deadlines, how it ended."""

import os
import select
import time
from collections.abc import Callable
from math import inf

from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT, Command, CommandEnding

READ_BLOCK_BYTES = 1 << 20
HELD_PIPE_SECONDS = 1.0  # seconds after the child's end until we stop listening to whoever holds its pipes
INBOX_POLL_SECONDS = 0.5  # how often the inbox is asked while a child is silent

OutputSink = Callable[[bytes], object]


class ChildState:
    """What is known of it; whoever has the guardian tells it what that reports."""

    def __init__(self, command: Command, began: float, sinks: dict[int, OutputSink]) -> None:
        self.command, self.sinks = command, sinks
        self.poll = select.poll()
        for fd in sinks:
            self.poll.register(fd, select.POLLIN)
        self.code = -1
        self.ending: CommandEnding = "exited"
        self.error = ""
        self.empty = False
        self.held = False
        self.stopping_at: float | None = None
        self.enough = False  # whoever reads wants no more
        self._ended = False
        self._idle_timeout = command.idle_timeout or inf
        self._linger = min(self._idle_timeout, command.linger or inf)
        self._last_word_on: int | None = None  # the stream whose reader heard it
        self._deadline = began + command.timeout if command.timeout else inf
        self._last_output_at = began
        self._stop_listening_at = inf  # when we stop listening to a dead child's pipes

    def read(self, fd: int) -> None:
        """Hand on a block, or take note of the end of the stream."""
        if data := os.read(fd, READ_BLOCK_BYTES):
            word = self.sinks[fd](data)
            if word == FINAL_OUTPUT:
                self._last_word_on = fd
            elif self._last_word_on == fd:
                self._last_word_on = None
            self.enough |= word == ENOUGH_OUTPUT
            if self._max_silence() != inf:
                self._last_output_at = time.monotonic()
        else:
            self._close(fd)

    def apply_reply(self, word: str, values: list[str]) -> None:
        match word:
            case "exited":
                self.code, self._ended = int(values[0]), True
                self._stop_listening_at = time.monotonic() + HELD_PIPE_SECONDS
            case "failed":
                number = int(values[0])
                self.code, self.ending, self.error = 127, "not_started", os.strerror(number)
                self._ended = self.empty = True
            case "empty":
                self.empty = True

    def compute_poll_seconds(self) -> float:
        """Seconds until something is due even if nothing happens."""
        quiet = self._ended or self.ending != "exited"
        due = min(self._stop_listening_at if self.sinks else inf, inf if quiet else self._next_deadline())
        return max(0.0, min(INBOX_POLL_SECONDS, due - time.monotonic()))

    def find_passed_limit(self) -> CommandEnding | None:
        if self._ended or self.ending != "exited":
            return None
        if self.enough:
            return "enough"
        if (now := time.monotonic()) < self._next_deadline():
            return None
        return "timed_out" if now >= self._deadline else "idle" if self._last_word_on is None else "lingered"

    def mark_stopping(self, ending: CommandEnding) -> bool:
        """Remember why; false when the child is already on its way out."""
        if self._ended or self.ending == ending or self.ending == "stopped":
            return False
        self.ending, self.stopping_at = ending, time.monotonic()
        return True

    def drop_held_pipes(self) -> None:
        """Stop listening to a pipe that outlives its child."""
        if self.sinks and time.monotonic() >= self._stop_listening_at:
            self.held = True
            self.close_pipes()

    def close_pipes(self) -> None:
        for fd in tuple(self.sinks):
            self._close(fd)

    def _close(self, fd: int) -> None:
        self.poll.unregister(fd)
        os.close(fd)
        del self.sinks[fd]

    def _next_deadline(self) -> float:
        return min(self._deadline, self._last_output_at + self._max_silence())

    def _max_silence(self) -> float:
        return self._idle_timeout if self._last_word_on is None else self._linger
