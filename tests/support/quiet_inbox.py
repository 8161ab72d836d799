"""An inbox nobody writes to, unless the test does."""

import os
import time


class QuietInbox:
    def __init__(self) -> None:
        self._news, self._wakes = os.pipe()
        os.set_blocking(self._news, False)
        self.by = ""
        self.grace: float | None = None
        self.stop_after: float | None = None
        self._born = time.monotonic()

    def fileno(self) -> int:
        return self._news

    def poll_interruption(self) -> str:
        return self.by

    def poll_stop_grace(self) -> float | None:
        if self.stop_after is not None and time.monotonic() - self._born >= self.stop_after:
            self.by, self.grace = "the test", 0.3
        return self.grace

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        os.close(self._news)
        os.close(self._wakes)
