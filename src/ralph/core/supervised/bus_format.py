r"""The bytes of a message bus: entries of front matter and body, and what a crash may leave of one.

An entry is `---`, the fields, `---`, the body and a newline; a blank line parts entries. Three things are ours, there
only where the plain format could not be read back, and harmless to readers that do not know them:

- a body line `---`, and a first body line `msg_id:…`, is written with a backslash before it, and so is one that has
  backslashes already. Hence `---` with `msg_id:` on the next line opens an entry wherever it stands;
- a body of several lines is counted in `lines: N`: one that was cut short is known for what it is;
- a value that is not a plain word is a JSON string, which is YAML too.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from ralph.core.text.front_matter import parse_front_matter, render_parents, render_scalar
from ralph.model.message import MESSAGE_TYPES, Message

_OWN_ENTRY_START = b"---\nmsg_id: MSG-"
_ENTRY_START = b"\n---\nmsg_id:"
_SEPARATOR_LINE = re.compile(
    rb"^---\r?(?:\n(?=(?P<id>msg_id:)|"
    rb"(?P<key>(?:ts|type|project_id|task_id|run_id|issue_id|parents|links|meta|lines):)|)|\Z)",
    re.MULTILINE,
)
_LINE_COUNT_FIELD = re.compile(rb"^lines:[ \t]*([0-9]{1,9})[ \t\r]*$", re.MULTILINE)
_NEEDS_ESCAPE = re.compile(r"^(?=\\*---\r?$)|\A(?=\\*msg_id:)", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(?=\\*---\r?$)|\A\\(?=\\*msg_id:)", re.MULTILINE)
_LEGACY_LINE = re.compile(r"\[([^\]]+)\]\s*(?:([A-Za-z][A-Za-z0-9_/-]*)\s*:(?!//)\s*(?=\S))?(.+)", re.DOTALL)
_TIMED_ID = re.compile(r"MSG-([0-9]{8})-([0-9]{6})-[0-9]{9}-PID[0-9]{5}-[0-9]{4}")
_TYPE_BY_FOLDED_NAME = {name.casefold(): name for name in MESSAGE_TYPES}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ParsedBus(Struct, frozen=True):
    """The messages, and how many bytes of the input are finished with; what follows is torn or still being written."""

    messages: tuple[Message, ...]
    bytes_read: int


class AppendPoint(Struct, frozen=True):
    """Where to append the next entry: how many bytes of the tail stay, and the separator to write after them."""

    keep: int
    separator: bytes


class _EntrySpan(Struct, frozen=True, kw_only=True):
    """Where an entry lies. `close` is where its header ends, -1 when it does not."""

    start: int
    head: int
    close: int
    body: int
    end: int


def canonicalize_type(word: str) -> str:
    """A known type in its own spelling; any other word as it is."""
    return _TYPE_BY_FOLDED_NAME.get(word.casefold(), word)


def encode_message(message: Message) -> bytes:
    """The entry, without the blank line that parts it from the one before."""
    body, count = message.body, message.body.count("\n") + 1
    if "---" in body or "msg_id:" in body:
        body = _NEEDS_ESCAPE.sub(r"\\", body)
    header = (
        f"msg_id: {render_scalar(message.msg_id)}\n"
        f"ts: {message.ts.astimezone(UTC).isoformat().replace('+00:00', 'Z')}\n"
        f"type: {render_scalar(message.type)}\n"
        f"project_id: {render_scalar(message.project_id)}\n"
        f"task_id: {render_scalar(message.task_id)}\n"
        f"run_id: {render_scalar(message.run_id)}\n"
        + (f"issue_id: {render_scalar(message.issue_id)}\n" if message.issue_id else "")
        + render_parents(message.parents)
        + (f"lines: {count}\n" if count > 1 else "")
    )
    return f"---\n{header}---\n{body}\n".encode("utf-8", "replace")


def parse_bus(data: bytes, first_line: int = 1) -> ParsedBus:
    """Every message in it, in order. Any bytes are read; what is no message is passed over."""
    frames, whole = _find_complete_entries(data)
    messages = [*_parse_legacy_lines(data[: frames[0].start if frames else whole], first_line)]
    for frame in frames:
        message = _parse_entry(data, frame, first_line)
        if message:
            messages.append(message)
    return ParsedBus(tuple(messages), whole)


def find_append_point(tail: bytes, at_start: bool) -> AppendPoint | None:
    """How to go on after these last bytes of a bus; None when they do not reach back far enough to tell."""
    opening = tail.rfind(_ENTRY_START) + 1
    if not opening and not at_start:
        return None
    whole = opening + _find_complete_entries(tail[opening:])[1]
    rest = tail[whole:].rstrip(b"\0")
    keep = len(tail)
    if rest.startswith(_OWN_ENTRY_START) or _OWN_ENTRY_START.startswith(rest):  # nobody was told of that message
        keep = whole - 1 if tail[:whole].endswith(b"\n\n") and rest else whole
    if keep == 0 and at_start:
        return AppendPoint(0, b"")
    return AppendPoint(keep, b"\n" if tail[:keep].endswith(b"\n") else b"\n\n")


def _find_complete_entries(data: bytes) -> tuple[list[_EntrySpan], int]:
    """The entries that are all there, and where they end."""
    end = data.rfind(b"\n") + 1  # a line without its end is not there yet
    frames = list(_find_entries(data[:end]))
    last = frames[-1] if frames else None
    if last and not _is_complete_entry(data, last):
        return frames[:-1], last.start
    rule = _find_trailing_separator(data[:end], last)
    if rule is None:
        return frames, end
    if last:  # the rule may begin the next entry
        frames[-1] = _EntrySpan(start=last.start, head=last.head, close=last.close, body=last.body, end=rule)
    return frames, rule


def _find_entries(data: bytes) -> Iterator[_EntrySpan]:
    """Where the entries lie. A header that meets the next `msg_id:` before its end was torn, and is skipped."""
    opened: re.Match[bytes] | None = None
    closed: re.Match[bytes] | None = None
    for rule in _SEPARATOR_LINE.finditer(data):
        if opened and not closed and rule.lastgroup != "id":
            closed = rule
        elif rule.lastgroup:
            if opened and closed:
                yield _EntrySpan(
                    start=opened.start(), head=opened.end(), close=closed.start(), body=closed.end(), end=rule.start()
                )
            opened, closed = rule, None
    if opened:
        close, body = (closed.start(), closed.end()) if closed else (-1, len(data))
        yield _EntrySpan(start=opened.start(), head=opened.end(), close=close, body=body, end=len(data))


def _is_complete_entry(data: bytes, last: _EntrySpan) -> bool:
    if last.close < 0:
        return False
    fewest = (
        1 if data.startswith(_OWN_ENTRY_START, last.start) or len(data) > last.end else 0
    )  # others may leave out the body
    return data.count(b"\n", last.body, last.end) >= max(fewest, _read_line_count(data, last))


def _find_trailing_separator(data: bytes, last: _EntrySpan | None) -> int | None:
    """Where a last line `---` begins that does not close a header; None without one."""
    start = data.rfind(b"\n", 0, -1) + 1
    closes = last is not None and last.close == start
    return start if not closes and data[start:] in (b"---\n", b"---\r\n") else None


def _read_line_count(data: bytes, frame: _EntrySpan) -> int:
    """How many lines the body is said to have; 0 when it is not said."""
    count = _LINE_COUNT_FIELD.search(data, frame.head, frame.close)
    return int(count[1]) if count else 0


def _parse_entry(data: bytes, frame: _EntrySpan, first_line: int) -> Message | None:
    fields = parse_front_matter(data[frame.head : frame.close].decode("utf-8", "replace"))
    value = fields.values.get
    msg_id = value("msg_id") or _make_legacy_id(first_line + data.count(b"\n", 0, frame.start))
    ts = _parse_time(value("ts", "")) if value("ts") else _time_from_id(msg_id)
    if ts is None:
        return None
    type_ = canonicalize_type(value("type") or "INFO")
    body = data[frame.body : frame.end].decode("utf-8", "replace")
    if data.startswith(b"---\r", frame.start):
        body = body.replace("\r\n", "\n")
    return Message(
        msg_id=msg_id,
        ts=ts,
        type=type_,
        body=_ESCAPED.sub("", _strip_separators(body, _read_line_count(data, frame))),
        project_id=value("project_id", ""),
        task_id=value("task_id", ""),
        run_id=value("run_id", ""),
        issue_id=value("issue_id") or (msg_id if type_ == "ISSUE" else ""),
        parents=fields.parents,
    )


def _strip_separators(text: str, lines: int) -> str:
    """The body without the newlines that part it from the next entry. Where they are counted, its own are kept."""
    if lines:
        found = text.split("\n")
        if len(found) > lines and not any(found[lines:]):
            return "\n".join(found[:lines])
    return text.rstrip("\n")


def _parse_legacy_lines(data: bytes, first_line: int) -> Iterator[Message]:
    """Lines `[time] TYPE: text`, as they were written before there were entries."""
    for number, line in enumerate(data.split(b"\n"), first_line):
        found = _LEGACY_LINE.fullmatch(line.decode("utf-8", "replace").strip())
        ts = _parse_time(found[1].strip()) if found else None
        if found and ts:
            type_ = canonicalize_type((found[2] or "INFO").upper())
            yield Message(msg_id=_make_legacy_id(number), ts=ts, type=type_, body=found[3].strip())


def _make_legacy_id(line: int) -> str:
    return f"LEGACY-LINE-{line:09d}"


def _parse_time(text: str) -> datetime | None:
    """A time without a zone is UTC."""
    try:
        ts = datetime.fromisoformat(text)
        return ts.replace(tzinfo=UTC) if ts.tzinfo is None else ts.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _time_from_id(msg_id: str) -> datetime:
    found = _TIMED_ID.fullmatch(msg_id)
    return (_parse_time(f"{found[1]}T{found[2]}") if found else None) or _EPOCH
