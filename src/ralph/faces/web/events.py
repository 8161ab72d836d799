"""The stream of events (SSE): what the feed hands out, until the tab leaves, is dropped, or the server ends."""

import asyncio

from ralph.app.paths import Paths
from ralph.faces.web.access import Receive, Scope, Send
from ralph.faces.web.connection import ABORT_KEY
from ralph.faces.web.feed import Feed, Tab

PING_SECONDS = 15.0  # after so long without news a comment is sent: who is gone is noticed
PING_MESSAGE = b": still here\n\n"
RETRY_MESSAGE = b"retry: 1000\n\n"
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]


class EventStream:
    """An answer that does not end by itself."""

    def __init__(self, feed: Feed, key: str, paths: Paths, after: str) -> None:
        self._feed, self._key, self._paths, self._after = feed, key, paths, after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        tab = self._feed.subscribe(self._key, self._paths, self._after)
        try:
            await self._stream(tab, receive, send)
        finally:
            self._feed.unsubscribe(self._key, tab)
            if tab.is_dropped.is_set() and ABORT_KEY in scope:
                scope[ABORT_KEY]()

    async def _stream(self, tab: Tab, receive: Receive, send: Send) -> None:
        """The first of these to end ends all: someone who does not read would hold the sending up for ever."""
        parts = [
            asyncio.ensure_future(_send_messages(tab, send)),
            asyncio.ensure_future(_wait_for_leave(receive)),
            asyncio.ensure_future(tab.is_dropped.wait()),
        ]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)


async def _send_messages(tab: Tab, send: Send) -> None:
    await send({"type": "http.response.body", "body": RETRY_MESSAGE, "more_body": True})
    while True:
        body = await tab.receive(PING_SECONDS) or PING_MESSAGE
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _wait_for_leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
