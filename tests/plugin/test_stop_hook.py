"""The Stop hook: an iteration ends when tasks.json is legal and everything is committed; after five blocks it may."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.hooks import HookResult, load_sample_event, run_hook
from support.workshop import ProjectFixture

UNSTARTED: dict[str, Any] = {"passes": False, "reviewStatus": None, "reviewCount": 0}
STEPS = """\
1. Update ralph/progress.txt with what was accomplished + learnings
2. Consider if any lasting patterns belong in CLAUDE.md or `.claude/rules/`
3. Commit ALL changes including progress.txt and tasks.json updates"""


class Loop:
    """A repository with a running story loop."""

    def __init__(self, workshop: ProjectFixture) -> None:
        self.root = workshop.repo
        self.git = workshop.git
        self.temporary = workshop.home
        (self.root / ".gitignore").write_text(".ralph-active\n")
        self.tasks(story())
        self.marker()
        self.commit()

    def tasks(self, *stories: Any, folder: str = "ralph") -> None:
        document = {"project": "demo", "branchName": "ralph/demo", "description": "", "userStories": list(stories)}
        (self.root / folder).mkdir(exist_ok=True)
        (self.root / folder / "tasks.json").write_text(json.dumps(document))

    def marker(self, place: str = ".ralph-active", **fields: Any) -> None:
        whole = {
            "timestamp": "2025-06-15T10:30:00Z",
            "pid": 12345,
            "max_iterations": 15,
            "mode": "direct",
            "skipReview": False,
            "reviewCap": 5,
            "iterationMode": "implement",
            "preIterationSnapshot": {"US-001": UNSTARTED},
            **fields,
        }
        (self.root / place).parent.mkdir(exist_ok=True)
        (self.root / place).write_text(json.dumps(whole))

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x", "--allow-empty")

    def stop(self, active: bool = False, session: str = "s1", cwd: str = "", **fields: Any) -> HookResult:
        event = load_sample_event(
            "Stop", cwd=cwd or str(self.root), session_id=session, stop_hook_active=active, **fields
        )
        return run_hook("stop_loop_reminder.py", event, self.temporary)


def story(**fields: Any) -> dict[str, Any]:
    return {
        "id": "US-001",
        "title": "a story",
        "acceptanceCriteria": ["it works"],
        "priority": 1,
        "reviewFeedback": "",
        "notes": "done",
        **UNSTARTED,
        **fields,
    }


@pytest.fixture
def loop(workshop: ProjectFixture) -> Loop:
    return Loop(workshop)


def test_a_clean_legal_iteration_may_end(loop: Loop) -> None:
    loop.tasks(story(reviewStatus="needs_review"))
    loop.commit()
    ran = loop.stop()
    assert (ran.out, ran.err) == ("", "")


def test_without_a_marker_it_is_silent_whatever_there_is(loop: Loop) -> None:  # 004-14
    (loop.root / ".ralph-active").unlink()
    (loop.root / "ralph" / "tasks.json").write_text("broken")
    ran = loop.stop()
    assert (ran.out, ran.err) == ("", "")


@pytest.mark.parametrize("place", [".ralph-active", ".ralph/.ralph-active"])
def test_the_marker_is_honoured_in_both_places(loop: Loop, place: str) -> None:  # C23
    (loop.root / ".ralph-active").unlink()
    loop.marker(place)
    loop.tasks(story(passes=True, reviewStatus="approved"))
    loop.commit()
    assert "Implement iterations cannot set passes=true" in loop.stop().reason


def test_an_implementer_cannot_approve_its_own_story(loop: Loop) -> None:  # 004-17
    loop.tasks(story(passes=True, reviewStatus="approved"))
    loop.commit()
    ran = loop.stop()
    assert ran.answer["decision"] == "block"
    assert (
        "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. "
        "Story US-001 had illegal transition: passes false → true."
    ) in ran.reason


def test_uncommitted_changes_block_with_the_three_steps(loop: Loop) -> None:  # 004-21
    (loop.root / "main.py").write_text("x = 1\n")
    ran = loop.stop()
    assert STEPS in ran.reason
    assert "?? main.py" in ran.reason
    loop.commit()
    assert not loop.stop().reason


def test_every_reason_is_told_at_once(loop: Loop) -> None:
    loop.tasks(story(passes=True), story())
    reason = loop.stop().reason
    assert "Duplicate story id 'US-001'." in reason  # §4
    assert "There are uncommitted changes" in reason


def test_however_much_is_wrong_it_can_be_read(loop: Loop) -> None:
    loop.tasks(*(story(id=f"US-{number}", passes=True) for number in range(500)))
    loop.commit()
    reason = loop.stop().reason
    assert "Story US-0 has passes=true" in reason
    assert len(reason) < 20_000


@pytest.mark.parametrize("kind", ["pipe", "folder", "large"])
def test_what_is_no_task_list_at_all_keeps_nobody_waiting(loop: Loop, kind: str) -> None:  # 004-15
    tasks = loop.root / "ralph" / "tasks.json"
    tasks.unlink()
    if kind == "pipe":
        os.mkfifo(tasks)
    elif kind == "folder":
        tasks.mkdir()
    else:
        tasks.write_text(" " * 5_000_000)
    assert "ralph/tasks.json cannot be read" in loop.stop().reason


@pytest.mark.parametrize(("text", "reason"), [("{", "not valid JSON"), ("{}", "required field 'project' is missing")])
def test_a_broken_task_list_blocks(loop: Loop, text: str, reason: str) -> None:  # 004-15
    (loop.root / "ralph" / "tasks.json").write_text(text)
    loop.commit()
    assert reason in loop.stop().reason


def test_a_missing_task_list_blocks(loop: Loop) -> None:  # 004-15
    (loop.root / "ralph" / "tasks.json").unlink()
    loop.commit()
    assert "ralph/tasks.json does not exist" in loop.stop().reason


def test_two_stories_submitted_at_once_block(loop: Loop) -> None:  # §4
    loop.marker(preIterationSnapshot={"US-001": UNSTARTED, "US-002": UNSTARTED})
    loop.tasks(story(reviewStatus="needs_review"), story(id="US-002", reviewStatus="needs_review"))
    loop.commit()
    assert "may submit only one story" in loop.stop().reason


def test_skip_review_lets_a_story_pass_at_once(loop: Loop) -> None:  # 004-20, 004-26
    loop.marker(skipReview=True)
    loop.tasks(story(passes=True))
    loop.commit()
    assert loop.stop().out == ""


@pytest.mark.parametrize("missing", ["preIterationSnapshot", "iterationMode"])
def test_without_a_snapshot_it_warns_and_checks_the_rest(loop: Loop, missing: str) -> None:  # 004-20
    nothing: dict[str, Any] = {missing: None}
    loop.marker(**nothing)
    loop.tasks(story(passes=True, reviewStatus="approved"))
    loop.commit()
    ran = loop.stop()
    assert ran.out == ""
    assert "transitions not checked" in ran.err
    loop.tasks(story(passes=True))
    loop.commit()
    assert "not 'approved'" in loop.stop().reason


def test_an_unreadable_marker_still_means_a_loop(loop: Loop) -> None:
    (loop.root / ".ralph-active").write_bytes(b"\xff not json")
    loop.tasks(story(passes=True))
    loop.commit()
    assert "not 'approved'" in loop.stop().reason


def test_a_foreign_file_without_a_branch_is_no_reason(loop: Loop) -> None:  # C22
    document = json.loads((loop.root / "ralph" / "tasks.json").read_text())
    del document["branchName"]
    (loop.root / "ralph" / "tasks.json").write_text(json.dumps(document))
    loop.commit()
    ran = loop.stop()
    assert ran.out == ""
    assert "'branchName' is missing" in ran.err


# -- five in a row --------------------------------------------------------------------------------
def test_after_five_blocks_in_a_row_it_lets_go_and_says_so(loop: Loop) -> None:
    (loop.root / "main.py").write_text("x = 1\n")
    blocked = [bool(loop.stop(active=number > 0).reason) for number in range(5)]
    assert blocked == [True] * 5
    sixth = loop.stop(active=True)
    assert not sixth.reason
    assert (
        sixth.answer["systemMessage"] == "ralph: still not in order after 5 reminders; letting go, the runner judges."
    )
    assert "There are uncommitted changes" in sixth.err
    assert not loop.stop(active=True).reason


def test_a_fresh_stop_begins_to_count_anew(loop: Loop) -> None:
    (loop.root / "main.py").write_text("x = 1\n")
    for number in range(6):
        loop.stop(active=number > 0)
    assert loop.stop(active=False).reason
    assert loop.stop(active=True).reason


def test_sessions_are_counted_apart(loop: Loop) -> None:
    (loop.root / "main.py").write_text("x = 1\n")
    for number in range(6):
        loop.stop(active=number > 0, session="one")
    assert loop.stop(active=True, session="two").reason
    assert not loop.stop(active=True, session="one").reason


def test_what_was_put_right_in_between_is_no_row(loop: Loop) -> None:
    (loop.root / "main.py").write_text("x = 1\n")
    for number in range(5):
        loop.stop(active=number > 0)
    loop.commit()
    assert loop.stop(active=True).out == ""
    (loop.root / "main.py").write_text("x = 2\n")
    assert loop.stop(active=True).reason


@pytest.mark.parametrize("fields", [{"session": "", "transcript_path": ""}, {"session": "", "transcript_path": None}])
def test_a_session_nobody_can_name_is_blocked_once(loop: Loop, fields: dict[str, Any]) -> None:  # §3, 20
    (loop.root / "main.py").write_text("x = 1\n")
    assert loop.stop(active=False, **fields).reason
    assert not loop.stop(active=True, **fields).reason


def test_where_blocks_cannot_be_counted_there_is_one(loop: Loop) -> None:
    os.symlink("/nowhere/else", loop.temporary / "claude-ralph-stop-blocks-s1")
    (loop.root / "main.py").write_text("x = 1\n")
    assert loop.stop(active=True).answer["systemMessage"]


# -- where it looks -------------------------------------------------------------------------------
def test_ralphs_own_files_need_no_commit(loop: Loop) -> None:
    (loop.root / ".gitignore").write_text("")
    loop.git("commit", "-qam", "ignore nothing")
    (loop.root / ".ralph").mkdir()
    (loop.root / ".ralph" / "guardrail_001.log").write_text("x")
    assert "?? .ralph-active" in loop.git("status", "--porcelain")
    assert loop.stop().out == ""


def test_a_marker_someone_committed_needs_no_second_commit(loop: Loop) -> None:
    loop.git("add", "-f", ".ralph-active")
    loop.git("commit", "-qm", "by mistake")
    loop.marker(reviewCap=4)
    assert " M .ralph-active" in loop.git("status", "--porcelain")
    assert loop.stop().out == ""


def test_settings_that_are_tracked_are_everybodys(loop: Loop) -> None:
    (loop.root / ".ralph").mkdir()
    (loop.root / ".ralph" / "settings.json").write_text("{}")
    loop.commit()
    (loop.root / ".ralph" / "settings.json").write_text('{"x": 1}')
    assert " M .ralph/settings.json" in loop.stop().reason


def test_it_finds_the_loop_from_a_folder_below(loop: Loop) -> None:
    below = loop.root / "src" / "deep"
    below.mkdir(parents=True)
    (loop.root / "main.py").write_text("x = 1\n")
    assert loop.stop(cwd=str(below)).reason


def test_an_empty_git_folder_above_is_no_repository(loop: Loop) -> None:  # sandboxes leave such behind
    (loop.root.parent / ".git").mkdir()
    (loop.root.parent / ".ralph-active").write_text("{}")
    (loop.root / ".ralph-active").unlink()
    assert loop.stop().out == ""


def test_it_does_not_look_above_the_repository(loop: Loop) -> None:
    (loop.root.parent / ".ralph-active").write_text("{}")
    (loop.root / ".ralph-active").unlink()
    (loop.root / "main.py").write_text("x = 1\n")
    assert loop.stop().out == ""


@pytest.mark.parametrize(
    ("folder", "marker"), [(".ralph", {}), (".ralph", {"ralphDir": ".ralph"}), ("plans", {"ralphDir": "plans"})]
)
def test_the_loops_folder_may_be_elsewhere(loop: Loop, folder: str, marker: dict[str, str]) -> None:  # C10
    loop.git("rm", "-rqf", "ralph")
    loop.marker(**marker)
    loop.tasks(story(passes=True), folder=folder)
    loop.commit()
    assert f"{folder}/tasks.json is not in order" in loop.stop().reason


def test_outside_git_only_the_task_list_is_checked(tmp_path: Path) -> None:
    (tmp_path / "ralph").mkdir()
    (tmp_path / ".ralph-active").write_text("{}")
    event = load_sample_event("Stop", cwd=str(tmp_path))
    ran = run_hook("stop_loop_reminder.py", event, tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert "does not exist" in ran.reason
    assert "uncommitted changes not checked" in ran.err


@pytest.mark.parametrize("event", ["", "[]", "{", "{}", '{"cwd": 5, "session_id": [], "stop_hook_active": "yes"}'])
def test_a_strange_event_stops_nobody(tmp_path: Path, event: str) -> None:
    assert run_hook("stop_loop_reminder.py", event, tmp_path).out == ""


def test_a_bug_is_told_and_lets_go(loop: Loop) -> None:
    (loop.root / ".ralph-active").write_text('{"preIterationSnapshot": ' + "[" * 100_000)
    (loop.root / "ralph" / "tasks.json").unlink()
    (loop.root / "ralph" / "tasks.json").mkdir()
    ran = loop.stop()
    assert "ralph/tasks.json cannot be read" in ran.reason  # even so it is understood
    broken = run_hook("stop_loop_reminder.py", "not json", loop.temporary)
    assert broken.out == ""
    assert broken.err.startswith("ralph: the stop reminder failed and lets go (JSONDecodeError")
