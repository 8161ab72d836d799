"""`ralph supervise` as a user meets it."""

import json
import os
import re
import signal
import sys
import time
import uuid
from pathlib import Path

import pytest
import yaml

from support.processes import find_processes_with, wait_until
from support.workshop import ProjectFixture, make_result_command

COUNT = "n=$(($(cat $TASK_FOLDER/n 2>/dev/null || echo 0) + 1)); echo $n > $TASK_FOLDER/n; "


@pytest.fixture
def task(workshop: ProjectFixture) -> Path:
    folder = workshop.repo / "root" / "proj" / "task-1"
    folder.mkdir(parents=True)
    (folder / "TASK.md").write_text("Do the thing.\n")
    return folder


def supervise(workshop: ProjectFixture, task: Path, script: str, *options: str) -> "tuple[int, str, str]":
    done = workshop.ralph("supervise", str(task), "--restart-delay", "0.05", *options, "--", "sh", "-c", script)
    return done.returncode, done.stdout, done.stderr


def messages(task: Path, name: str = "TASK-MESSAGE-BUS.md") -> list[tuple[str, str]]:
    from ralph.stores.bus import FileMessageBus

    return [(m.type, m.body.strip()) for m in FileMessageBus(task / name).read()]


def test_done_on_the_third_run_exits_0_after_two_delays(workshop: ProjectFixture, task: Path) -> None:  # 003-02, 003-03
    began = time.monotonic()
    code, out, _ = supervise(
        workshop, task, COUNT + "[ $n -lt 3 ] || touch $TASK_FOLDER/DONE; exit $n", "--restart-delay", "0.5"
    )
    assert code == 0
    assert (task / "n").read_text() == "3\n"
    assert time.monotonic() - began >= 1.0
    assert "task completed (DONE marker present, no active children)" in out
    assert ("INFO", "task completed (DONE marker present, no active children)") in messages(task)
    assert messages(task.parent, "PROJECT-MESSAGE-BUS.md") == [("FACT", "task task-1 completed")]
    assert sum("starting root agent" in body for _, body in messages(task)) == 3


def test_without_done_it_exits_1_with_an_error_on_the_bus(
    workshop: ProjectFixture, task: Path
) -> None:  # 003-06, 003-09
    code, out, _ = supervise(workshop, task, COUNT + "exit 1", "--max-restarts", "3")
    assert code == 1
    assert (task / "n").read_text() == "3\n"
    assert messages(task)[-1] == ("ERROR", "max restarts exceeded")
    warnings = [body for kind, body in messages(task) if kind == "WARNING"]
    assert [w.split(":")[0] for w in warnings] == [f"agent failed on restart #{n}" for n in range(3)]
    assert "Agent failed with exit code 1, restarting (attempt 2/3)" in out
    assert re.search(r"\[\d\d:\d\d:\d\d\] .*Attempt 1: Agent failed \(exit 1\), restarting\.\.\.", out)
    assert "Attempt 3: Max restarts exceeded, stopping" in out


def test_done_at_the_start_runs_nothing(workshop: ProjectFixture, task: Path) -> None:  # 003-04
    (task / "DONE").touch()
    assert supervise(workshop, task, COUNT)[0] == 0
    assert not (task / "n").exists()


def test_done_as_a_directory_is_an_error(workshop: ProjectFixture, task: Path) -> None:  # 003-04
    (task / "DONE").mkdir()
    code, out, _ = supervise(workshop, task, COUNT)
    assert code == 2
    assert "DONE is a directory" in out
    assert not (task / "n").exists()


@pytest.mark.parametrize(
    "wish",
    [
        "exit 42",
        "touch $TASK_FOLDER/WAIT_WITHOUT_RESTART",
        f"{sys.executable} -m ralph bus post --type wait_without_restart 'Waiting for user input'",
    ],
)
def test_waiting_without_restart_exits_3(workshop: ProjectFixture, task: Path, wish: str) -> None:  # 003-13
    code, out, _ = supervise(workshop, task, COUNT + wish)
    assert code == 3
    assert (task / "n").read_text() == "1\n"
    assert "wait-without-restart" in out
    info = yaml.safe_load(next((task / "runs").iterdir()).joinpath("run-info.yaml").read_text())
    assert info["status"] == "stopped"
    assert supervise(workshop, task, COUNT + "touch $TASK_FOLDER/DONE")[0] == 0  # answered: it goes on


