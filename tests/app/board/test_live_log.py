"""Hearing what agents do: whole lines, across rotations, of all runs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.board.live_log import MAX_LOG_BYTES_PER_READ, LiveLog
from ralph.app.board.view import WorkerSlot
from ralph.app.board.watch import BoardReader
from ralph.app.runs.tail import FileTail
from ralph.engine import event_log
from ralph.model.events import IterationStarted, Said
from support.board_room import BoardFixture


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path)
    yield room
    room.close()


def said(live: LiveLog, *slots: WorkerSlot) -> list[str]:
    return [heard.event.text for heard in live.read_events(slots) if isinstance(heard.event, Said)]


def test_a_tail_gives_whole_lines_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "file"
    tail = FileTail(str(file))
    assert list(tail.read_blocks()) == []  # it is not there yet
    file.write_bytes(b"one\ntwo\nthr")
    assert list(tail.read_blocks()) == [b"one\ntwo\n"]
    assert tail.partial_line() == b"thr"
    with file.open("ab") as more:
        more.write(b"ee\n")
    assert list(tail.read_blocks()) == [b"three\n"]
    assert list(tail.read_blocks()) == []


def test_a_tail_reads_what_was_rotated_away_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one\n")
    tail = FileTail(str(file))
    assert list(tail.read_blocks()) == [b"one\n"]
    with file.open("ab") as more:
        more.write(b"two\n")
    os.replace(file, tmp_path / "older")
    file.write_bytes(b"three\n")
    assert list(tail.read_blocks()) == [b"two\n", b"three\n"]


def test_a_bounded_tail_skips_to_the_last_whole_lines(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"".join(b"line %d\n" % number for number in range(1000)))
    tail = FileTail(str(file), last=20)
    assert list(tail.read_blocks()) == [b"line 998\nline 999\n"]


def test_all_runs_are_heard_in_order(room: BoardFixture) -> None:
    live = LiveLog(room.places)
    one, two = WorkerSlot(number=1, run="run-1", role="run"), WorkerSlot(number=2, run="run-2", role="story")
    room.tell("run-1", Said("first"), at=1.0)
    room.tell("run-2", Said("second"), at=2.0)
    room.tell("run-1", Said("third"), at=3.0)
    assert said(live, one, two) == ["first", "second", "third"]
    room.tell("run-2", Said("fourth"), at=4.0)
    assert said(live, one, two) == ["fourth"]


def test_a_run_that_ended_is_heard_out(room: BoardFixture) -> None:
    live, slot = LiveLog(room.places), WorkerSlot(number=1, run="run-1", role="run")
    room.tell("run-1", Said("first"))
    said(live, slot)
    room.tell("run-1", Said("last words"))
    assert said(live) == ["last words"]
    room.tell("run-1", Said("nobody listens any more"))
    assert said(live) == []


def test_the_role_is_that_of_its_time(room: BoardFixture) -> None:
    live = LiveLog(room.places)
    room.tell("run-1", IterationStarted(1, 15, "coder TASK-001"), Said("code"), at=1.0)
    room.tell("run-1", IterationStarted(1, 5, "reviewer TASK-001"), Said("review"), at=2.0)
    heard = live.read_events([WorkerSlot(number=1, run="run-1", role="reviewer", task="TASK-001")])
    assert [(h.label, h.role) for h in heard if isinstance(h.event, Said)] == [
        ("TASK-001", "coder"),
        ("TASK-001", "reviewer"),
    ]


def test_torn_and_foreign_lines_are_passed_over(room: BoardFixture) -> None:
    room.tell("run-1", Said("before"))
    with open(os.path.join(room.places.run_dir("run-1"), "events.ndjson"), "ab") as file:
        file.write(b'{"at":1,"iteration":1,"event":{"type":"of tomorrow"}}\n\xff\xfe\n{"at":\n')
    room.tell("run-1", Said("after"))
    assert said(LiveLog(room.places), WorkerSlot(number=1, run="run-1", role="run")) == ["before", "after"]


def test_of_a_flood_only_the_end_is_heard(room: BoardFixture) -> None:
    room.tell("run-1", *(Said(f"{number:05}" + "x" * 1000) for number in range(500)))
    heard = said(LiveLog(room.places), WorkerSlot(number=1, run="run-1", role="run"))
    assert heard[-1].startswith("00499")
    assert 0 < len(heard) <= MAX_LOG_BYTES_PER_READ // 1000


def test_rotation_loses_nothing(room: BoardFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_EVENT_LOG_BYTES", 200)
    live, slot, heard = LiveLog(room.places), WorkerSlot(number=1, run="run-1", role="run"), list[str]()
    for number in range(30):
        room.tell("run-1", Said(str(number)))
        heard += said(live, slot)
    assert heard == [str(number) for number in range(30)]


def test_every_kind_of_loop_is_heard(room: BoardFixture) -> None:
    for kind in ("run", "story", "supervise"):
        room.begin(kind, kind=kind)
        room.tell(kind, Said(kind))
    heard = LiveLog(room.places).read_events(BoardReader(room.places).read_view().running_slots)
    assert sorted(each.label for each in heard) == ["run", "story", "supervise"]
