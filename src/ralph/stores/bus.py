"""A message bus in a file: many writers in many processes, readers without a lock, nothing lost but what was torn."""

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from ralph.core.supervised.bus_format import canonical_type, encoded, parsed
from ralph.model.errors import UsageError
from ralph.model.message import Message, NoSuchMessage, Parent
from ralph.stores.bus_files import append, locked, opened, set_aside

LOCK_SECONDS = 10.0
ROTATE_AT = 8 * 1024 * 1024
LARGEST = 1024 * 1024  # of a body, in characters
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,63}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_sequence = itertools.count(1)  # of the process, not of a Bus: ids differ between threads and files


class _Place(Struct, frozen=True):
    """How far a follower has read."""

    inode: int
    offset: int
    line: int


class Bus:
    """Ids are given under the lock: they sort as the messages do. A file that has grown large is set aside as
    `NAME.NNNNNN.archived`, and readers read on from there: a bus is never suddenly empty."""

    def __init__(self, path: Path, lock_seconds: float = LOCK_SECONDS, rotate_at: int = ROTATE_AT) -> None:
        self.path = path
        self._lock_seconds = lock_seconds
        self._rotate_at = rotate_at

    def post(
        self,
        kind: str,
        body: str,
        *,
        project_id: str = "",
        task_id: str = "",
        run_id: str = "",
        issue_id: str = "",
        parents: Sequence[Parent] = (),
    ) -> str:
        """Append one message and return its id: from then on every reader sees it."""
        kind = _checked(kind, body)
        while True:
            with locked(self.path, self._lock_seconds) as fd:
                if os.fstat(fd).st_size >= self._rotate_at:
                    set_aside(fd, self.path)
                    continue
                msg_id, ts = _stamped()
                issue = issue_id or (msg_id if kind == "ISSUE" else "")
                message = Message(msg_id, ts, kind, body, project_id, task_id, run_id, issue, tuple(parents))
                append(fd, encoded(message))
                return msg_id

    def read(self, since: str | None = None, last: int | None = None) -> list[Message]:
        """Everything in order, or what came after the message `since`; of that the `last` so many."""
        newest_first: list[Sequence[Message]] = []
        with opened(self.path) as files:
            for file in reversed(files):
                messages = parsed(file.read()).messages
                at = _index(messages, since)
                newest_first.append(messages[at + 1 :])
                if at >= 0 or (since is None and last is not None and sum(map(len, newest_first)) >= last):
                    break
            else:
                if since is not None:
                    raise self._no_such(since)
        found = [message for messages in reversed(newest_first) for message in messages]
        return found if last is None else found[max(0, len(found) - last) :]

    def follow(self, stop: Callable[[], bool], poll: float = 0.2, since: str | None = None) -> Iterator[Message]:
        """Everything after the message `since`, then whatever comes, each once and in order, until told to stop."""
        place: _Place | None = None
        looked: object = ()
        while True:
            ending = stop()  # asked first: what was posted before is still told
            if (look := self._look()) != looked:
                place, news = self._news(place, since)
                for message in news:
                    yield message
                    since = message.msg_id
                looked = look
            if ending:
                return
            time.sleep(poll)

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _news(self, place: _Place | None, since: str | None) -> tuple[_Place | None, Sequence[Message]]:
        """What stands behind the place. Where that is gone, the file was replaced: what stands behind `since`."""
        news: list[Message] = []
        first, here = place is None, place
        with opened(self.path) as files:
            held = next((n for n, file in enumerate(files) if here and _holds(file, here)), None)
            for file in files[held or 0 :]:
                place, messages = _read_on(file, None if held is None else here)
                here = None
                news += messages
        if held is not None or since is None:
            return place, news
        at = _index(news, since)
        if first and at < 0:
            raise self._no_such(since)
        return place, news[at + 1 :]

    def _no_such(self, msg_id: str) -> NoSuchMessage:
        return NoSuchMessage(
            f"no message {msg_id!r} on {str(self.path)!r}", "`ralph bus read --last 20` shows the newest ids"
        )


def _checked(kind: str, body: str) -> str:
    if not _TYPE.fullmatch(kind):
        raise UsageError(f"{kind!r} is no message type", "use one word; `ralph bus types` lists the known ones")
    if len(body) > LARGEST:
        raise UsageError(
            f"a message of {len(body)} characters; at most {LARGEST} are allowed",
            "put it into a file and post its path",
        )
    return canonical_type(kind)


def _stamped() -> tuple[str, datetime]:
    """A new id, and the time in it."""
    nanoseconds = time.time_ns()
    ts = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    process, number = os.getpid() % 100_000, next(_sequence) % 10_000
    return f"MSG-{ts:%Y%m%d-%H%M%S}-{nanoseconds % 10**9:09d}-PID{process:05d}-{number:04d}", ts


def _index(messages: Sequence[Message], msg_id: str | None) -> int:
    return next((n for n, message in enumerate(messages) if message.msg_id == msg_id), -1)


def _holds(file: BinaryIO, place: _Place) -> bool:
    found = os.fstat(file.fileno())
    return found.st_ino == place.inode and found.st_size >= place.offset


def _read_on(file: BinaryIO, place: _Place | None) -> tuple[_Place, Sequence[Message]]:
    here = place or _Place(os.fstat(file.fileno()).st_ino, 0, 1)
    file.seek(here.offset)
    data = file.read()
    found = parsed(data, here.line)
    lines = data.count(b"\n", 0, found.whole)
    return _Place(here.inode, here.offset + found.whole, here.line + lines), found.messages