@pytest.mark.parametrize(
    ("words", "says"), [(["no-such-agent"], "agent not found"), (["/etc/passwd"], "permission denied")]
)
def test_fatal_errors_stop_at_once(workshop: ProjectFixture, task: Path, words: list[str], says: str) -> None:  # 003-15
    done = workshop.ralph("supervise", str(task), "--", *words)
    assert done.returncode == 2
    assert says in done.stdout + done.stderr


def test_an_invalid_key_stops_at_once_and_a_rate_limit_does_not(
    workshop: ProjectFixture, task: Path
) -> None:  # 003-14, 003-15
    workshop.agent(
        make_result_command("API Error: 429 rate limit", is_error=True, api_error_status=429) + "; exit 1",
        make_result_command("Invalid API key", is_error=True, api_error_status=401) + "; exit 1",
    )
    done = workshop.ralph("supervise", str(task), "--agent", "claude", "--restart-delay", "0.05")
    assert done.returncode == 2
    assert workshop.calls == 2


def test_the_prompt_is_the_task_and_names_its_folder(workshop: ProjectFixture, task: Path) -> None:  # 003-08
    supervise(workshop, task, COUNT + "cat > $TASK_FOLDER/prompt.$n; [ $n -lt 2 ] || touch $TASK_FOLDER/DONE")
    first, second = (task / "prompt.1").read_text(), (task / "prompt.2").read_text()
    assert first.startswith(f"TASK_FOLDER={task.resolve()}\n")
    assert "\n\nDo the thing.\n\n## How this loop works\n" in first
    assert "\n\nContinue working on the following:\n\nDo the thing.\n\n## How this loop works\n" in second


def test_every_run_has_its_folder(workshop: ProjectFixture, task: Path) -> None:
    supervise(workshop, task, COUNT + "echo out $n; echo err >&2; [ $n -lt 2 ] || touch $TASK_FOLDER/DONE; exit 1")
    first, second = sorted((task / "runs").iterdir())
    assert re.fullmatch(r"\d{8}-\d{6}0000-\d+-1", first.name)
    assert (first / "agent-stdout.txt").read_text() == "out 1\n"
    assert (first / "agent-stderr.txt").read_text() == "err\n"
    assert (first / "prompt.md").exists()
    assert (second / "output.md").read_text().strip() == "out 2"
    info = yaml.safe_load((second / "run-info.yaml").read_text())
    assert (info["previous_run_id"], info["exit_code"], info["status"]) == (first.name, 1, "failed")
    assert (info["project_id"], info["task_id"]) == ("proj", "task-1")


def test_a_timeout_is_a_failure_and_says_so(workshop: ProjectFixture, task: Path) -> None:  # 003-12
    token = uuid.uuid4().hex
    script = (
        COUNT + f"[ $n -lt 2 ] || {{ touch $TASK_FOLDER/DONE; exit; }}; setsid sh -c 'sleep 60; :' {token} & sleep 60"
    )
    code, out, _ = supervise(workshop, task, script, "--timeout", "0.5s")
    assert code == 0
    assert "Agent timeout after 0.5s, killing process group" in out
    assert not find_processes_with(token)


def test_silence_has_its_own_message(workshop: ProjectFixture, task: Path) -> None:  # C13
    script = COUNT + "[ $n -lt 2 ] || { touch $TASK_FOLDER/DONE; exit; }; sleep 60"
    code, out, _ = supervise(workshop, task, script, "--idle-timeout", "0.5s")
    assert code == 0
    assert "Agent silent for 0.5s, killing process group" in out


def test_two_interrupts_end_a_stubborn_tree_within_six_seconds(
    workshop: ProjectFixture, task: Path
) -> None:  # 003-10, C20
    token = uuid.uuid4().hex
    stubborn = f"setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done' {token} &"
    script = f"trap '' TERM INT; {stubborn} touch $TASK_FOLDER/up; while :; do sleep 0.1; done"
    with workshop.start("supervise", str(task), "--", "sh", "-c", script, token) as run:
        assert wait_until((task / "up").exists)
        run.send_signal(signal.SIGINT)
        time.sleep(0.2)
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert time.monotonic() - began < 6.5
    assert not find_processes_with(token)


