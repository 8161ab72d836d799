"""events.ndjson, as faces read it."""

import os
from pathlib import Path

import msgspec
import pytest

from ralph.engine import event_log
from ralph.engine.event_log import EventLog
from ralph.model.events import Event, EventRecord, Noted, Said, ToolEnded, Warned

EVENTS: list[Event] = [Said('two\nlines, "quoted" \x1b'), ToolEnded(id="t", chars=3), Noted("}\n{"), Warned("é✓🚀")]


def read(path: Path) -> list[EventRecord]:
    return msgspec.json.Decoder(EventRecord).decode_lines(path.read_bytes())


@pytest.mark.parametrize("at", [0.0, 1.5, 1794795921.2871559, 1e22])
@pytest.mark.parametrize("events", [EVENTS[:1], EVENTS])
def test_every_event_is_a_moment_on_a_line_of_its_own(tmp_path: Path, at: float, events: list[Event]) -> None:
    tell = EventLog(str(tmp_path))
    tell(at, 7, events)
    tell(at, 8, [])
    tell(at, 9, events)
    tell.close()
    assert read(tmp_path / "events.ndjson") == [EventRecord(at, number, event) for number in (7, 9) for event in events]


def test_it_is_bounded_and_the_file_before_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_EVENT_LOG_BYTES", 1_000)
    tell = EventLog(str(tmp_path))
    for number in range(100):
        tell(1.0, number, [Said("x" * 100)])
    tell.close()
    older, newer = (read(tmp_path / name) for name in ("events.1.ndjson", "events.ndjson"))
    kept = [moment.iteration for moment in (*older, *newer)]
    assert kept == list(range(100 - len(kept), 100))
    assert {each.name for each in tmp_path.iterdir()} == {"events.ndjson", "events.1.ndjson"}
    assert max(each.stat().st_size for each in tmp_path.iterdir()) <= 1_000


def test_a_folder_that_is_gone_costs_the_event_log_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_EVENT_LOG_BYTES", 1_000)
    folder = tmp_path / "gone"
    folder.mkdir()
    tell = EventLog(str(folder))
    (folder / "events.ndjson").unlink()
    folder.rmdir()
    for number in range(100):
        tell(1.0, number, [Said("x" * 100)])
    tell.close()
    assert not folder.exists()


def test_what_cannot_be_written_costs_the_event_log_only(tmp_path: Path) -> None:
    tell = EventLog(str(tmp_path))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, tell._fd)
    os.close(full)
    fd = tell._fd
    tell(1.0, 1, EVENTS)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    tell(1.0, 2, EVENTS)
    tell.close()
    assert read(tmp_path / "events.ndjson") == []


def test_events_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "events.ndjson").symlink_to(tmp_path / "precious")
    EventLog(str(tmp_path))(1.0, 1, EVENTS)
    assert len(read(tmp_path / "events.ndjson")) == len(EVENTS)
    assert (tmp_path / "precious").read_text() == "mine"
