"""Signals and `ralph cancel`: noticed within a second, turned into facts, never an exception in the middle."""

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

HANDLED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNAL_GRACE_SECONDS = 5.0
CANCEL_GRACE_SECONDS = 1.0  # `ralph cancel` answers within two seconds, TERM-proof agents included
CANCEL_POLL_SECONDS = 0.5
SignalHandler = Callable[[int, FrameType | None], object] | int | None


class SignalInbox:
    """The first signal lets the current step finish, the second stops it now, a cancel too."""

    def __init__(
        self, cancelled: Callable[[], bool], on_first: Callable[[], object], stopped: Callable[[], bool] = bool
    ) -> None:
        """`stopped`: whether somebody wants the loop to end after the current step."""
        self._is_cancelled, self._on_first, self._is_stopped = cancelled, on_first, stopped
        self._stop_seen = False
        self._signal_names: list[str] = []
        self._cancel_seen = False
        self._asked_at = time.monotonic()
        self._read_fd, self._wake_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self._wake_fd, False)
        self._previous_handlers: dict[signal.Signals, SignalHandler] = {}
        self._previous_wakeup_fd: int | None = None
        try:
            self._install_handlers()
        except ValueError:
            pass  # only the main thread hears signals; in any other, cancelling is left

    def fileno(self) -> int:
        return self._read_fd

    def poll_interruption(self) -> str:
        self._poll()
        return (
            "cancelled with `ralph cancel`"
            if self._cancel_seen
            else f"received {self._signal_names[0]}"
            if self._signal_names
            else "stopped with `ralph stop`"
            if self._stop_seen
            else ""
        )

    def poll_stop_grace(self) -> float | None:
        """Seconds of grace for a step that must not be finished."""
        self._poll()
        return (
            CANCEL_GRACE_SECONDS if self._cancel_seen else SIGNAL_GRACE_SECONDS if len(self._signal_names) > 1 else None
        )

    def wait(self, seconds: float) -> None:
        """Sleep until then or until an interruption."""
        until = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._read_fd, select.POLLIN)
        while not self.poll_interruption() and (left := until - time.monotonic()) > 0:
            poll.poll(min(left, CANCEL_POLL_SECONDS) * 1000)

    def close(self) -> None:
        if self._previous_wakeup_fd is not None:
            signal.set_wakeup_fd(self._previous_wakeup_fd)
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        os.close(self._read_fd)
        os.close(self._wake_fd)

    def _install_handlers(self) -> None:
        for number in HANDLED_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                self._previous_handlers[number] = signal.signal(number, self._on_signal)
        self._previous_wakeup_fd = signal.set_wakeup_fd(self._wake_fd, warn_on_full_buffer=False)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signal_names.append(signal.Signals(number).name)
        if len(self._signal_names) == 1:
            self._on_first()

    def _poll(self) -> None:
        try:
            os.read(self._read_fd, 4096)
        except BlockingIOError:
            pass
        now = time.monotonic()
        if not self._cancel_seen and now - self._asked_at >= CANCEL_POLL_SECONDS:
            self._asked_at = now
            self._cancel_seen = self._is_cancelled()
            self._stop_seen = self._stop_seen or self._is_stopped()