def test_kill_9_leaves_nothing_and_the_next_start_heals(workshop: ProjectFixture, task: Path) -> None:  # 003-10
    token = uuid.uuid4().hex
    script = f"setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' {token} & touch $TASK_FOLDER/up; sleep 60"
    with workshop.start("supervise", str(task), "--", "sh", "-c", script) as run:
        assert wait_until((task / "up").exists)
        run.kill()
        run.communicate()
    assert wait_until(lambda: not find_processes_with(token), 8)
    status = json.loads(workshop.ralph("status", "--json").stdout)["runs"][0]
    assert (status["active"], status["outcome"]) == (False, "lost")
    assert supervise(workshop, task, "touch $TASK_FOLDER/DONE")[0] == 0
    infos = [yaml.safe_load((f / "run-info.yaml").read_text())["status"] for f in sorted((task / "runs").iterdir())]
    assert infos == ["failed", "completed"]


def test_done_waits_for_a_child_run(workshop: ProjectFixture, task: Path) -> None:  # 003-05
    child = task.parent / "task-2"
    child.mkdir()
    (child / "TASK.md").write_text("Sub-task.\n")
    work = "sleep 1; touch $TASK_FOLDER/DONE"
    ralph = f"{sys.executable} -m ralph"
    script = (
        f"setsid {ralph} supervise {child} -- sh -c '{work}' > $TASK_FOLDER/child.log 2>&1 &"
        f" while [ ! -d {child}/runs ]; do sleep 0.05; done; touch $TASK_FOLDER/DONE"
    )
    code, out, _ = supervise(workshop, task, script, "--poll-interval", "0.1")
    assert code == 0, out
    assert (child / "DONE").exists()
    runs = json.loads(workshop.ralph("status", "--json").stdout)["runs"]
    parent = next(run for run in runs if run["task"] == "task-1")
    assert next(run for run in runs if run["task"] == "task-2")["parent"] == parent["id"]


def test_a_child_that_outlives_the_wait_gives_a_warning_and_is_ended(
    workshop: ProjectFixture, task: Path
) -> None:  # 003-05
    token = uuid.uuid4().hex
    child = task.parent / "task-2"
    child.mkdir()
    (child / "TASK.md").write_text("Sub-task.\n")
    script = (
        f"setsid {sys.executable} -m ralph supervise {child} -- sh -c 'sleep 60; :' {token} > /dev/null 2>&1 &"
        f" while [ ! -d {child}/runs ]; do sleep 0.05; done; touch $TASK_FOLDER/DONE"
    )
    code, _, _ = supervise(workshop, task, script, "--wait-timeout", "0.5", "--poll-interval", "0.1")
    assert code == 0
    (ending,) = [(kind, body) for kind, body in messages(task) if "DONE marker" in body or "still active" in body]
    assert (ending[0], "still active" in ending[1], "no active children" in ending[1]) == ("WARNING", True, False)
    assert not find_processes_with(token)


def test_a_task_waits_for_done_of_the_tasks_it_needs(workshop: ProjectFixture, task: Path) -> None:
    first = task.parent / "task-0"
    first.mkdir()
    (first / "TASK.md").write_text("First.\n")
    (task / "TASK-CONFIG.yaml").write_text("depends_on: [task-0]\n")
    with workshop.start(
        "supervise", str(task), "--poll-interval", "0.1", "--", "sh", "-c", "touch $TASK_FOLDER/DONE"
    ) as run:
        time.sleep(0.7)
        assert not (task / "DONE").exists()
        (first / "DONE").touch()
        assert run.wait(timeout=20) == 0


def test_tasks_that_wait_for_each_other_are_named(workshop: ProjectFixture, task: Path) -> None:
    other = task.parent / "task-0"
    other.mkdir()
    (task / "TASK-CONFIG.yaml").write_text("depends_on: [task-0]\n")
    (other / "TASK-CONFIG.yaml").write_text("depends_on: [task-1]\n")
    code, _, err = supervise(workshop, task, COUNT)
    assert code == 2
    assert "task-1 → task-0 → task-1" in err or "task-0 → task-1 → task-0" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-such-folder"], "there is no folder"),
        (["{task}", "--max-restarts", "-1", "--", "true"], "--max-restarts"),
        (["{task}", "--restart-delay", "-1", "--", "true"], "is not a time"),
        (["{task}", "--agent", "claude", "--", "true"], "not both"),
        (["{empty}", "--", "true"], "no TASK.md"),
    ],
)
def test_bad_usage_exits_2(workshop: ProjectFixture, task: Path, words: list[str], says: str) -> None:
    empty = workshop.repo / "empty"
    empty.mkdir()
    done = workshop.ralph("supervise", *(word.format(task=task, empty=empty) for word in words))
    assert done.returncode == 2
    assert says in done.stderr


