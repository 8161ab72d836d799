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

from ralph.core.supervised.bus_format import canonicalize_type, encode_message, parse_bus
from ralph.model.errors import UsageError
from ralph.model.message import Message, NoSuchMessage, Parent
from ralph.stores.bus_files import append_entry, archive_bus_file, lock_bus_file, open_bus_files

BUS_LOCK_SECONDS = 10.0
MAX_BUS_FILE_BYTES = 8 * 1024 * 1024
MAX_MESSAGE_CHARS = 1024 * 1024  # of a body, in characters
_TYPE_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,63}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_sequence = itertools.count(1)  # of the process, not of a Bus: ids differ between threads and files


class _ReadPosition(Struct, frozen=True):
    """How far a follower has read."""

    inode: int
    offset: int
    line: int


class FileMessageBus:
    """Ids are given under the lock: they sort as the messages do. A file that has grown large is set aside as
    `NAME.NNNNNN.archived`, and readers read on from there: a bus is never suddenly empty."""

    def __init__(self, path: Path, lock_seconds: float = BUS_LOCK_SECONDS, rotate_at: int = MAX_BUS_FILE_BYTES) -> None:
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
        kind = _validate_message(kind, body)
        while True:
            with lock_bus_file(self.path, self._lock_seconds) as fd:
                if os.fstat(fd).st_size >= self._rotate_at:
                    archive_bus_file(fd, self.path)
                    continue
                msg_id, ts = _make_message_id()
                issue = issue_id or (msg_id if kind == "ISSUE" else "")
                message = Message(
                    msg_id=msg_id,
                    ts=ts,
                    type=kind,
                    body=body,
                    project_id=project_id,
                    task_id=task_id,
                    run_id=run_id,
                    issue_id=issue,
                    parents=tuple(parents),
                )
                append_entry(fd, encode_message(message))
                return msg_id

    def read(self, since: str | None = None, last: int | None = None) -> list[Message]:
        """Everything in order, or what came after the message `since`; of that the `last` so many."""
        newest_first: list[Sequence[Message]] = []
        with open_bus_files(self.path) as files:
            for file in reversed(files):
                messages = parse_bus(file.read()).messages
                at = _find_index(messages, since)
                newest_first.append(messages[at + 1 :])
                if at >= 0 or (since is None and last is not None and sum(map(len, newest_first)) >= last):
                    break
            else:
                if since is not None:
                    raise self._build_unknown_message_error(since)
        found = [message for messages in reversed(newest_first) for message in messages]
        return found if last is None else found[max(0, len(found) - last) :]

    def follow(self, stop: Callable[[], bool], poll: float = 0.2, since: str | None = None) -> Iterator[Message]:
        """Everything after the message `since`, then whatever comes, each once and in order, until told to stop."""
        place: _ReadPosition | None = None
        looked: object = ()
        while True:
            ending = stop()  # asked first: what was posted before is still told
            if (look := self._read_file_state()) != looked:
                place, news = self._read_new(place, since)
                for message in news:
                    yield message
                    since = message.msg_id
                looked = look
            if ending:
                return
            time.sleep(poll)

    def _read_file_state(self) -> tuple[int, int, int] | None:
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _read_new(
        self, place: _ReadPosition | None, since: str | None
    ) -> tuple[_ReadPosition | None, Sequence[Message]]:
        """What stands behind the place. Where that is gone, the file was replaced: what stands behind `since`."""
        news: list[Message] = []
        first, here = place is None, place
        with open_bus_files(self.path) as files:
            held = next((n for n, file in enumerate(files) if here and _has_position(file, here)), None)
            for file in files[held or 0 :]:
                place, messages = _read_from(file, None if held is None else here)
                here = None
                news += messages
        if held is not None or since is None:
            return place, news
        at = _find_index(news, since)
        if first and at < 0:
            raise self._build_unknown_message_error(since)
        return place, news[at + 1 :]

    def _build_unknown_message_error(self, msg_id: str) -> NoSuchMessage:
        return NoSuchMessage(
            f"no message {msg_id!r} on {str(self.path)!r}", "`ralph bus read --last 20` shows the newest ids"
        )


def _validate_message(kind: str, body: str) -> str:
    if not _TYPE_PATTERN.fullmatch(kind):
        raise UsageError(f"{kind!r} is not a message type", "use one word; `ralph bus types` lists the known ones")
    if len(body) > MAX_MESSAGE_CHARS:
        raise UsageError(
            f"a message of {len(body)} characters; at most {MAX_MESSAGE_CHARS} are allowed",
            "put it into a file and post its path",
        )
    return canonicalize_type(kind)


def _make_message_id() -> tuple[str, datetime]:
    """A new id, and the time in it."""
    nanoseconds = time.time_ns()
    ts = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    process, number = os.getpid() % 100_000, next(_sequence) % 10_000
    return f"MSG-{ts:%Y%m%d-%H%M%S}-{nanoseconds % 10**9:09d}-PID{process:05d}-{number:04d}", ts


def _find_index(messages: Sequence[Message], msg_id: str | None) -> int:
    return next((n for n, message in enumerate(messages) if message.msg_id == msg_id), -1)


def _has_position(file: BinaryIO, place: _ReadPosition) -> bool:
    found = os.fstat(file.fileno())
    return found.st_ino == place.inode and found.st_size >= place.offset


def _read_from(file: BinaryIO, place: _ReadPosition | None) -> tuple[_ReadPosition, Sequence[Message]]:
    here = place or _ReadPosition(os.fstat(file.fileno()).st_ino, 0, 1)
    file.seek(here.offset)
    data = file.read()
    found = parse_bus(data, here.line)
    lines = data.count(b"\n", 0, found.bytes_read)
    return _ReadPosition(here.inode, here.offset + found.bytes_read, here.line + lines), found.messages
