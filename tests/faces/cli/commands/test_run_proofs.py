"""`ralph run` with agents that touch what the checks rest on."""

import json
import shutil

import pytest

from support.workshop import ProjectFixture, make_result_command

DONE = make_result_command("<response>DONE</response>")
EXPLAINED = make_result_command("<changes>add is called plus now</changes>\n<response>DONE</response>")
FIX = "echo plus > calc"
WEAKEN = "echo true > tests/check.sh"
FLAG = "completed, but tests/check.sh was changed and fails in its old form: `ralph diff --proofs`"


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    """A check that is red until `calc` says plus."""
    (workshop.repo / "tests").mkdir()
    (workshop.repo / "tests/check.sh").write_text("grep -q plus calc\n")
    (workshop.repo / "calc").write_text("minus\n")
    workshop.settings(guardrails=["sh tests/check.sh"])
    return workshop


def test_honest_work_completes_and_is_checked_once(project: ProjectFixture) -> None:
    project.agent(f"{FIX}; {DONE}")
    done = project.ralph("run", "-p", "x")
    assert (done.returncode, done.stdout.count("started")) == (0, 1)


def test_a_weakened_check_does_not_complete_and_the_next_agent_is_told(project: ProjectFixture) -> None:
    project.agent(f"{WEAKEN}; {DONE}", DONE)
    done = project.ralph("run", "-p", "x", "-m", "2")
    assert done.returncode == 1
    assert "tests/check.sh was changed, and `sh tests/check.sh` is red with the files as they were" in done.stdout
    told = project.prompt(2)
    assert all(words in told for words in ("tests/check.sh: weakened", "-grep -q plus calc", "<changes>"))


def test_an_agent_that_undoes_its_change_is_clean_again(project: ProjectFixture) -> None:
    project.agent(f"{WEAKEN}; {DONE}", f"echo 'grep -q plus calc' > tests/check.sh; {FIX}; {DONE}")
    done = project.ralph("run", "-p", "x", "--json")
    assert done.returncode == 0
    assert "flagged" not in json.loads(done.stdout.splitlines()[-1])["event"]


def test_an_explained_change_completes_with_a_flag(project: ProjectFixture) -> None:
    told = project.home / "told"
    project.settings(guardrails=["sh tests/check.sh"], notify={"command": ["tee", str(told)]})
    project.agent(f"{WEAKEN}; {EXPLAINED}")
    done = project.ralph("run", "-p", "x", "--json")
    event = json.loads(done.stdout.splitlines()[-1])["event"]
    assert (done.returncode, event["outcome"], event["flagged"]) == (0, "completed", True)
    assert event["why"].startswith(f"{FLAG}; the judge gave no verdict")  # the agent's own vendor was asked
    notice = json.loads(told.read_text())
    assert (notice["flagged"], notice["title"]) == (True, "ralph: repo completed, but look at its checks")
    assert notice["text"].startswith(FLAG)


def test_the_flag_is_the_last_line(project: ProjectFixture) -> None:
    project.agent(f"{WEAKEN}; {EXPLAINED}")
    last = project.ralph("run", "-p", "x").stdout.splitlines()[-1]
    assert FLAG.removeprefix("c") in last


def test_strict_refuses(project: ProjectFixture) -> None:
    project.settings(guardrails=["sh tests/check.sh"], proofs="strict")
    project.agent(f"{WEAKEN}; {EXPLAINED}")
    done = project.ralph("run", "-p", "x")
    assert (done.returncode, "Tampered" in done.stdout) == (1, True)


def test_a_protected_file_is_refused_though_the_checks_are_green(project: ProjectFixture) -> None:
    project.settings(guardrails=["sh tests/check.sh"], protected=["docs/**"])
    project.agent(f"{FIX}; mkdir -p docs; echo x > docs/plan.md; {EXPLAINED}")
    done = project.ralph("run", "-p", "x")
    assert (done.returncode, "docs/plan.md" in done.stdout) == (1, True)


def test_off_says_so_in_the_last_line(project: ProjectFixture) -> None:
    project.settings(guardrails=["sh tests/check.sh"], proofs="off")
    project.agent(f"{WEAKEN}; {DONE}")
    done = project.ralph("run", "-p", "x")
    assert (done.returncode, "proofs: off" in done.stdout.splitlines()[-1]) == (0, True)


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ("VERIFIED", 0, "tests/check.sh was changed, which the judge approved"),
        ("NOT_VERIFIED: it only weakens the test", 1, "is red with the files as they were"),
        ("hm", 1, "is red with the files as they were"),
    ],
)
def test_a_judge_decides_about_an_explained_change(project: ProjectFixture, answer: str, code: int, words: str) -> None:
    project.settings(guardrails=["sh tests/check.sh"], specflow={"judge": {"agent": "umpire"}})
    project.agent(f"{WEAKEN}; {EXPLAINED}")
    umpire = project.home / "umpire"
    umpire.write_text(f"#!/bin/sh\ncat > {project.home}/asked; pwd > {project.home}/where; echo '{answer}'\n")
    umpire.chmod(0o755)
    done = project.ralph("run", "-p", "x", "-m", "1")
    assert (done.returncode, words in done.stdout) == (code, True)
    asked = (project.home / "asked").read_text()
    assert all(part in asked for part in ("add is called plus now", "-grep -q plus calc", "tests/check.sh: weakened"))
    assert (project.home / "where").read_text().strip() != str(project.repo)


def test_a_resumed_run_keeps_the_baseline_of_its_start(project: ProjectFixture) -> None:
    project.agent(f"{WEAKEN}; {DONE}")
    assert project.ralph("run", "-p", "x", "-m", "1").returncode == 1
    assert project.ralph("run", "--resume", "-m", "2").returncode == 1
    project.agent(f"echo 'grep -q plus calc' > tests/check.sh; {FIX}; {DONE}")
    assert project.ralph("run", "--resume", "-m", "3").returncode == 0


def test_it_works_without_a_repository(project: ProjectFixture) -> None:
    shutil.rmtree(project.repo / ".git")
    project.agent(f"{WEAKEN}; {DONE}")
    assert project.ralph("run", "-p", "x", "-m", "1").returncode == 1


def test_code_that_steers_its_tests_and_a_check_that_ran_none_are_named_at_the_end(workshop: ProjectFixture) -> None:
    (workshop.repo / "calc.py").write_text("def add(a, b): return a - b\n")
    (workshop.repo / "test_calc.py").write_text(
        "import unittest, calc\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
        "        self.assertEqual(calc.add(1, 2), 3)\n"
    )
    workshop.settings(guardrails=["python3 -m unittest -q"])
    workshop.agent(f"echo 'import os; os._exit(0)' >> calc.py; {DONE}")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert "look at calc.py (can end the test run: `os._exit`)" in done.stdout
    assert "python3 -m unittest -q (exits with 0, and reports no test)" in done.stdout
    assert "+import os; os._exit(0)" in workshop.call("diff", "--proofs")


def test_settings_in_the_home_folder_that_make_a_check_green_do_not_count(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=["bash -lc 'grep -q plus calc'"])
    (workshop.repo / "calc").write_text("minus\n")
    workshop.agent(f'echo "exit 0" > "$HOME/.bash_profile"; {DONE}')
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert done.returncode == 1
    assert "~/.bash_profile was changed" in done.stdout
