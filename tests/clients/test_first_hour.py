"""The way most people walk: an ordinary repository, nothing configured, the real Claude Code."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.client_room import ClientFixture

claude = pytest.mark.parametrize(
    "room", [pytest.param(name, marks=pytest.mark.clients) for name in ("claude", "claude-newest")], indirect=True
)
claude_and_codex = pytest.mark.parametrize(
    "room",
    [pytest.param(name, marks=pytest.mark.clients) for name in ("claude", "claude-newest", "codex", "codex-newest")],
    indirect=True,
)
codex = pytest.mark.parametrize(
    "room", [pytest.param(name, marks=pytest.mark.clients) for name in ("codex", "codex-newest")], indirect=True
)
pytestmark = pytest.mark.timeout(240)

BROKEN = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest
from calc import add


class T(unittest.TestCase):
    def test(self):
        self.assertEqual(add(1, 2), 3)
"""
MAKEFILE = "test:\n\tpython3 -m unittest -q\n"
DONE = {"say": "All tests pass.\n\n<response>DONE</response>"}
WORK = [
    {"bash": "cat calc.py"},
    {"write": {"path": "calc.py", "content": FIXED}},
    {"bash": "make test"},
]


def prepare(room: ClientFixture) -> None:
    """A small project with one failing test."""
    room.commit(
        "A calculator", **{"calc.py": BROKEN, "test_calc.py": TEST, "Makefile": MAKEFILE, ".gitignore": "__pycache__\n"}
    )


@claude
def test_the_readmes_first_run_completes_in_one_iteration(room: ClientFixture) -> None:
    prepare(room)
    room.model([*WORK, DONE])
    made = room.ralph("init", "--yes")
    assert made.returncode == 0, made.stderr
    assert "make test: fails (" in made.stdout
    told = room.run("-p", "Make the tests pass. When all is done, answer <response>DONE</response>.")
    assert (told.code, told.outcomes) == (0, ["finished"]), told.events
    assert not told.of("warned"), told.events


@claude
def test_without_init_and_without_a_word_about_the_signal_it_completes(room: ClientFixture) -> None:
    prepare(room)
    room.model([*WORK, DONE])
    told = room.run("-p", "Fix the failing tests")
    assert (told.code, told.outcomes) == (0, ["finished"]), told.events
    assert "<response>DONE</response>" in str(room.requests()[0]["body"])


@claude
def test_an_agent_refused_the_same_command_twice_stops_and_the_line_to_type_works(room: ClientFixture) -> None:
    prepare(room)
    refused = [{"bash": "python3 -c 'print(1)'"}, DONE]
    room.model(refused, refused, [{"bash": "python3 -c 'print(1)'"}, DONE])
    room.settings(flags=[], retry={"attempts": 0, "emptyAnswers": 0})
    told = room.run("-p", "Try it.")
    assert (told.code, told.ended["outcome"]) == (2, "unusable"), told.events
    assert len(told.outcomes) == 2
    assert "--allow \"python3 -c 'print(1)'\"" in told.ended["why"]
    again = room.run("-p", "Try it.", "--allow", "python3 -c 'print(1)'")
    assert (again.code, again.outcomes) == (0, ["finished"]), again.events