def test_a_second_supervisor_of_the_same_task_is_refused(workshop: ProjectFixture, task: Path) -> None:
    with workshop.start("supervise", str(task), "--", "sh", "-c", "touch $TASK_FOLDER/up; sleep 60") as run:
        assert wait_until((task / "up").exists)
        second = workshop.ralph("supervise", str(task), "--", "true")
        assert second.returncode == 2
        assert f"pid {run.pid}" in second.stderr
        assert workshop.ralph("cancel").returncode == 0
        run.communicate(timeout=20)
    assert run.returncode == 130


def test_the_agents_environment_names_the_task(workshop: ProjectFixture, task: Path) -> None:  # 003-08
    supervise(workshop, task, "env > $TASK_FOLDER/env; touch $TASK_FOLDER/DONE")
    environment = (task / "env").read_text().splitlines()
    assert f"TASK_FOLDER={task.resolve()}" in environment
    assert any(line.startswith("RUN_FOLDER=") for line in environment)
    assert os.path.exists(task / "DONE")


def test_the_defaults_of_the_command_line(workshop: ProjectFixture) -> None:  # 003-01
    shown = " ".join(workshop.ralph("supervise", "--help").stdout.split())
    for words in ("Maximum agent runs. [default: 100", "[default: 300]", "Delay between runs. [default: 1]"):
        assert words in shown


def test_a_bus_that_cannot_be_written_stops_nothing(workshop: ProjectFixture, task: Path) -> None:  # 003-05
    (task / "TASK-MESSAGE-BUS.md").mkdir()
    (task.parent / "PROJECT-MESSAGE-BUS.md").mkdir()
    assert supervise(workshop, task, "touch $TASK_FOLDER/DONE")[0] == 0


def test_what_an_agent_posts_carries_its_own_run(workshop: ProjectFixture, task: Path) -> None:
    from ralph.stores.bus import FileMessageBus

    post = f"{sys.executable} -m ralph bus post --type FACT found"
    supervise(workshop, task, f"{post}; touch $TASK_FOLDER/DONE")
    fact = next(m for m in FileMessageBus(task / "TASK-MESSAGE-BUS.md").read() if m.type == "FACT")
    assert (fact.project_id, fact.task_id) == ("proj", "task-1")
    assert fact.run_id == next((task / "runs").iterdir()).name


def test_the_prompt_says_how_to_finish_and_how_to_wait(workshop: ProjectFixture, task: Path) -> None:  # 003-08
    workshop.agent(f"touch {task}/DONE")
    assert workshop.ralph("supervise", str(task), "--agent", "claude").returncode == 0
    prompt = workshop.prompt(1)
    assert f"create the file {task.resolve()}/DONE" in prompt
    assert f"{task.resolve()}/WAIT_WITHOUT_RESTART" in prompt
    assert "ralph bus post" in prompt
    assert "exit with code 42" in prompt
    assert "ralph supervise FOLDER" in prompt


def test_a_blank_task_is_refused_before_anything_is_paid(workshop: ProjectFixture, task: Path) -> None:  # issue 12
    (task / "TASK.md").write_text(" \n\n")
    done = workshop.ralph("supervise", str(task), "--agent", "claude")
    assert done.returncode == 2
    assert "TASK.md is empty" in done.stderr
    assert workshop.calls == 0


def test_a_task_that_was_done_before_says_that_no_agent_was_run(workshop: ProjectFixture, task: Path) -> None:  # 003-04
    (task / "DONE").write_text("")
    done = workshop.ralph("supervise", str(task), "--agent", "claude")
    assert done.returncode == 0
    assert "DONE was there already; no agent was run" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("delay", [0.05, 0.5])  # more of it in tests/torture
