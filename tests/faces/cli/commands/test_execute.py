"""`ralph execute` as a user meets it: real git, real work trees, an agent that lies once and a reviewer that minds."""

import json
import re
import subprocess
import sys
import time

import pytest

from ralph.model.spec import ROLES
from support.pipeline import PipelineFixture
from support.processes import find_processes_with, wait_until
from support.workshop import ProjectFixture, make_result_command


def test_three_tasks_two_at_once_all_land(pipeline: PipelineFixture) -> None:  # 000-05, 000-21, 002-17, 002-20
    pipeline.task("TASK-001")
    pipeline.task("TASK-002")
    pipeline.task("TASK-003", "--depends-on", "TASK-001", "--depends-on", "TASK-002")
    done = pipeline.workshop.ralph("execute", "-j", "2", timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("TASK-001", "TASK-002", "TASK-003"):
        assert (pipeline.repo / f"{name}.txt").read_text() == "done\n"
        assert pipeline.status(name)["status"] == "done"
    assert "Verification failed: Command exited with 1, expected 0" in "".join(
        path.read_text() for path in pipeline.home.glob("prompt.TASK-001.coder.2.*")
    )
    again = [p.read_text() for p in pipeline.home.glob("prompt.TASK-002.coder.*")]
    assert any("Say it louder." in text for text in again)
    assert pipeline.workshop.git("branch", "--list", "ralph/*") == ""
    assert not list((pipeline.repo / ".ralph/worktrees").iterdir())
    assert pipeline.workshop.git("status", "--porcelain") == ""
    assert "TASK-003  completed" in done.stdout


def test_a_promise_never_kept_goes_back_to_todo_with_the_failure(pipeline: PipelineFixture) -> None:  # 000-07, 000-20
    words = ["--coder-verify", "external", "--coder-verify-cmd", "false", "--coder-max-iterations", "2"]
    pipeline.workshop.ralph(
        "task", "create", "TASK-009", "files", "Never", "--outcome", "o", "--acceptance", "a", *words
    )
    done = pipeline.workshop.ralph("execute", "TASK-009", timeout=60)
    assert done.returncode == 1
    assert "Ralph loop exceeded 2 iterations" in done.stdout
    shown = pipeline.shown("TASK-009")
    task = shown["task"]
    assert task["status"] == "todo"
    failure = task["metadata"]["ralph_failure"]
    assert (failure["stage"], failure["iterations_used"]) == ("coder", 2)
    assert "Last verification: Command exited with 1, expected 0" in failure["reason"]
    assert list((pipeline.repo / ".ralph/worktrees").iterdir())  # its work is kept
    log = [(i["ralph_iteration"], i["ralph_max"], i["promise_found"], i["continuing"]) for i in shown["iterations"]]
    assert log == [(1, 2, True, True), (2, 2, True, False)]
    why = "Verification failed: Command exited with 1, expected 0"
    assert [i["reason"] for i in shown["iterations"]] == [why, why]
    assert [(a["iteration"], a["verified"]) for a in shown["attempts"]] == [(1, False), (2, False)]


def test_a_promise_out_of_place_is_a_failed_attempt_the_next_run_hears_of(pipeline: PipelineFixture) -> None:  # C1
    pipeline.honest()
    promise = "echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; echo 'What is next?'"
    pipeline.agent(hook=f"[ -f {pipeline.home}/rambled ] || {{ touch {pipeline.home}/rambled; {promise}; exit; }}")
    pipeline.task("TASK-001")
    assert pipeline.execute().returncode == 0
    reason = "You wrote the promise, but not alone on the last line: end your answer with it."
    first, *_ = pipeline.shown("TASK-001")["attempts"]
    assert (first["promise_found"], first["verified"], first["reason"]) == (True, False, reason)
    assert pipeline.shown("TASK-001")["iterations"][0]["reason"] == reason
    assert reason in pipeline.told("TASK-001", "coder")[1]


def test_a_conflict_gets_one_run_to_resolve_it(pipeline: PipelineFixture) -> None:
    resolve = f"if grep -q conflicts {pipeline.home}/prompt.*; then git merge -q -X ours main -m Resolve; fi"
    move = f"{pipeline.overtaken()}; {resolve}"
    pipeline.agent(move)
    (pipeline.home / "lied").touch()
    pipeline.task("TASK-001")
    done = pipeline.workshop.ralph("execute", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (pipeline.repo / "TASK-001.txt").read_text() == "done\n"
    assert done.stdout.count("Iteration 1/1 · coder (resolves a merge conflict) TASK-001") == 1


def test_a_conflict_nobody_resolves_blocks_and_names_the_branch(pipeline: PipelineFixture) -> None:
    pipeline.agent(pipeline.overtaken())
    (pipeline.home / "lied").touch()
    pipeline.task("TASK-001")
    done = pipeline.workshop.ralph("execute", timeout=60)
    assert done.returncode == 3, done.stdout + done.stderr
    task = pipeline.status("TASK-001")
    assert task["status"] == "blocked"
    assert "ralph/TASK-001" in json.dumps(task["metadata"])
    assert "ralph/TASK-001" in pipeline.workshop.git("branch", "--list", "ralph/*")
    shown = pipeline.workshop.ralph("task", "show", "TASK-001").stdout
    assert "  coder  finished · It was to resolve a merge conflict · " in shown


def test_what_is_red_on_the_merged_tree_goes_back_to_the_coder(pipeline: PipelineFixture) -> None:
    (pipeline.home / "lied").touch()
    home, repo = pipeline.home, pipeline.repo
    breaks = f"touch {repo}/broken; git -C {repo} add -A; git -C {repo} commit -qm Break"
    once = f"[ -f {home}/moved ] || {{ touch {home}/moved; {breaks}; }}"
    repairs = f"if grep -q 'On the merged tree' {home}/prompt.*; then git merge -q main; git rm -q broken; fi"
    pipeline.agent(f"{once}; {repairs}")
    pipeline.task("TASK-001", "--qa-verify-cmd", "test ! -f broken")
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "On the merged tree: Command exited with 1, expected 0" in pipeline.told("TASK-001", "coder")[-1]
    assert [len(pipeline.told("TASK-001", stage)) for stage in ("coder", "reviewer", "tester", "qa")] == [2, 2, 2, 2]
    assert not (repo / "broken").exists()


def test_a_judge_decides_on_the_diff_and_is_paid(pipeline: PipelineFixture) -> None:  # 002-07
    (pipeline.home / "lied").touch()
    answers = [f'{{"criteria": [{{"number": 1, "met": {m}}}, {{"number": 2, "met": {m}}}]}}' for m in ("false", "true")]
    pipeline.workshop.agent(*(make_result_command(answer, cost=0.5) for answer in answers))
    pipeline.workshop.settings(agent={"command": "worker"}, specflow={"judge": {"agent": "claude", "model": "small"}})
    pipeline.agent("echo done > $RALPH_TASK.txt; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit")  # no commit
    pipeline.task("TASK-001")
    done = pipeline.execute("--stage", "coder,reviewer")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "+done" in pipeline.workshop.prompt(1)
    assert "small" in pipeline.workshop.argv(1)
    shown = pipeline.shown("TASK-001")
    reviews = [(a["verified"], a["reason"], a["cost_usd"]) for a in shown["attempts"] if a["agent"] == "reviewer"]
    assert reviews == [
        (False, "NOT_VERIFIED: the file is there: not met", 0.5),
        (True, "VERIFIED: All criteria appear to be met", 0.5),
    ]
    assert shown["spent"]["cost_usd"] == 1.0
    assert "NOT_VERIFIED: the file is there: not met" in pipeline.told("TASK-001", "reviewer")[1]


TWO_LINES = ("--outcome", "TASK-001.txt says done", "--acceptance", "TASK-001.txt says done")
PARROT = """
case $RALPH_STAGE in coder) p=IMPLEMENTATION_COMPLETE;; reviewer) p=REVIEW_PASSED;; tester) p=TESTS_PASSED;;
qa) p=QA_PASSED;; esac
echo "Committed, approved, passed: TASK-001.txt says done."; echo "<promise>$p</promise>"; exit
"""


def create_two_lines(pipeline: PipelineFixture) -> None:
    """The simplest task anybody writes: an outcome and a criterion, no command."""
    done = pipeline.workshop.ralph("task", "create", "TASK-001", "files", "Say done", *TWO_LINES)
    assert done.returncode == 0, done.stderr


def test_whoever_does_nothing_never_lands_whatever_it_says(pipeline: PipelineFixture) -> None:
    create_two_lines(pipeline)
    pipeline.agent(before=PARROT)
    before = pipeline.workshop.git("rev-parse", "main")
    done = pipeline.execute()
    assert done.returncode == 1
    assert "Nothing has changed: the work tree is identical to the target branch" in done.stdout
    assert "landed" not in done.stdout
    assert pipeline.workshop.git("rev-parse", "main") == before
    assert "Nothing has changed" in pipeline.told("TASK-001", "coder")[1]


def test_honest_work_in_its_own_words_lands_at_the_first_try(pipeline: PipelineFixture) -> None:  # C29
    create_two_lines(pipeline)
    pipeline.honest()
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    attempts = pipeline.shown("TASK-001")["attempts"]
    assert [(a["agent"], a["verified"], a["judge"]) for a in attempts] == [
        (role, True, "command") for role in ("coder", "reviewer", "tester", "qa")
    ]
    question = (pipeline.home / "question.0").read_text()
    assert "1. TASK-001.txt says done" in question
    assert "+done" in question


def test_a_judge_is_not_misled_by_work_on_something_else(pipeline: PipelineFixture) -> None:
    create_two_lines(pipeline)
    pipeline.agent(before=f"echo x >> other.txt; {PARROT}")
    done = pipeline.execute()
    assert done.returncode == 1
    assert "NOT_VERIFIED: nothing says done" in done.stdout
    assert pipeline.status("TASK-001")["status"] == "todo"


def test_what_rests_on_words_is_said_to_do_so_everywhere(pipeline: PipelineFixture) -> None:
    create_two_lines(pipeline)
    pipeline.agent(before=f"[ $RALPH_STAGE != coder ] || echo x > x.txt; {PARROT}")
    done = pipeline.execute("--semantic", "words")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r", by words only\n\n1 done · ", done.stdout)
    assert not list(pipeline.home.glob("question.*"))
    ralph = pipeline.workshop.ralph
    assert "done, by words only" in ralph("task", "list").stdout
    assert "by words only" in ralph("board", "--once").stdout
    assert "by words only" in ralph("task", "show", "TASK-001").stdout
    assert json.loads(ralph("task", "list", "--json").stdout)["tasks"][0]["by_words"] == [*ROLES]
    run = pipeline.workshop.status()["id"]
    receipt = next(pipeline.repo.glob(f".git/ralph/runs/{run}/receipt.json"))
    assert json.loads(receipt.read_text())["by_words_only"] is True


def test_that_nobody_can_judge_is_told_before_anything_is_paid(pipeline: PipelineFixture) -> None:  # C29
    words = ("task", "create", "TASK-001", "files", "T", *TWO_LINES)
    pipeline.workshop.settings(agent={"command": "worker", "adapter": "amp"})
    refused = pipeline.workshop.ralph(*words)
    assert refused.returncode == 2
    assert "cannot judge" in refused.stderr
    assert "--coder-verify-cmd" in refused.stderr
    pipeline.workshop.settings(agent={"command": "worker", "adapter": "amp"}, specflow={"semantic": "words"})
    assert pipeline.workshop.ralph(*words).returncode == 0
    done = pipeline.execute("--semantic", "judge")
    assert (done.returncode, "cannot judge" in done.stderr) == (2, True)
    assert pipeline.told("TASK-001", "coder") == []


def test_cancel_and_status_from_another_terminal(pipeline: PipelineFixture) -> None:  # 000-15, 000-17, 000-18
    pipeline.agent("touch {h}/up.$RALPH_TASK; setsid sleep 61.7 & sleep 60".replace("{h}", str(pipeline.home)))
    pipeline.task("TASK-001")
    pipeline.task("TASK-002")
    specflow = ["-c", "from ralph.faces.cli.specflow import entry; entry()"]
    with pipeline.workshop.start("execute", "-j", "2") as run:
        assert wait_until(lambda: all((pipeline.home / f"up.TASK-00{n}").exists() for n in (1, 2)), 20)

        def ask(*words: str) -> str:
            return subprocess.run(
                [sys.executable, *specflow, *words],
                cwd=pipeline.repo,
                env=pipeline.workshop.environment,
                capture_output=True,
                text=True,
                check=False,
            ).stdout

        shown = ask("ralph-status")
        assert shown.startswith("Active Ralph Loops:\n")
        assert "  TASK-001 (coder): iteration 1/15, started " in shown
        assert "● TASK-001  coder 1/15 " in pipeline.workshop.ralph("task", "list").stdout
        began = time.monotonic()
        assert ask("ralph-cancel", "TASK-002") == "Cancelled Ralph loop for TASK-002 at iteration 1/15\n"
        assert time.monotonic() - began < 5
        assert pipeline.status("TASK-002")["status"] == "cancelled"
        working = pipeline.status("TASK-001")
        assert working["status"] == "in_progress"
        loop = working["metadata"]["ralph"]
        assert loop.pop("started_at").endswith("Z")
        promise = "IMPLEMENTATION_COMPLETE"
        assert loop == {"stage": "coder", "iteration": 1, "max_iterations": 15, "completion_promise": promise}
        run.terminate()
        time.sleep(0.3)
        run.terminate()
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert not find_processes_with("61.7")
    assert pipeline.status("TASK-001")["status"] == "todo"


def test_after_kill_9_resume_goes_on(pipeline: PipelineFixture) -> None:  # 000-24
    (pipeline.home / "lied").touch()
    pipeline.agent(f"[ -f {pipeline.home}/go ] || {{ touch {pipeline.home}/up; sleep 60; }}")
    pipeline.task("TASK-001")
    with pipeline.workshop.start("execute") as run:
        assert wait_until((pipeline.home / "up").exists, 20)
        run.kill()
        run.communicate()
    (pipeline.home / "go").touch()
    assert pipeline.status("TASK-001")["status"] == "in_progress"
    assert "● TASK-001  cut off at coder 1/15 " in pipeline.workshop.ralph("task", "list").stdout
    done = pipeline.workshop.ralph("execute", "--resume", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert pipeline.status("TASK-001")["status"] == "done"


def test_an_unknown_task_or_stage_exits_2(pipeline: PipelineFixture) -> None:
    assert pipeline.workshop.ralph("execute", "TASK-404").returncode == 2
    assert pipeline.workshop.ralph("execute", "--stage", "cook").returncode == 2


def test_some_stages_first_the_others_later(pipeline: PipelineFixture) -> None:
    (pipeline.home / "lied").touch()
    pipeline.task("TASK-001")
    assert pipeline.execute("--stage", "coder").returncode == 0
    task = pipeline.status("TASK-001")
    assert (task["status"], task["stage"], task["passed"]) == ("todo", "reviewer", ["coder"])
    assert not (pipeline.repo / "TASK-001.txt").exists()
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [len(pipeline.told("TASK-001", stage)) for stage in ("coder", "reviewer", "qa")] == [1, 1, 1]
    assert (pipeline.repo / "TASK-001.txt").exists()


def test_who_waits_for_a_failed_task_stays_todo(pipeline: PipelineFixture) -> None:
    pipeline.task("TASK-001", "--coder-max-iterations", "1")  # its one promise is a lie
    pipeline.task("TASK-003", "--depends-on", "TASK-001")
    done = pipeline.execute("-j", "2")
    assert done.returncode == 1
    assert "TASK-003  waits for TASK-001" in done.stdout
    assert [pipeline.status(name)["status"] for name in ("TASK-001", "TASK-003")] == ["todo", "todo"]
    assert pipeline.told("TASK-003", "coder") == []


def test_with_its_loop_switched_off_an_agent_has_one_pass(pipeline: PipelineFixture) -> None:  # 000-06, 002-20, C33
    pipeline.workshop.settings(agent={"command": "worker"}, specflow={"coder": {"enabled": False}})
    pipeline.task("TASK-001")
    done = pipeline.execute()
    assert done.returncode == 1
    assert "coder: its single pass was not enough: Verification failed: Command exited with 1" in done.stdout
    (prompt,) = pipeline.told("TASK-001", "coder")
    assert "Ralph" not in prompt
    done = pipeline.execute()  # the second try is honest
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_signal_lets_the_step_finish_and_the_stage_counts(pipeline: PipelineFixture) -> None:  # 000-24
    (pipeline.home / "lied").touch()
    pipeline.agent(f"touch {pipeline.home}/up; sleep 1")
    pipeline.task("TASK-001")
    with pipeline.workshop.start("execute") as run:
        assert wait_until((pipeline.home / "up").exists, 20)
        run.terminate()
        run.communicate(timeout=20)
    assert run.returncode == 130
    task = pipeline.status("TASK-001")
    assert (task["status"], len(pipeline.told("TASK-001", "coder"))) == ("todo", 1)
    assert pipeline.execute("--resume").returncode == 0
    assert len(pipeline.told("TASK-001", "coder")) == 1  # its promise was looked at, it was not asked again


def test_each_role_has_its_own_agent_and_model(pipeline: PipelineFixture) -> None:
    (pipeline.home / "lied").touch()
    other = pipeline.home / "critic"
    other.write_text(f"#!/bin/sh\necho $* > {pipeline.home}/critic.argv\nexec worker\n")
    other.chmod(0o755)
    pipeline.workshop.settings(agent={"command": "worker"}, specflow={"qa": {"agent": "critic", "model": "big one"}})
    pipeline.task("TASK-001")
    assert pipeline.execute("--stage", "qa", "--agent", "worker").returncode == 1  # nothing is there to be seen
    assert not (pipeline.home / "critic.argv").exists()
    done = pipeline.execute("--stage", "coder,qa")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "TASK-001 skips reviewer, tester" in done.stdout
    assert (pipeline.home / "critic.argv").read_text() == "--model big one\n"


def test_what_agents_leave_lying_about_lands_without_a_name_in_git(pipeline: PipelineFixture) -> None:
    pipeline.agent("echo done > $RALPH_TASK.txt; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit")
    (pipeline.home / "gitconfig").write_text("[user]\nuseConfigOnly = true\n")
    checks = [{"name": n, "method": "external", "config": {"command": f"sleep 0.5; test {n}"}} for n in "ab"]
    config = json.dumps({"stages": checks, "parallel": True})
    pipeline.task("TASK-001", "--tester-verify", "multi_stage", "--tester-verify-config", config)
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert pipeline.workshop.git("log", "-1", "--format=%an %s") == "ralph ralph: TASK-001\n"
    attempts = pipeline.shown("TASK-001")["attempts"]
    parallel = next(a for a in attempts if a["agent"] == "tester")
    assert parallel["reason"] == "All 2 verification stages passed"
    assert parallel["seconds"] < 0.95  # both at once


@pytest.mark.parametrize(("semantic", "method"), [("judge", "semantic"), ("words", "string_match")])
def test_a_task_without_criteria_is_warned_of(
    pipeline: PipelineFixture, semantic: str, method: str
) -> None:  # 002-24, C15
    pipeline.honest()
    pipeline.workshop.settings(agent={"command": "worker"}, specflow={"semantic": semantic})
    (pipeline.repo / "t.yaml").write_text("- {id: TASK-001, spec_id: files, title: Old}\n")
    assert pipeline.workshop.ralph("task", "import", "t.yaml").returncode == 0
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"TASK-001 says nothing about completion; coder is verified by {method}" in done.stdout


PAID = r"""#!/bin/sh
if [ "$RALPH_STAGE" = judge ]; then
echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0,"result":"VERIFIED"}'; exit; fi
case $RALPH_STAGE in coder) p=IMPLEMENTATION_COMPLETE; echo done > $RALPH_TASK.txt;; reviewer) p=REVIEW_PASSED;;
tester) p=TESTS_PASSED;; qa) p=QA_PASSED;; esac
printf '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.25,"usage":{"input_tokens":3},'
printf '"result":"The file is there and says done.\\n<promise>%s</promise>"}\n' $p
"""


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (("--budget", "0.4"), "the budget of all tasks together is spent"),
        (("--task-budget", "0.4"), "$0.50 of the $0.40 budget spent"),
    ],
)
def test_money_is_told_and_bounds_the_work(
    pipeline: PipelineFixture, limit: tuple[str, str], why: str
) -> None:  # 000-22
    program = pipeline.home / "claude"
    program.write_text(PAID)
    program.chmod(0o755)
    pipeline.task("TASK-001")
    done = pipeline.execute("--agent", "claude", *limit)
    assert done.returncode == 1
    assert f"TASK-001  over_budget  {why}" in done.stdout
    shown = pipeline.shown("TASK-001")
    assert [i["cost_usd"] for i in shown["iterations"]] == [0.25, 0.25]
    assert shown["spent"]["cost_usd"] == 0.5
    assert (shown["task"]["status"], shown["task"]["metadata"]["ralph_failure"]["reason"]) == ("todo", why)


