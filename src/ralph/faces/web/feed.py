"""One thread reads for all tabs, four times a second, and hands out only what changed."""

import asyncio
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from ralph.app.board.live_log import LiveEvent, LiveLog, read_ended_run
from ralph.app.board.view import BoardView
from ralph.app.board.watch import BoardReader
from ralph.app.paths import Paths, refuse_missing_folder
from ralph.core.text.secrets import redact
from ralph.faces.glyphs import UNICODE_GLYPHS
from ralph.faces.log_words import LogFormatter
from ralph.faces.views.board_shapes import BoardShaper, build_head, compare_boards, list_new_runs, shape_runs
from ralph.faces.views.encoding import encode_json
from ralph.faces.views.log_shapes import shape_line
from ralph.faces.views.shapes import BoardAnswer, BoardHead, CardView, LogLines, LogLineView, RunView
from ralph.model.errors import RalphError

FEED_SECONDS = 0.25
IDLE_CHANNEL_SECONDS = 60.0  # after which nobody's board is not read any more
MAX_WAITING_MESSAGES = 256  # of a tab; one that is slower than that starts anew
MAX_WAITING_BYTES = 4 << 20
MAX_KEPT_BYTES = 2 << 20  # of messages for tabs that come back
MAX_KEPT_LINES = 500
MAX_RUNS_RECALLED = 5  # ended ones, whose last lines a log begins with
READ_TIMEOUT_SECONDS = 20.0
_ResultT = TypeVar("_ResultT")


class Tab:
    """Someone who listens. Used in the event loop only, but for the feed's hand-over."""

    def __init__(self, after: str) -> None:
        self.after = after
        self.is_dropped = asyncio.Event()
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(MAX_WAITING_MESSAGES)
        self._waiting_bytes = 0

    def offer(self, message: bytes | None) -> None:
        """None: the stream ends. A tab that does not keep up is dropped; it comes back and catches up."""
        if message is None:
            self.is_dropped.set()
            return
        if self._waiting.full() or self._waiting_bytes > MAX_WAITING_BYTES:
            self.is_dropped.set()
            return
        self._waiting_bytes += len(message)
        self._waiting.put_nowait(message)

    async def receive(self, timeout: float) -> bytes:
        """What is next, several messages at once where they wait; empty: nothing came in that time."""
        try:
            parts = [await asyncio.wait_for(self._waiting.get(), timeout)]
        except TimeoutError:
            return b""
        while not self._waiting.empty():
            parts.append(self._waiting.get_nowait())
        self._waiting_bytes = 0
        return b"".join(parts)


class Channel:
    """One repository's board, read by the feed's thread alone."""

    def __init__(self, key: str, paths: Paths) -> None:
        self.key, self.paths = key, paths
        self.tabs: set[Tab] = set()
        self.wanted_at = time.monotonic()
        self._epoch = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._reader, self._live = BoardReader(paths), LiveLog(paths)
        self._shaper, self._formatter = BoardShaper(), LogFormatter(UNICODE_GLYPHS)
        self._view: BoardView | None = None
        self._head = BoardHead(place="", root=paths.root)
        self._cards: dict[str, CardView] = {}
        self._runs: dict[str, RunView] = {}
        self._activities: dict[str, str] = {}
        self._lines: deque[LogLineView] = deque(maxlen=MAX_KEPT_LINES)
        self._has_recalled = False

    @property
    def version(self) -> str:
        return f"{self._epoch}.{self._number}"

    def look(self) -> list[bytes]:
        """Messages about what is new since the last look."""
        view, problem = _try_reading(self._read_view, self._view or BoardView())
        lines, other_problem = _try_reading(lambda: self._read_lines(view), list[LogLineView]())
        problem = problem or other_problem
        found = []
        if change := self._find_change(view, problem):
            found.append(self._keep("change", change))
        if lines:
            self._lines.extend(lines)
            found.append(self._keep("log", encode_json(LogLines(lines))))
        return found

    def _read_view(self) -> BoardView:
        refuse_missing_folder(self.paths)
        return self._reader.read_view()

    def snapshot(self) -> BoardAnswer:
        return BoardAnswer(
            repository=self.key,
            version=self.version,
            now=time.time(),
            head=self._head,
            cards=[*self._cards.values()],
            runs=[*self._runs.values()],
            lines=[*self._lines],
        )

    def catch_up(self, after: str) -> bytes:
        """What a tab missed since that message; all of it, where that is too long ago, or was another server's."""
        epoch, _, number = after.partition(".")
        if epoch == self._epoch and number.isdecimal() and int(number) <= self._number:
            missed = [message for at, message in self._kept if at > int(number)]
            if len(missed) == self._number - int(number):
                return b"".join(missed)
        return _format_message("reset", self.version, encode_json(self.snapshot()))

    def close(self) -> None:
        self._live.close()
        self._reader.close()

    def _find_change(self, view: BoardView, problem: str) -> bytes:
        """Empty: there is none."""
        cards = self._cards if view is self._view else self._shaper.shape_cards(view)
        head, runs = build_head(view, self.paths.root, problem), shape_runs(view, self._activities)
        if view is self._view and head == self._head and runs == self._runs:
            return b""
        change = compare_boards(self._cards, cards, head, time.time())
        new_runs, gone = list_new_runs(self._runs, runs), [id_ for id_ in self._runs if id_ not in runs]
        is_new = change.cards or change.gone or change.order or new_runs or gone or head != self._head
        self._view, self._cards, self._runs, self._head = view, cards, runs, head
        return encode_json(replace(change, runs=new_runs, runs_gone=gone)) if is_new else b""

    def _read_lines(self, view: BoardView) -> list[LogLineView]:
        events = self._recall_events(view) + self._live.read_events(view.running_slots)
        for each in events:
            doing = self._formatter.format_activity(each.event)
            if doing is not None:
                self._activities[each.run] = doing
        if len(self._activities) > len(view.slots):
            self._activities = {slot.run: self._activities.get(slot.run, "") for slot in view.running_slots}
        return [line for each in events if (line := shape_line(each, self._formatter))]

    def _recall_events(self, view: BoardView) -> list[LiveEvent]:
        """At the first look: whoever comes back when all is over sees how it ended."""
        if self._has_recalled:
            return []
        running = {slot.run for slot in view.running_slots}
        ended = [run for run in self._reader.list_latest_runs(MAX_RUNS_RECALLED) if run.id not in running]
        self._has_recalled = True
        events = [event for run in ended for event in read_ended_run(self.paths, run.id, run.task or run.kind)]
        return sorted(events, key=lambda event: event.at)

    def _keep(self, event: str, data: bytes) -> bytes:
        self._number += 1
        message = _format_message(event, self.version, data)
        self._kept.append((self._number, message))
        self._kept_bytes += len(message)
        while self._kept_bytes > MAX_KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft()[1])
        return message