def test_no_child_run_is_lost_however_late_it_registers(workshop: ProjectFixture, task: Path, delay: float) -> None:
    # 003-17: a child that was started just before its agent ended
    child = task.parent / "task-20260101-000001-child-of-it"
    child.mkdir()
    (child / "TASK.md").write_text("Be a child.\n")
    ralph = f"{sys.executable} -m ralph supervise {child} --restart-delay 0.05 -- sh -c 'sleep 0.6; touch {child}/DONE'"
    script = f"{ralph} >/dev/null 2>&1 & sleep {delay}; touch $TASK_FOLDER/DONE"
    done = workshop.ralph("supervise", str(task), "--restart-delay", "0.05", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (child / "DONE").exists()
    assert "no active children" in done.stdout


def test_done_counts_only_when_the_checks_pass(workshop: ProjectFixture, task: Path) -> None:
    script = (
        COUNT
        + 'cp "$RUN_FOLDER/prompt.md" $TASK_FOLDER/prompt.$n; [ $n -lt 2 ] || touch result; touch $TASK_FOLDER/DONE'
    )
    code, out, _ = supervise(workshop, task, script, "--check", "test -f result", "--check", "true")
    assert code == 0
    assert (task / "n").read_text() == "2\n"
    assert (task / "DONE").exists()
    assert "DONE does not count and was removed: test -f result failed" in out
    assert any("DONE does not count" in body for _, body in messages(task))
    assert 'Guardrail "test -f result" failed with exit code 1' in (task / "prompt.2").read_text()
    assert "DONE did not count" not in (task / "prompt.1").read_text()
    assert "checks passed: test -f result, true" in out


def test_a_mark_of_before_is_not_believed_either(workshop: ProjectFixture, task: Path) -> None:
    (task / "DONE").touch()
    code, out, _ = supervise(workshop, task, COUNT + ":", "--check", "false", "--max-restarts", "1")
    assert code == 1
    assert not (task / "DONE").exists()
    assert "DONE was there, but these checks failed: false" in out


def test_done_does_not_count_where_the_checks_were_loosened(workshop: ProjectFixture, task: Path) -> None:
    (workshop.repo / "check.sh").write_text("test -f result\n")
    workshop.settings(supervise={"checks": ["sh check.sh"]})
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    script = (
        COUNT + 'cp "$RUN_FOLDER/prompt.md" $TASK_FOLDER/prompt.$n; echo true > check.sh'
        "; [ $n -lt 2 ] || echo '<changes>check.sh: nobody needs a result</changes>'; touch $TASK_FOLDER/DONE"
    )
    code, out, _ = supervise(workshop, task, script, "--json")
    assert code == 0
    assert (task / "DONE").exists()
    assert "DONE does not count and was removed: check.sh was changed" in out
    told = (task / "prompt.2").read_text()
    assert all(words in told for words in ("check.sh: weakened", "-test -f result", "<changes>"))
    ended = json.loads(out.splitlines()[-1])["event"]
    assert ended["flagged"]
    assert ended["why"] == "completed, but check.sh was changed and fails in its old form: `ralph diff --proofs`"
    receipt = json.loads(next(workshop.repo.rglob("receipt.json")).read_text())
    assert [change["path"] for change in receipt["changed_proofs"]] == ["check.sh"]
    assert [check["sealed"] for check in receipt["checks"]] == [False, True]
    proofs = [{each["path"]: each["digest"] for each in check["proofs"]} for check in receipt["checks"]]
    assert proofs == [{"check.sh": workshop.git("hash-object", "check.sh").strip()}, {}]
    assert "Verified: 1 check passed again" in workshop.ralph("verify", receipt["run"]).stdout


def test_a_new_start_after_a_refusal_does_not_take_loosened_checks_for_its_own(
    workshop: ProjectFixture, task: Path
) -> None:
    (workshop.repo / "check.sh").write_text("test -f result\n")
    workshop.settings(supervise={"checks": ["sh check.sh"]})
    once = ("--max-restarts", "1", "--json")
    code, out, _ = supervise(workshop, task, "echo true > check.sh; touch $TASK_FOLDER/DONE", *once)
    assert code == 1
    for _ in range(2):  # the second is told what the first one after it left, too
        code, out, _ = supervise(workshop, task, "touch $TASK_FOLDER/DONE; date +%N > other", *once)
        assert code == 1, out
        assert "DONE does not count and was removed: check.sh was changed" in out
    assert "-test -f result" in workshop.call("diff", "--proofs")
    newest = max(workshop.repo.rglob("receipt.json"), key=lambda path: path.stat().st_mtime_ns)
    workshop.call("accept", newest.parent.name, "check.sh")
    code, out, _ = supervise(workshop, task, "touch $TASK_FOLDER/DONE", *once)
    assert (code, json.loads(out.splitlines()[-1])["event"].get("flagged")) == (0, None), out
