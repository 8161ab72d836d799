"""A connection that is bounded: who sends a request too slowly, or a head too long, is let go."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 5
MAX_WEB_CONNECTIONS = 256
ABORT_KEY = "ralph.abort"  # of a request's scope: a function that ends its connection at once


class BoundedConnection(H11Protocol):
    """uvicorn waits for ever for the end of a request's head: we do not."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_at_work():
            self._stop_waiting()
        elif self._deadline is None:
            self._await_head()

    def handle_events(self) -> None:
        """An answer may have to end although nobody reads it: to close politely would wait for them."""
        super().handle_events()
        if self.scope is not None:
            scope: dict[str, Any] = self.scope  # type: ignore[assignment]  # a key of our own
            scope[ABORT_KEY] = self.transport.abort

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._is_at_work() and not self.transport.is_closing():
            self.transport.abort()

    def _is_at_work(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete
