"""The story loop and its plugin with the real Claude Code, offline, against our scripted model."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.client_room import ClientFixture
from support.stories import (
    CHEAT_FIELDS,
    REJECT_FIELDS,
    RESUBMIT_FIELDS,
    SUBMIT_FIELDS,
    build_work_command,
    make_approval,
    make_story,
    read_stories,
    write_plan,
)

PLUGIN = Path(__file__).parents[2] / "plugins" / "ralph"
UNDO = {"reviewStatus": "needs_review", "passes": False}
ENDS = {"empty": True}  # the answer is over, and the model believes that it is done
BLOCKED = "This iteration cannot end yet."
FEEDBACK = "Stop hook feedback"  # 2.1.326 tells the reason a second time, in other words

claude = pytest.mark.parametrize(
    "room",
    [
        pytest.param("claude", marks=pytest.mark.clients),
        pytest.param("claude-newest", marks=pytest.mark.clients_slow),
    ],
    indirect=True,
)
pytestmark = pytest.mark.timeout(180)


class Loop:
    """A project with a story loop in it, for the real Claude Code."""

    def __init__(self, room: ClientFixture, *stories: dict[str, Any]) -> None:
        self.room = room
        made = room.ralph("story", "init", "--name", "demo")
        assert made.returncode == 0, made.stderr
        self.tools = room.home.with_name("tools")
        self.tools.mkdir()
        room.settings(flags=[], sandbox={"mounts": [str(self.tools)]})  # what it needs, `ralph story run` adds itself
        write_plan(room.repo, *stories, verifyCommands=["test -f work.txt"])
        self.git("add", "-A")
        self.git("commit", "-qm", "Plan")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=self.room.repo, env=self.room.environment, capture_output=True, text=True, check=True
        ).stdout

    @property
    def stories(self) -> list[dict[str, Any]]:
        return read_stories(self.room.repo)

    def asked(self, run: int) -> list[str]:
        """What the model read in one run, a text a request."""
        return [json.dumps(told["body"], ensure_ascii=False) for told in self.room.requests() if told["run"] == run]

    def change(self, id_: str, fields: dict[str, Any], subject: str) -> dict[str, Any]:
        """A tool call that works on a story and commits."""
        return {"bash": build_work_command(self.tools, id_, fields, subject)}


# -- the plugin -----------------------------------------------------------------------------------
@claude
def test_claude_finds_nothing_wrong_with_the_plugin(room: ClientFixture) -> None:  # 004-01
    for place in (PLUGIN, PLUGIN.parents[1]):
        done = room.client("plugin", "validate", "--strict", place)
        assert done.returncode == 0, done.stdout + done.stderr


@claude
def test_a_story_approved_by_its_own_author_is_held_back(room: ClientFixture) -> None:  # 004-14, 004-17
    loop = Loop(room, make_story("US-001"))
    room.model(
        [
            loop.change("US-001", CHEAT_FIELDS, "feat: [US-001] - Title of US-001"),
            {"say": "Approved, I am that good."},
            ENDS,
            loop.change("US-001", UNDO, "feat: [US-001] - Title of US-001"),
            {"say": "Sorry."},
        ]
    )
    done = room.ralph("story", "run", "-n", "1", "--json")
    assert done.returncode == 1, done.stderr  # one iteration is not enough
    assert f"Stop hook feedback: {BLOCKED}" in done.stdout  # and whoever watches learns it too
    requests = loop.asked(1)
    first = next(number for number, text in enumerate(requests) if BLOCKED in text)
    assert "Approved, I am that good." in requests[first]
    assert "Stop hook feedback" in requests[first]
    assert "Implement iterations cannot set passes=true" in requests[first]
    assert "Story US-001 had illegal transition: passes false → true." in requests[first].replace("\\n", " ")
    assert requests[-1].count(FEEDBACK) == 1  # put right, it may stop
    assert loop.stories[0]["reviewStatus"] == "needs_review"


@claude
def test_uncommitted_work_is_held_back(room: ClientFixture) -> None:  # 004-21
    loop = Loop(room, make_story("US-001"))
    room.model(
        [
            {"bash": "echo x > left.txt"},
            {"say": "Done."},
            ENDS,
            loop.change("US-001", SUBMIT_FIELDS, "feat: [US-001] - Title of US-001"),
            {"say": "Committed."},
        ]
    )
    room.ralph("story", "run", "-n", "1")
    blocked = next(text for text in loop.asked(1) if BLOCKED in text)
    assert "?? left.txt" in blocked
    assert "1. Update ralph/progress.txt with what was accomplished" in blocked
    assert "Commit ALL changes including progress.txt and tasks.json updates" in blocked
    assert loop.git("status", "--porcelain") == ""


@claude
def test_the_model_learns_how_full_its_context_is(room: ClientFixture) -> None:  # 004-13
    loop = Loop(room, make_story("US-001"))
    room.model([{"bash": "true"}, {"bash": "false"}, {"say": "Nothing to do."}])
    room.ralph("story", "run", "-n", "1", CLAUDE_CONTEXT_WINDOW="100")
    requests = loop.asked(1)
    assert "of the context window is used" not in requests[0]
    told = next(text for text in requests if "of the context window is used" in text)
    assert "CRITICAL: about " in told
    assert "Wrap up immediately. Do NOT start new work." in told
    assert requests[-1].count("of the context window is used") == 1  # once for a threshold


@claude
def test_the_guard_refuses_what_is_plainly_destructive(room: ClientFixture) -> None:  # 004-04
    loop = Loop(room, make_story("US-001"))
    room.model([{"bash": "git push --force nowhere main"}, {"say": "Then not."}])
    told = room.ralph("story", "run", "-n", "1", "--json", "--no-sandbox").stdout
    assert "ralph's guard" in loop.asked(1)[-1]
    assert "ralph's guard" in told
    assert "does not appear to be a git repository" not in loop.asked(1)[-1]  # it never ran


# -- the loop -------------------------------------------------------------------------------------
@claude
def test_two_stories_with_one_requested_change(room: ClientFixture) -> None:  # 004-04, 004-08, 004-24, 004-31
    loop = Loop(room, make_story("US-001"), make_story("US-002", dependsOn=["US-001"]))
    room.model(
        [loop.change("US-001", SUBMIT_FIELDS, "feat: [US-001] - Title of US-001"), {"say": "Written."}],
        [loop.change("US-001", REJECT_FIELDS, "review: [US-001] - changes requested"), {"say": "Zero is not handled."}],
        [
            loop.change("US-001", RESUBMIT_FIELDS, "fix: [US-001] - address review feedback"),
            {"say": "Zero is handled."},
        ],
        [loop.change("US-001", make_approval(2), "review: [US-001] - approved"), {"say": "Good."}],
        [loop.change("US-002", SUBMIT_FIELDS, "feat: [US-002] - Title of US-002"), {"say": "Written."}],
        [
            loop.change("US-002", make_approval(1), "review: [US-002] - approved"),
            {"say": "<promise>COMPLETE</promise>"},
        ],
    )
    done = room.ralph("story", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(s["passes"], s["reviewCount"]) for s in loop.stories] == [(True, 2), (True, 1)]
    assert [request["run"] for request in room.requests()] == [run for run in range(1, 7) for _ in range(2)]
    modes = ["implement", "review", "review-fix", "review", "implement", "review"]
    for run, mode in enumerate(modes, 1):
        first = loop.asked(run)[0]
        assert f"Mode: {mode}. Story: US-00{1 if run < 5 else 2}" in first
        assert "From the runner" not in first  # nobody did anything wrong
        assert BLOCKED not in loop.asked(run)[-1]
    assert "every story is promised and approved" in done.stdout
    assert loop.git("log", "--format=%s").splitlines()[:6] == [
        "review: [US-002] - approved",
        "feat: [US-002] - Title of US-002",
        "review: [US-001] - approved",
        "fix: [US-001] - address review feedback",
        "review: [US-001] - changes requested",
        "feat: [US-001] - Title of US-001",
    ]
    assert loop.git("status", "--porcelain") == ""
    assert not (room.repo / ".ralph-active").exists()


@claude
def test_who_insists_is_let_go_undone_and_told(room: ClientFixture) -> None:  # 004-17, C18
    loop = Loop(room, make_story("US-001"))
    room.model(
        [loop.change("US-001", CHEAT_FIELDS, "feat: [US-001] - Title of US-001"), {"say": "I insist."}],
        [loop.change("US-001", SUBMIT_FIELDS, "feat: [US-001] - Title of US-001"), {"say": "Submitted."}],
        [loop.change("US-001", make_approval(1), "review: [US-001] - approved"), {"say": "Good."}],
    )
    done = room.ralph("story", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert loop.asked(1)[-1].count(FEEDBACK) == 5  # then the hook lets go, and the runner judges
    second = loop.asked(2)[0].replace('\\"', '"')
    assert "From the runner" in second
    assert "Undone by the runner: US-001: passes true → false." in second
    assert loop.stories[0]["reviewCount"] == 1


@claude
def test_without_hooks_the_runner_judges_all_the_same(room: ClientFixture, tmp_path: Path) -> None:  # 004-17, C18
    bare = tmp_path / "bare"
    (bare / ".claude-plugin").mkdir(parents=True)
    (bare / ".claude-plugin/plugin.json").write_text('{"name": "bare", "version": "1.0.0"}')
    loop = Loop(room, make_story("US-001"))
    room.settings(flags=["--dangerously-skip-permissions", "--plugin-dir", str(bare)])
    room.model(
        [loop.change("US-001", CHEAT_FIELDS, "feat: [US-001] - Title of US-001"), {"say": "Approved."}],
        [{"say": "I see."}],
    )
    done = room.ralph("story", "run", "-n", "2")
    assert done.returncode == 1
    assert BLOCKED not in loop.asked(1)[-1]
    assert "Undone by the runner: US-001: passes true → false." in loop.asked(2)[0]
    assert (loop.stories[0]["passes"], loop.stories[0]["reviewStatus"]) == (False, None)
    assert loop.stories[0]["notes"] == CHEAT_FIELDS["notes"]  # what it wrote stays
