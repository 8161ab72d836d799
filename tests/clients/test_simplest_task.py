"""The simplest task anybody writes, an outcome and one criterion. The real Claude Code is everybody: coder, reviewer,
tester, qa and judge."""

import json
import subprocess

import pytest

from support.client_room import ClientFixture

claude = pytest.mark.parametrize("room", [pytest.param("claude", marks=pytest.mark.clients)], indirect=True)
pytestmark = pytest.mark.timeout(240)

TEST = """\
import unittest

import calc


class T(unittest.TestCase):
    def test(self):
        self.assertEqual(calc.add(1, 2), 3)
"""
CALC = "def add(a, b):\n    return a + b\n"
BELIEVES = "VERIFIED: it is there"
OTHERS = (
    {"steps": [{"say": "I read the change, and it is fine.\n\n<promise>REVIEW_PASSED</promise>"}], "judge": BELIEVES},
    [{"say": "I tried it and saw it work.\n\n<promise>TESTS_PASSED</promise>"}],
    [{"say": "Nothing is left to do.\n\n<promise>QA_PASSED</promise>"}],
)


def create_task(room: ClientFixture, title: str, outcome: str, criterion: str, *more: str) -> None:
    room.commit("Start", **{"README.md": "# Greetings\n", ".gitignore": ".ralph/\n__pycache__\n"})
    assert room.ralph("spec", "create", "demo").returncode == 0
    words = ("--outcome", outcome, "--acceptance", criterion, *more)
    made = room.ralph("task", "create", "T1", "demo", title, *words)
    assert made.returncode == 0, made.stderr


def list_commits(room: ClientFixture) -> list[str]:
    words = ["git", "log", "--format=%s"]
    told = subprocess.run(words, cwd=room.repo, env=room.environment, capture_output=True, text=True, check=True)
    return told.stdout.splitlines()


@claude
def test_an_agent_that_does_nothing_never_lands_whatever_the_judge_believes(room: ClientFixture) -> None:
    said = "hello.txt says hello is NOT met, nothing was done.\n\n<promise>IMPLEMENTATION_COMPLETE</promise>"
    room.model({"steps": [{"say": said}], "judge": BELIEVES}, [{"say": said}], *OTHERS)
    create_task(room, "Greet", "hello.txt greets", "hello.txt says hello", "--max-iterations", "2")
    done = room.ralph("execute", "--agent", "claude", timeout=220)
    assert done.returncode == 1, done.stdout + done.stderr
    assert list_commits(room) == ["Start"]
    assert "landed as" not in done.stdout


@claude
def test_one_that_does_it_and_says_so_in_its_own_words_lands_at_the_first_try(room: ClientFixture) -> None:
    coder = [
        {"write": {"path": "hello.txt", "content": "hello\n"}},
        {"say": "There is a greeting now.\n\n<promise>IMPLEMENTATION_COMPLETE</promise>"},
    ]
    room.model(coder, *OTHERS)
    create_task(room, "Greet", "hello.txt greets", "hello.txt says hello")
    done = room.ralph("execute", "--json", "--agent", "claude", timeout=220)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (room.repo / "hello.txt").read_text() == "hello\n"
    events = [json.loads(line)["event"] for line in done.stdout.splitlines() if '"event"' in line]
    assert len([event for event in events if event.get("type") == "agent_ended"]) == 4, "each of them once"


@claude
def test_a_rename_that_must_edit_a_test_lands_with_the_reviewers_word_in_the_receipt(room: ClientFixture) -> None:
    coder = [
        {"edit": {"path": "calc.py", "old": "def add", "new": "def plus"}},
        {"edit": {"path": "test_calc.py", "old": "calc.add", "new": "calc.plus"}},
        {
            "say": "Renamed.\n\n<changes>test_calc.py: it calls the new name</changes>\n\n"
            "<promise>IMPLEMENTATION_COMPLETE</promise>"
        },
    ]
    approval = "<approves>test_calc.py: only the name differs</approves>\n\n<promise>REVIEW_PASSED</promise>"
    room.model(coder, {"steps": [{"say": f"Fine.\n\n{approval}"}], "judge": BELIEVES}, *OTHERS[1:])
    room.commit("A calculator", **{"calc.py": CALC, "test_calc.py": TEST})
    command = ("--coder-verify", "external", "--coder-verify-cmd", "python3 -m unittest -q")
    create_task(room, "Rename", "add is called plus", "calc.plus adds", *command)
    done = room.ralph("execute", "--agent", "claude", timeout=220)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "plus" in (room.repo / "calc.py").read_text()
    receipts = [path.read_text() for path in room.repo.rglob("receipt.json")]
    [receipt] = [json.loads(text) for text in receipts if "only the name differs" in text]
    assert receipt["changed_proofs"][0]["path"] == "test_calc.py"