def execute_task(room: ClientFixture, *coder: object) -> subprocess.CompletedProcess[str]:
    """A task whose coder does this, and whose other stages approve it."""
    stages = [
        [*coder, {"say": "Committed.\n\n<promise>IMPLEMENTATION_COMPLETE</promise>"}],
        {
            "steps": [{"say": "REVIEW PASSED, approved: add works.\n\n<promise>REVIEW_PASSED</promise>"}],
            "judge": "VERIFIED: add adds now",
        },
        [{"bash": "make test"}, {"say": "1 passed: add works\n\n<promise>TESTS_PASSED</promise>"}],
        [{"bash": "make test"}, {"say": "add works\n\n<promise>QA_PASSED</promise>"}],
    ]
    room.model(*stages)
    assert room.ralph("spec", "create", "calc").returncode == 0
    task = [
        "--outcome",
        "add works",
        "--acceptance",
        "add works",
        "--coder-verify",
        "external",
        "--coder-verify-cmd",
        "make test",
    ]
    more = [
        word
        for role in ("tester", "qa")
        for word in (f"--{role}-verify", "external", f"--{role}-verify-cmd", "make test")
    ]
    made = room.ralph("task", "create", "TASK-001", "calc", "Fix add", *task, *more)
    assert made.returncode == 0, made.stderr
    return room.ralph("execute", "--json", "--agent", room.agent, timeout=220)


@claude_and_codex
def test_a_task_is_committed_by_its_agent_and_lands(room: ClientFixture) -> None:
    prepare(room)
    commit = [{"bash": "git add -A && git commit -m 'Add, not subtract'"}]
    done = execute_task(room, *WORK, *commit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"denials"' not in done.stdout
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=room.repo, env=room.environment, capture_output=True, text=True, check=True
    )
    assert "Add, not subtract" in log.stdout


@codex
def test_a_task_lands_though_its_agent_cannot_commit(room: ClientFixture) -> None:
    prepare(room)
    room.settings(flags=[], agent={"permissions": "edits"})
    done = execute_task(room, *WORK, {"bash": "git commit -qam mine || echo cannot"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cannot" in done.stdout
    told = str(room.requests()[0]["body"])
    assert "they are committed for you" in told
    assert "Commit your changes" not in told
    assert (room.repo / "calc.py").read_text() == FIXED


@claude
def test_a_supervised_agent_writes_done_outside_its_folder(room: ClientFixture) -> None:
    prepare(room)
    task = room.home / "tasks" / "proj" / "task-20260101-000000-greet-it"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Greet.\n")
    room.model([{"bash": f"touch {task}/DONE"}, {"say": "Done."}])
    done = room.ralph("supervise", str(task), "--agent", "claude", "--max-restarts", "2", "--restart-delay", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (task / "DONE").exists()


@claude
def test_a_supervised_agent_may_do_what_its_prompt_says(room: ClientFixture) -> None:
    prepare(room)
    task = room.home / "tasks" / "proj" / "task-20260101-000000-greet-it"
    child = task / "part"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Greet.\n")
    ralph = Path(sys.executable).with_name("ralph")
    room.model(
        [
            {"bash": f'{ralph} bus post --type PROGRESS "half way"'},
            {"write": {"path": str(child / "TASK.md"), "content": "Be a part.\n"}},
            {"bash": f"{ralph} supervise {child} --detach"},
            {"bash": f"touch {task}/DONE"},
            {"say": "Done."},
        ],
        [{"sleep": 2}, {"bash": f"touch {child}/DONE"}, {"say": "Done, too."}],
    )
    done = room.ralph("supervise", str(task), "--agent", "claude", "--max-restarts", "2", "--restart-delay", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refused" not in done.stdout
    assert f"`{ralph} supervise FOLDER --detach`" in str(room.requests()[0]["body"])
    assert "half way" in (task / "TASK-MESSAGE-BUS.md").read_text()
    assert (child / "DONE").exists()


@claude
def test_the_guard_refuses_and_warns_before_a_command_runs(room: ClientFixture) -> None:
    prepare(room)
    room.model([{"bash": "git checkout ."}, {"bash": "git clean -fd"}, *WORK, DONE])
    told = room.run("-p", "Fix the failing tests", "--no-sandbox", RALPH_AGENT_PERMISSIONS="all")
    asked = str([request["body"] for request in room.requests()])
    assert (told.code, told.outcomes) == (0, ["finished"]), told.events
    assert "ralph's guard: this throws work away" in asked
    assert "ralph's guard warns: this deletes every new file" in asked