def test_programs_get_every_event_with_its_task_and_a_report(pipeline: PipelineFixture) -> None:
    pipeline.task("TASK-001", "--coder-max-iterations", "1")
    done = pipeline.execute("--json")
    *events, report = map(json.loads, done.stdout.splitlines())
    assert {event["task"] for event in events} == {"TASK-001"}
    assert "gate_ended" in {event["event"]["type"] for event in events}
    assert (report["exit_code"], done.returncode) == (1, 1)
    assert [(e["task"], e["outcome"]) for e in report["report"]["endings"]] == [("TASK-001", "exhausted")]


def test_a_budget_nobody_can_keep_is_refused(pipeline: PipelineFixture) -> None:
    pipeline.task("TASK-001")
    done = pipeline.execute("--budget", "1")
    assert done.returncode == 2
    assert "does not report what it costs" in done.stderr


def test_without_a_commit_to_begin_at_nothing_is_begun(workshop: ProjectFixture) -> None:
    done = workshop.ralph("execute", "--agent", "claude")
    assert done.returncode == 2
    assert "there is no commit on branch 'main'" in done.stderr


def test_a_judge_that_is_not_there_is_told_before_anything_is_begun(pipeline: PipelineFixture) -> None:  # 002-07
    pipeline.workshop.settings(agent={"command": "worker"}, specflow={"judge": {"agent": "no-such-judge"}})
    pipeline.task("TASK-001")
    done = pipeline.execute()
    assert done.returncode == 2
    assert "judge: agent not found: 'no-such-judge' is not on PATH" in done.stderr
    assert (pipeline.told("TASK-001", "coder"), pipeline.status("TASK-001")["status"]) == ([], "todo")
    by_hand = pipeline.workshop.ralph("verify", "TASK-001", "--agent", "reviewer")
    assert by_hand.returncode == 2
    assert "judge: agent not found" in by_hand.stderr
    pipeline.honest()
    assert pipeline.execute("--stage", "coder").returncode == 0  # nobody asks it there


