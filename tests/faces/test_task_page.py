"""A task as a page."""

from ralph.app.board.tasks import TaskDetails
from ralph.app.pipeline.stages import resolve_limit, resolve_stage_criteria
from ralph.config.schema import Settings
from ralph.faces.glyphs import ASCII_GLYPHS, Glyphs
from ralph.faces.glyphs import UNICODE_GLYPHS as UNICODE
from ralph.faces.task_page import render_task_text
from ralph.model.board import Entry, Spending
from ralph.model.spec import ROLES, Task, TaskCompletionSpec, TaskStatusName, VerificationAttempt

FAILED = VerificationAttempt(
    iteration=1,
    promise_found=True,
    verified=False,
    reason="Command exited with 2, expected 0",
    timestamp="noon",
    agent="coder",
    method="external",
    digest="ab" * 32,
    detail="one\ntwo\n1 failed\nmake: *** [test] Error 1\n",
    command="make test",
    log="/repo/.git/ralph/runs/r1/verification_001.log",
)
PASSED = VerificationAttempt(
    iteration=2,
    promise_found=True,
    verified=True,
    reason="External verification passed",
    timestamp="one",
    agent="coder",
    method="external",
    command="make test",
    red_before=True,
)
WORDS = VerificationAttempt(
    iteration=1, promise_found=True, verified=True, reason="ok", timestamp="two", agent="qa", by_words=True
)


def show(status: TaskStatusName, *attempts: VerificationAttempt, glyphs: Glyphs = UNICODE, most: int = 2) -> list[str]:
    task = Task(
        id="T-1",
        spec_id="s",
        title="Do it",
        status=status,
        completion_spec=TaskCompletionSpec("It works", ["a", "b"]),
        metadata={"landed": {"commit": "c0ffee", "target": "main"}} if status == "done" else {},
    )
    settings = Settings()
    details = TaskDetails(
        entry=Entry(task=task),
        criteria={role: resolve_stage_criteria(task, role, settings) for role in ROLES},
        limits={role: resolve_limit(task, role, settings, lambda *_: []) for role in ROLES},
        attempts=attempts,
        log=(),
        spent=Spending(None, 0, 0),
    )
    return render_task_text(details, glyphs=glyphs, folder="/repo", max_check_lines=most).splitlines()


def test_a_failed_attempt_shows_the_command_its_last_lines_and_where_all_of_them_are() -> None:
    lines = show("todo", FAILED)
    at = lines.index("  ✗ coder 1  noon  external: `make test`: Command exited with 2, expected 0")
    assert lines[at + 1 :] == [
        "      └ two",
        "        1 failed",
        "        full output: .git/ralph/runs/r1/verification_001.log",
    ]
    assert "abab" not in "\n".join(lines)
    assert show("todo", FAILED, most=0)[-1] == "      └ .git/ralph/runs/r1/verification_001.log"


def test_a_done_task_shows_its_criteria_ticked_by_what_they_were_verified_and_the_commit() -> None:
    lines = show("done", FAILED, PASSED, WORDS)
    at = lines.index("Acceptance criteria")
    assert lines[at + 1 : at + 9] == [
        "  - [x] a",
        "  - [x] b",
        "",
        "Verified by",
        "  coder     `make test` passed, failed before the work",
        "  qa        the agent's words only",
        "",
        "Merged into main as commit c0ffee",
    ]


def test_an_open_task_has_nothing_ticked() -> None:
    lines = show("todo", PASSED)
    assert "  - [ ] a" in lines
    assert "Verified by" not in lines


def test_the_page_can_be_drawn_in_ascii() -> None:
    lines = show("todo", FAILED, PASSED, glyphs=ASCII_GLYPHS)
    assert any(line.startswith("  [ERR] coder 1") for line in lines)
    assert any(line.startswith("  [OK] coder 2") for line in lines)