class Feed:
    """Starts with the first who listens. Its channels belong to its thread; all else goes through `_orders`."""

    def __init__(self) -> None:
        self._channels: dict[str, Channel] = {}
        self._orders: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._is_closed = False
        self._tabs: set[Tab] = set()
        self._thread = threading.Thread(target=self._work, name="feed", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread.start()

    def close(self) -> None:
        """In the event loop: every stream ends."""
        self._is_closed = True
        for tab in self._tabs:
            tab.offer(None)
        self._wake.set()

    def subscribe(self, key: str, paths: Paths, after: str) -> Tab:
        tab = Tab(after)
        self._tabs.add(tab)
        self._order(lambda: self._add_tab(tab, self._open_channel(key, paths)))
        if self._is_closed:
            tab.offer(None)
        return tab

    def unsubscribe(self, key: str, tab: Tab) -> None:
        self._tabs.discard(tab)
        self._order(lambda: self._channels[key].tabs.discard(tab) if key in self._channels else None)

    async def read_board(self, key: str, paths: Paths) -> BoardAnswer:
        """As it is now, read in the feed's thread."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[BoardAnswer] = loop.create_future()

        def settle(answer: BoardAnswer) -> None:
            if not found.done():  # who asked may have left
                found.set_result(answer)

        def read() -> None:
            channel = self._open_channel(key, paths)
            self._hand_out(channel)
            loop.call_soon_threadsafe(settle, channel.snapshot())

        self._order(read)
        return await asyncio.wait_for(found, READ_TIMEOUT_SECONDS)

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        self._wake.set()

    def _work(self) -> None:
        next_look = time.monotonic()
        while not self._is_closed:
            self._wake.wait(max(0.0, next_look - time.monotonic()) if self._channels else None)
            self._wake.clear()
            while self._orders:
                self._orders.popleft()()
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + FEED_SECONDS
                for channel in [*self._channels.values()]:
                    self._hand_out(channel)
                    self._close_unwanted(channel)
        for channel in self._channels.values():
            channel.close()

    def _open_channel(self, key: str, paths: Paths) -> Channel:
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = Channel(key, paths)
            channel.look()
        channel.wanted_at = time.monotonic()
        return channel

    def _add_tab(self, tab: Tab, channel: Channel) -> None:
        self._hand_out(channel)
        self._send([tab], channel.catch_up(tab.after))
        channel.tabs.add(tab)

    def _hand_out(self, channel: Channel) -> None:
        if news := channel.look():
            self._send([*channel.tabs], b"".join(news))

    def _send(self, tabs: Sequence[Tab], message: bytes) -> None:
        if self._loop is not None and tabs and message:
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(_offer_all, tabs, message)

    def _close_unwanted(self, channel: Channel) -> None:
        if channel.tabs:
            channel.wanted_at = time.monotonic()
        elif time.monotonic() - channel.wanted_at > IDLE_CHANNEL_SECONDS:
            self._channels.pop(channel.key).close()


def _offer_all(tabs: Sequence[Tab], message: bytes) -> None:
    for tab in tabs:
        tab.offer(message)


def _try_reading(read: Callable[[], _ResultT], otherwise: _ResultT) -> tuple[_ResultT, str]:
    """What is read, or the other and what went wrong: other tabs and later looks must not suffer."""
    try:
        return read(), ""
    except RalphError as error:
        return otherwise, redact(error.message)
    except Exception as error:  # noqa: BLE001  # whatever it is
        return otherwise, f"internal error: {type(error).__name__}: {redact(str(error))}"


def _format_message(event: str, id_: str, data: bytes) -> bytes:
    """JSON has no line breaks, so that one line of data is enough."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id_.encode(), event.encode(), data)
