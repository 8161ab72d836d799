"""Signals and `ralph cancel`: noticed within a second, turned into facts, never an exception in the middle."""

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 5.0
CANCEL_GRACE = 1.0  # `ralph cancel` answers within two seconds, TERM-proof agents included
ASK_EVERY = 0.5
Handler = Callable[[int, FrameType | None], object] | int | None


class SignalInbox:
    """The first signal lets the current step finish, the second stops it now, a cancel too."""

    def __init__(self, cancelled: Callable[[], bool], on_first: Callable[[], object]) -> None:
        self._cancelled, self._on_first = cancelled, on_first
        self._names: list[str] = []
        self._cancel = False
        self._asked_at = time.monotonic()
        self._news, self._wakes = os.pipe()
        os.set_blocking(self._news, False)
        os.set_blocking(self._wakes, False)
        self._before: dict[signal.Signals, Handler] = {}
        self._wakeup_before: int | None = None
        try:
            self._listen()
        except ValueError:
            pass  # only the main thread hears signals; in any other, cancelling is left

    def fileno(self) -> int:
        """Readable when a signal came."""
        return self._news

    def interruption(self) -> str:
        """Who wants the loop to end."""
        self._look()
        return "cancelled with `ralph cancel`" if self._cancel else f"received {self._names[0]}" if self._names else ""

    def stop_now(self) -> float | None:
        """Seconds of grace for a step that must not be finished."""
        self._look()
        return CANCEL_GRACE if self._cancel else GRACE if len(self._names) > 1 else None

    def wait(self, seconds: float) -> None:
        """Sleep until then or until an interruption."""
        until = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._news, select.POLLIN)
        while not self.interruption() and (left := until - time.monotonic()) > 0:
            poll.poll(min(left, ASK_EVERY) * 1000)

    def close(self) -> None:
        """Give the signals back."""
        if self._wakeup_before is not None:
            signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._news)
        os.close(self._wakes)

    def _listen(self) -> None:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                self._before[number] = signal.signal(number, self._arrived)
        self._wakeup_before = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        self._names.append(signal.Signals(number).name)
        if len(self._names) == 1:
            self._on_first()

    def _look(self) -> None:
        try:
            os.read(self._news, 4096)
        except BlockingIOError:
            pass
        now = time.monotonic()
        if not self._cancel and now - self._asked_at >= ASK_EVERY:
            self._asked_at = now
            self._cancel = self._cancelled()
