"""`ralph verify` as a user meets it: verdict, reason, exit code, and a record of each look."""

import json
from typing import Any

import pytest

from support.workshop import ProjectFixture


@pytest.fixture
def shop(workshop: ProjectFixture) -> ProjectFixture:
    (workshop.repo / "README").write_text("x\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    assert workshop.ralph("spec", "create", "files").returncode == 0
    command = ["--coder-verify", "external", "--coder-verify-cmd", "echo looked; test -f a.txt"]
    words = ["--outcome", "a.txt is there", "--acceptance", "the file is there", *command]
    made = workshop.ralph("task", "create", "TASK-001", "files", "Make a file", *words)
    assert made.returncode == 0, made.stderr
    return workshop


def attempts(shop: ProjectFixture) -> list[dict[str, Any]]:
    shown = json.loads(shop.ralph("task", "show", "TASK-001", "--json").stdout)
    found: list[dict[str, Any]] = shown["attempts"]
    return found


def test_a_verdict_its_reason_and_its_record(shop: ProjectFixture) -> None:  # 002-09, 002-18
    red = shop.ralph("verify", "TASK-001", "--agent", "coder")
    assert (red.returncode, red.stderr) == (1, "")
    assert red.stdout.startswith("✗ coder     external: Command exited with 1, expected 0\n    looked")
    (shop.repo / "a.txt").write_text("a\n")
    green = shop.ralph("verify", "TASK-001", "--agent", "coder", "--json")
    assert green.returncode == 0
    told = json.loads(green.stdout)
    assert (told["task"], told["verified"]) == ("TASK-001", True)
    assert told["findings"][0]["reason"] == "External verification passed"
    assert [(a["agent"], a["iteration"], a["verified"]) for a in attempts(shop)] == [
        ("coder", 0, False),
        ("coder", 0, True),
    ]


def test_it_looks_into_the_tasks_own_work_tree(shop: ProjectFixture) -> None:
    tree = shop.repo / ".ralph/worktrees/TASK-001"
    shop.git("worktree", "add", "-q", "-b", "ralph/TASK-001", str(tree))
    (tree / "a.txt").write_text("a\n")
    assert shop.ralph("verify", "TASK-001", "--agent", "coder").returncode == 0


def test_words_are_looked_at_where_they_were_chosen_and_there_are_any(shop: ProjectFixture) -> None:  # 002-07
    shop.settings(specflow={"semantic": "words"})
    without = shop.ralph("verify", "TASK-001", "--agent", "qa")
    assert without.returncode == 1
    assert "give --message" in without.stdout
    said = "I looked: the file is there.\n<promise>QA_PASSED</promise>\n"
    done = shop.ralph("verify", "TASK-001", "--agent", "qa", "--message", "-", stdin=said)
    assert done.returncode == 0, done.stdout
    assert "All criteria appear met" in done.stdout


def test_a_judge_needs_no_message(shop: ProjectFixture) -> None:  # 002-07
    verdict = '{"criteria": [{"number": 1, "met": true}], "verdict": "VERIFIED"}'
    shop.agent(f"printf '%s\\n' '{verdict}'", name="wise")
    shop.settings(specflow={"judge": {"agent": "wise", "model": "sonnet"}})
    done = shop.ralph("verify", "TASK-001", "--agent", "qa")
    assert (done.returncode, done.stderr) == (0, "")
    assert "VERIFIED: All criteria appear to be met" in done.stdout
    assert shop.argv(1)[:2] == ["--model", "sonnet"]
    assert "1. the file is there" in shop.prompt(1)


def test_the_templates_are_listed(shop: ProjectFixture) -> None:  # 002-26
    listed = shop.ralph("verify", "templates").stdout
    for name in ("pytest", "ruff", "npm-test", "cargo-test", "go-test", "files-exist", "http-health", "contradictions"):
        assert f"\n{name} " in f"\n{listed}"
    records = json.loads(shop.ralph("verify", "templates", "--json").stdout)
    assert {"name": "pytest", "method": "external"}.items() <= next(r for r in records if r["name"] == "pytest").items()


def test_so_are_the_methods_of_installed_packages(shop: ProjectFixture) -> None:  # 002-26
    info = shop.home / "moon-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moon\nVersion: 1\n")
    gates = {"moon": 'VERIFIES = "that the moon is full"', "tide": "import sea", "shutter": "", "external": "1 / 0"}
    for name, text in gates.items():
        (shop.home / f"{name}_gate.py").write_text(f"{text}\n")
    entries = "".join(f"{name} = {name}_gate\n" for name in gates)
    (info / "entry_points.txt").write_text(f"[ralph.gates]\n{entries}")
    listed = shop.ralph("verify", "templates", PYTHONPATH=str(shop.home)).stdout
    assert "\nmoon            moon            that the moon is full\n" in listed
    assert "\ntide            tide            cannot be loaded: No module named 'sea'\n" in listed
    assert "shutter" not in listed  # it verifies no promise
    assert listed.count("\nexternal ") == 0  # ours hides it


def test_an_unknown_task_exits_2(shop: ProjectFixture) -> None:
    done = shop.ralph("verify", "TASK-404")
    assert done.returncode == 2
    assert "no task 'TASK-404'" in done.stderr