def test_a_judge_that_tells_no_cost_keeps_no_budget(pipeline: PipelineFixture) -> None:  # 000-22
    pipeline.workshop.agent()
    pipeline.workshop.settings(specflow={"judge": {"agent": "worker"}})
    pipeline.task("TASK-001")
    done = pipeline.execute("--agent", "claude", "--budget", "1")
    assert done.returncode == 2
    assert "does not report what it costs" in done.stderr


def test_what_somebody_gave_up_comes_back_only_by_name(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    assert pipeline.workshop.ralph("task", "edit", "TASK-001", "--status", "cancelled").returncode == 0
    done = pipeline.execute("--resume")
    assert (done.returncode, pipeline.status("TASK-001")["status"]) == (0, "cancelled")
    done = pipeline.execute("--resume", "TASK-001")
    assert (done.returncode, pipeline.status("TASK-001")["status"]) == (0, "done")


def test_a_wrong_promise_is_an_attempt_and_the_agent_is_told(pipeline: PipelineFixture) -> None:  # 000-22, 002-17, C2
    pipeline.honest()
    pipeline.agent(before="[ $RALPH_ITERATION = 1 ] && echo '<promise>ALL_DONE</promise>' && exit")
    pipeline.task("TASK-001")
    assert pipeline.execute("--stage", "coder").returncode == 0
    reason = "Promise 'IMPLEMENTATION_COMPLETE' not found in output"
    shown = pipeline.shown("TASK-001")
    assert (shown["attempts"][0]["verified"], shown["attempts"][0]["reason"]) == (False, reason)
    assert shown["iterations"][0]["reason"] == f"Verification failed: {reason}"
    assert f"Verification failed: {reason}" in pipeline.told("TASK-001", "coder")[1]


def test_status_names_the_task_of_a_run(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-001")
    assert pipeline.execute("--stage", "coder").returncode == 0
    assert "  completed  TASK-001 " in pipeline.workshop.ralph("status").stdout


def test_every_iteration_says_why_it_was_not_the_last(pipeline: PipelineFixture) -> None:  # 000-16, 000-22, 002-17
    pipeline.honest()
    pipeline.agent(
        before=r"""
if [ ! -f {home}/minded ]; then case $RALPH_STAGE-$RALPH_ITERATION in
coder-1) sleep 60;;
coder-2) echo Working.; exit;;
reviewer-1) touch {home}/minded; echo '<changes>Louder.</changes>'; echo '<promise>REVIEW_PASSED</promise>'; exit;;
esac; fi"""
    )
    pipeline.task("TASK-001")
    done = pipeline.execute("--timeout", "1", "--stage", "coder,reviewer")
    assert done.returncode == 0, done.stdout + done.stderr
    log = pipeline.shown("TASK-001")["iterations"]
    assert [(i["stage"], i["ralph_iteration"], i["promise_found"], i["reason"].partition(",")[0]) for i in log] == [
        ("coder", 1, False, "The agent was stopped after 1s"),
        ("coder", 2, False, "No completion promise found"),
        ("coder", 3, True, "Completion verified"),
        ("reviewer", 1, False, "Changes wanted: Louder."),  # a promise beside it is none
        ("coder", 1, True, "Completion verified"),
        ("reviewer", 1, True, "Completion verified"),
    ]


def test_deleting_a_task_tells_what_stays_of_it_and_how_to_remove_that(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    (pipeline.home / "minded").touch()
    for name in ("TASK-001", "TASK-002"):
        pipeline.task(name, "--coder-max-iterations", "1")
    pipeline.agent(before="[ $RALPH_TASK = TASK-002 ] || exit 0")
    pipeline.execute()
    ralph, git = pipeline.workshop.ralph, pipeline.workshop.git
    tree = pipeline.repo / ".ralph/worktrees/TASK-001"
    assert tree.exists()
    deleted = ralph("task", "delete", "TASK-001", "--force")
    removal = f"git worktree remove --force {tree} && git branch -D ralph/TASK-001"
    assert deleted.stdout == f"Deleted task TASK-001\nIts work is kept in git. To remove that too: {removal}\n"
    subprocess.run(removal, shell=True, cwd=pipeline.repo, env=pipeline.workshop.environment, check=True)
    assert not tree.exists()
    assert git("branch", "--list", "ralph/*") == ""
    landed = ralph("task", "delete", "TASK-002", "--force", "--json")
    assert json.loads(landed.stdout) == {"deleted": "TASK-002"}


def test_without_any_task_it_says_so(pipeline: PipelineFixture) -> None:
    done = pipeline.execute()
    assert done.returncode == 2
    assert "there are no tasks here yet" in done.stderr
    assert "ralph task create" in done.stderr
