"""The context monitor: one alert per threshold and session, and the exact words of the seed."""

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.hooks import HookResult, load_sample_event, run_hook

NOTICE = (
    "Be mindful of remaining space. Plan to finish your current task within this session. If you discover follow-up "
    "work, add new stories to tasks.json — the next iteration will pick them up."
)
WARNING = (
    "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new stories in "
    "tasks.json for the next iteration and capture any implementation details or insights in progress.txt so the next "
    "iteration has full context."
)
CRITICAL = (
    "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining work, "
    "(2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, (4) stop. "
    "The next iteration will continue from where you left off."
)


class Session:
    """A transcript that grows, and the hook after each tool."""

    def __init__(self, folder: Path, id_: Any = "b38dfc54-b55a-4837-bf28-a15ce859e985", window: int = 1000) -> None:
        self.folder = folder
        self.id = id_
        self.window = window
        self.transcript = folder / "transcript.jsonl"

    def at(self, percent: float, event: str = "PostToolUse", **variables: str) -> HookResult:
        with open(self.transcript, "wb") as file:
            file.truncate(int(self.window * 4 * percent / 100))
        return self.tell(event, **variables)

    def tell(self, event: str, **fields: str) -> HookResult:
        variables = {"CLAUDE_CONTEXT_WINDOW": str(self.window)}
        variables |= {name: fields.pop(name) for name in [*fields] if name.isupper()}
        asked = load_sample_event(event, session_id=self.id, transcript_path=str(self.transcript), **fields)
        return run_hook("context_monitor.py", asked, self.folder, **variables)


def alert(ran: HookResult) -> str:
    return str(ran.answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


@pytest.mark.parametrize(
    ("percent", "severity", "text"),
    [
        (50, "NOTICE", NOTICE),
        (60, "NOTICE", NOTICE),
        (70, "WARNING", WARNING),
        (80, "WARNING", WARNING),
        (90, "CRITICAL", CRITICAL),
        (250, "CRITICAL", CRITICAL),
    ],
)
def test_each_threshold_has_its_severity_and_its_words(
    session: Session, percent: int, severity: str, text: str
) -> None:  # 004-13
    ran = session.at(percent)
    assert alert(ran) == f"{severity}: about {percent}% of the context window is used. {text}"
    assert ran.answer["hookSpecificOutput"]["hookEventName"] == "PostToolUse"


def test_each_threshold_alerts_once(session: Session) -> None:  # 004-13
    heard = [
        percent for percent in (10, 49.9, 50, 55, 60, 60, 69, 75, 80, 89, 90, 95, 99) if alert(session.at(percent))
    ]
    assert heard == [50, 60, 75, 80, 90]


def test_a_jump_past_several_alerts_once_with_the_highest(session: Session) -> None:  # §3, 19
    assert alert(session.at(95)).startswith("CRITICAL")
    assert [alert(session.at(percent)) for percent in (95, 96, 85, 75, 50)] == [""] * 5


def test_a_failed_tool_counts_as_well(session: Session) -> None:
    ran = session.at(50, "PostToolUseFailure")
    assert ran.answer["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
    assert alert(session.at(50)) == ""


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_a_new_session_starts_afresh_and_leaves_others_alone(tmp_path: Path, source: str) -> None:  # 004-13; §3, 19
    one, other = Session(tmp_path, "one"), Session(tmp_path, "other")
    assert alert(one.at(50))
    assert alert(other.at(50))
    assert one.tell("SessionStart", source=source).out == ""
    assert alert(one.at(50))
    assert alert(other.at(50)) == ""


def test_a_compacted_session_goes_on(session: Session) -> None:
    assert alert(session.at(50))
    session.tell("SessionStart", source="compact")
    assert alert(session.at(50)) == ""


def test_the_window_has_200_000_tokens_of_4_characters_unless_told(tmp_path: Path) -> None:  # 004-13
    for number, setting in enumerate(["", "0", "-5", "many", "²", "200000"]):
        session = Session(tmp_path, f"s{number}", window=200_000)
        assert alert(session.at(49.9, CLAUDE_CONTEXT_WINDOW=setting)) == ""
        assert alert(session.at(50, CLAUDE_CONTEXT_WINDOW=setting))


def test_the_state_is_in_the_temporary_folder_by_session(session: Session) -> None:  # 004-13
    session.at(50)
    assert (session.folder / f"claude-context-alerts-{session.id}").read_text() == "50"


HOSTILE = ["../../escape", "/etc/passwd", "a/b", "a\0b", "..", "x" * 5000, "naïve", "\ud800", "a b;c$(d)\n"]


@pytest.mark.parametrize("id_", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_session_id_stays_in_its_folder_and_apart(tmp_path: Path, id_: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    session = Session(inner, id_)
    assert alert(session.at(50))
    assert alert(session.at(50)) == ""
    assert alert(Session(inner, id_ + "x").at(50))
    assert len([*inner.iterdir()]) == 3
    assert [*tmp_path.iterdir()] == [inner]


@pytest.mark.parametrize("id_", ["", " ", None, 5])
def test_without_a_session_id_the_transcript_tells_sessions_apart(tmp_path: Path, id_: object) -> None:  # §3, 20
    one, other = Session(tmp_path, id_), Session(tmp_path, id_)
    other.transcript = tmp_path / "other.jsonl"
    assert alert(one.at(50))
    assert alert(other.at(50))
    assert alert(one.at(50)) == ""
    nameless = run_hook("context_monitor.py", {"hook_event_name": "PostToolUse", "session_id": id_}, tmp_path)
    assert nameless.out == ""


def test_hooks_at_the_same_moment_alert_once(session: Session) -> None:
    note = session.folder / f"claude-context-alerts-{session.id}"
    with ThreadPoolExecutor(1) as pool, note.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another hook is about to alert
        waiting = pool.submit(session.at, 50)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        file.write(b"50")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_UN)
        assert alert(waiting.result()) == ""


def test_where_nothing_can_be_kept_nothing_is_said(session: Session) -> None:
    os.symlink("/nowhere/else", session.folder / f"claude-context-alerts-{session.id}")
    ran = session.at(50)
    assert ran.out == ""
    assert "cannot keep" in ran.err


@pytest.mark.parametrize(
    "event",
    [
        "",
        "[]",
        "{",
        "{}",
        '{"session_id": "a", "transcript_path": "/nowhere"}',
        '{"session_id": "a", "transcript_path": "a\\u0000b"}',
        '{"session_id": "a", "transcript_path": 5}',
    ],
)
def test_a_strange_event_stops_nobody(tmp_path: Path, event: str) -> None:
    assert run_hook("context_monitor.py", event, tmp_path).out == ""
