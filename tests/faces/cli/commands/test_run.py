"""`ralph run` as a user meets it: the installed program, real processes, real git."""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from support.processes import find_processes_with, wait_until
from support.workshop import ProjectFixture, make_result_command

DONE = make_result_command("All good.\n<response>DONE</response>")
WORKING = make_result_command("still at it")


# -- completion and exit codes --------------------------------------------------------------------
def test_a_claim_with_green_guardrails_exits_0(workshop: ProjectFixture) -> None:  # 001-04, 001-18
    workshop.agent(WORKING, DONE)
    workshop.settings(guardrails=[{"command": "true", "failAction": "APPEND"}])
    done = workshop.ralph("run", "-p", "do it")
    assert done.returncode == 0
    assert workshop.calls == 2
    assert "Completed: agent claimed <response>DONE</response>, 1 guardrail passed" in done.stdout


def test_no_claim_within_the_limit_exits_1(workshop: ProjectFixture) -> None:  # 001-04
    workshop.agent(WORKING)
    done = workshop.ralph("run", "-p", "do it", "-m", "3")
    assert done.returncode == 1
    assert workshop.calls == 3
    assert "maximum iterations reached (3) without completion" in done.stdout


def test_a_variable_with_a_secret_is_shown_nowhere(workshop: ProjectFixture) -> None:
    asks = make_result_command("<question>Is open-sesame right?</question>")
    workshop.agent(f'echo "key $MY_API_KEY" >&2; {asks}', f'echo "key $MY_API_KEY" >&2; {DONE}')
    workshop.settings(guardrails=[{"command": "echo with $MY_API_KEY; false", "failAction": "APPEND"}])
    shown = [
        workshop.ralph("run", "-p", "x", "--json", MY_API_KEY="open-sesame"),
        workshop.ralph("run", "-p", "x", "-m", "1", MY_API_KEY="open-sesame"),
    ]
    shown += [workshop.ralph("show"), workshop.ralph("show", "--json"), workshop.ralph("status", "--json")]
    shown += [workshop.ralph("report", "--format", "json"), workshop.ralph("logs")]
    assert [done.args for done in shown if "sesame" in done.stdout + done.stderr] == []
    files = [path for path in (workshop.repo / ".git" / "ralph" / "runs").rglob("*") if path.is_file()]
    assert [path.name for path in files if b"sesame" in path.read_bytes()] == []


def test_who_stops_early_is_told_how_to_go_on(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING, WORKING, DONE)
    early = workshop.ralph("run", "-p", "x", "-m", "1")
    assert early.stderr.endswith("  → resume with `ralph run --resume` and a higher -m or --max-time\n")
    assert "--resume" not in workshop.ralph("run", "-p", "x", "-m", "1", "--json").stderr
    assert "--resume" not in workshop.ralph("run", "-p", "x").stderr


def test_ten_iterations_are_the_default(workshop: ProjectFixture) -> None:  # 001-05
    workshop.agent(f"date +%N >> work.txt; {WORKING}")
    assert workshop.ralph("run", "-p", "x").returncode == 1
    assert workshop.calls == 10


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run"], "exactly one of --prompt (-p) and --prompt-file (-f)"),  # 001-03
        (["run", "-p", "x", "-f", "y"], "exactly one of"),
        (["run", "-f", "no-such-file"], "cannot read the prompt file 'no-such-file'"),
        (["run", "-p", " "], "the prompt is empty"),
        (["run", "-p", "x", "-m", "0"], "-m"),
        (["run", "-p", "x", "-m", "many"], "not a valid integer"),
        (["run", "-p", "x", "--max-time", "soon"], "is not a time"),
        (["run", "-p", "x", "--agent", "no-such-agent"], "agent not found: 'no-such-agent'"),
        (["run", "-p", "x", "--until", "never"], "until"),
        (["run", "-p", "x", "--resume"], "leave out -p and -f"),
        (["run", "--resume"], "there is no run to resume"),
        (["run", "--resume", "nope"], "no run matches 'nope'"),
        (["statu"], "did you mean 'status'?"),
        (["run", "--settings", "x", "-p", "y"], "No such option"),  # the settings path is fixed
    ],
)
def test_bad_usage_exits_2_with_one_clear_error(
    workshop: ProjectFixture, words: list[str], says: str
) -> None:  # 001-03
    done = workshop.ralph(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert workshop.calls == 0


def test_bad_settings_exit_2_and_name_the_place(workshop: ProjectFixture) -> None:  # 001-04
    workshop.settings(maximumIterations="ten")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 2
    assert ".ralph/settings.json" in done.stderr
    assert "maximumIterations" in done.stderr


def test_errors_are_json_when_json_is_asked_for(workshop: ProjectFixture) -> None:
    done = workshop.ralph("run", "--json")
    assert done.returncode == 2
    assert set(json.loads(done.stderr)) == {"code", "message", "hint"}


def test_the_version_is_dev_unless_stamped(workshop: ProjectFixture) -> None:  # 001-01
    for word in ("--version", "-v"):
        done = workshop.ralph(word)
        assert (done.returncode, done.stdout) == (0, "ralph dev\n")


def test_run_is_the_default_command(workshop: ProjectFixture) -> None:  # 001-01
    assert workshop.ralph("-p", "x").returncode == 0
    assert workshop.ralph("--prompt", "x", "-m", "1").returncode == 0


def test_every_flag_of_the_seed_is_there(workshop: ProjectFixture) -> None:  # 001-02
    shown = workshop.ralph("run", "--help").stdout
    flags = "-p --prompt -f --prompt-file -m --maximum-iterations -c --completion-response"
    for flag in [*flags.split(), "--stream-agent-output", "--no-stream-agent-output", "-V", "--verbose"]:
        assert re.search(rf"(?<![\w-]){flag}(?![\w-])", shown), flag


def test_another_completion_response(workshop: ProjectFixture) -> None:  # 001-02, 001-18
    workshop.agent(
        make_result_command("<response>done</response>"), make_result_command("<response>All Finished</response>")
    )
    assert workshop.ralph("run", "-p", "x", "-c", "ALL FINISHED").returncode == 0
    assert workshop.calls == 2


def test_text_mode_completes_too(workshop: ProjectFixture) -> None:  # 001-14, C4
    workshop.agent("echo working", "echo '<response>DONE</response>'")
    workshop.settings()
    done = workshop.ralph("run", "-p", "x", "--no-stream-agent-output")
    assert done.returncode == 0
    assert workshop.argv(1)[:3] == ["-p", "--output-format", "text"]
    assert done.stdout.count("costs are unknown") == 1


def test_any_command_can_be_the_agent(workshop: ProjectFixture) -> None:  # 001-09
    workshop.agent("echo '<response>DONE</response>'", name="my-agent")
    assert workshop.ralph("run", "--no-tell-completion", "-p", "x", "--agent", "my-agent --fast").returncode == 0
    assert workshop.argv(1) == ["--fast"]
    assert workshop.prompt(1) == "x"


def test_a_promise_or_a_file_completes_when_asked_for(workshop: ProjectFixture) -> None:  # C4
    workshop.agent(make_result_command("<promise>DONE</promise>"))
    assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 1
    assert workshop.ralph("run", "-p", "x", "-m", "1", "--until", "promise").returncode == 0
    workshop.agent(f"touch FINISHED; {WORKING}")
    (workshop.home / "count").unlink()
    assert workshop.ralph("run", "-p", "x", "-m", "1", "--until", "file:FINISHED").returncode == 0


# -- prompts --------------------------------------------------------------------------------------
def test_the_agent_is_called_as_its_adapter_says(workshop: ProjectFixture) -> None:  # 001-12, 001-13, C19
    workshop.settings(agent={"command": "claude", "flags": ["--model opus", "--no-auto-compact"]})
    workshop.ralph("run", "-p", "do it")
    expected = ["-p", "--model", "opus", "--no-auto-compact", "--output-format", "stream-json", "--verbose"]
    assert workshop.argv(1)[:7] == expected
    assert workshop.argv(1)[7] == "--settings"
    assert workshop.argv(1)[9:11] == ["--permission-mode", "acceptEdits"]
    assert workshop.prompt(1).startswith("do it")


def test_a_huge_prompt_arrives_whole(workshop: ProjectFixture) -> None:
    text = "x" * 300_000 + "\nend"
    (workshop.repo / "P.md").write_text(text)
    assert workshop.ralph("run", "--no-tell-completion", "-f", "P.md").returncode == 0
    assert workshop.prompt(1) == text


def test_the_prompt_file_is_read_again_each_time(workshop: ProjectFixture) -> None:  # 001-16
    workshop.agent(f"echo second > P.md; {WORKING}", DONE)
    (workshop.repo / "P.md").write_text("first\n")
    assert workshop.ralph("run", "--no-tell-completion", "-f", "P.md").returncode == 0
    assert (workshop.prompt(1), workshop.prompt(2)) == ("first\n", "second\n")


def test_a_prompt_file_that_vanishes_stops_the_run_with_2(workshop: ProjectFixture) -> None:
    workshop.agent(f"rm P.md; {WORKING}", DONE)
    (workshop.repo / "P.md").write_text("first\n")
    done = workshop.ralph("run", "-f", "P.md")
    assert done.returncode == 2
    assert "cannot read the prompt file" in done.stdout


def test_the_prompt_may_come_on_stdin(workshop: ProjectFixture) -> None:
    assert workshop.ralph("run", "--no-tell-completion", "-f", "-", stdin="from a pipe").returncode == 0
    assert workshop.prompt(1) == "from a pipe"


def test_the_iteration_line_when_enabled(workshop: ProjectFixture) -> None:  # 001-17
    workshop.agent(WORKING, DONE)
    workshop.settings(includeIterationCountInPrompt=True, maximumIterations=5)
    workshop.ralph("run", "--no-tell-completion", "-p", "do it")
    assert workshop.prompt(2) == "Iteration 2 of 5, 3 remaining.\n\ndo it"


# -- guardrails -----------------------------------------------------------------------------------
def test_a_failure_is_fed_back_verbatim(workshop: ProjectFixture) -> None:  # 001-16, 001-17, 001-19, 001-21
    workshop.agent(DONE, f"touch fixed; {DONE}")
    workshop.settings(
        guardrails=[{"command": "echo out; echo err >&2; test -f fixed", "failAction": "APPEND", "hint": "Make it so."}]
    )
    done = workshop.ralph("run", "--no-tell-completion", "-p", "do it")
    assert done.returncode == 0
    assert workshop.prompt(1) == "do it"
    assert workshop.prompt(2) == (
        "do it\n\n"
        'Guardrail "echo out; echo err >&2; test -f fixed" failed with exit code 1.\n'
        "Hint: Make it so.\n"
        "Output file: .ralph/guardrail_001_echo_out_echo_err_2_test_f_fixed.log\n"
        "Output (truncated):\n"
        "out\nerr\n"
    )
    log = workshop.repo / ".ralph" / "guardrail_001_echo_out_echo_err_2_test_f_fixed.log"
    assert log.read_text() == "out\nerr\n"
    assert 'Guardrail "echo out; echo err >&2; test -f fixed" failed with exit code 1' in done.stdout
    shown = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    at = next(number for number, line in enumerate(shown) if "told to the agent" in line)
    assert [line.strip(" └") for line in shown[at + 1 : at + 4]] == ["out", "err", f"full output: .ralph/{log.name}"]


@pytest.mark.parametrize(("action", "shape"), [("append", "base\n\nG"), ("PREPEND", "G\n\nbase"), ("Replace", "G")])
def test_each_fail_action(workshop: ProjectFixture, action: str, shape: str) -> None:  # 001-17
    workshop.agent(WORKING)
    workshop.settings(guardrails=[{"command": "false", "failAction": action}])
    workshop.ralph("run", "--no-tell-completion", "-p", "base", "-m", "2")
    message = (
        'Guardrail "false" failed with exit code 1.\nOutput file: .ralph/guardrail_001_false.log\nOutput (truncated):\n'
    )
    assert workshop.prompt(2) == shape.replace("G", message)


def test_output_for_the_agent_is_cut_and_the_log_is_not(workshop: ProjectFixture) -> None:  # 001-20
    workshop.agent(WORKING)
    workshop.settings(guardrails=[{"command": "seq 1 5000; exit 3"}], outputTruncateChars=20)
    workshop.ralph("run", "-p", "x", "-m", "2")
    assert workshop.prompt(2).endswith("Output (truncated):\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10... [truncated]")
    assert (workshop.repo / ".ralph/guardrail_001_seq_1_5000_exit_3.log").read_text().endswith("5000\n")


def test_all_guardrails_run_even_after_a_failure(workshop: ProjectFixture) -> None:  # 001-16
    workshop.agent(WORKING)
    workshop.settings(guardrails=[{"command": "false"}, {"command": "touch ran"}, {"command": "false"}])
    done = workshop.ralph("run", "-p", "x", "-m", "2")
    assert (workshop.repo / "ran").exists()
    assert workshop.prompt(2).count("failed with exit code") == 2
    assert "guardrail_001_false_1.log" in workshop.prompt(2)  # 001-22
    assert "guardrail_001_false_1.log" in os.listdir(workshop.repo / ".ralph")
    assert done.stdout.count('Guardrail "false" started') == 4


def test_a_guardrail_that_hangs_is_ended_and_says_so(workshop: ProjectFixture) -> None:  # 001-34
    workshop.agent(WORKING)
    workshop.settings(guardrails=[{"command": "sleep 60", "timeoutSeconds": 0.3}])
    done = workshop.ralph("run", "-p", "x", "-m", "2")
    assert "It was ended after its time limit of 0.3s." in workshop.prompt(2)
    assert "It was ended after its time limit of 0.3s." in done.stdout


def test_a_red_baseline_is_named_as_such(workshop: ProjectFixture) -> None:
    workshop.agent(f"touch fixed; {DONE}")
    workshop.settings(guardrails=[{"command": "test -f fixed"}])
    done = workshop.ralph("run", "-p", "x", "--baseline")
    assert done.returncode == 0
    assert "Baseline is red: test -f fixed failed before the first agent call" in done.stdout
    assert "guardrail_000_test_f_fixed.log" in workshop.prompt(1)


# -- SCM ------------------------------------------------------------------------------------------
SCM = {"command": "git", "tasks": ["commit"]}


def test_every_passing_iteration_is_committed_before_the_completion_check(
    workshop: ProjectFixture,
) -> None:  # 001-16, 001-24
    workshop.agent(
        f"echo 1 > made; {WORKING}",
        "echo; echo 'Add made'; echo More",
        f"echo 2 > made; {DONE}",
        "echo '<response>Change made</response>'",
    )
    workshop.settings(scm=SCM, guardrails=[{"command": "test -f made"}])
    (workshop.repo / "mine.txt").write_text("the user's own, untracked")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert workshop.git("log", "--format=%s").splitlines() == ["Change made", "Add made"]
    assert workshop.git("show", "--stat", "--format=", "HEAD~0").count("made") == 1
    assert workshop.git("status", "--porcelain").splitlines() == ["?? .ralph/", "?? mine.txt"]
    asked = "Provide a short imperative commit message for the changes. Output only the message, no explanation."
    assert workshop.prompt(2) == asked  # 001-23
    assert workshop.argv(2)[:3] == ["-p", "--output-format", "stream-json"]  # its cost counts, too


def test_nothing_is_committed_when_a_guardrail_fails(workshop: ProjectFixture) -> None:  # 001-24
    workshop.agent(f"echo 1 > made; {DONE}")
    workshop.settings(scm=SCM, guardrails=[{"command": "false"}])
    workshop.ralph("run", "-p", "x", "-m", "2")
    assert workshop.calls == 2
    assert "made" in workshop.git("status", "--porcelain")


def test_an_empty_diff_is_no_error_and_asks_for_no_message(workshop: ProjectFixture) -> None:
    workshop.settings(scm=SCM)
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert workshop.calls == 1


def test_a_message_is_an_argument_never_shell(workshop: ProjectFixture) -> None:  # 001-24
    workshop.agent(f"echo 1 > made; {DONE}", """echo 'Say "$(touch hacked)" `touch hacked`; touch hacked'""")
    workshop.settings(scm=SCM)
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert workshop.git("log", "--format=%s").strip() == 'Say "$(touch hacked)" `touch hacked`; touch hacked'
    assert not (workshop.repo / "hacked").exists()


def test_without_a_message_scm_is_aborted_and_the_loop_goes_on(workshop: ProjectFixture) -> None:  # 001-23
    workshop.agent(f"echo 1 > made; {DONE}", "echo '  '")
    workshop.settings(scm=SCM)
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert done.returncode == 0
    assert "commit: the agent gave no commit message" in done.stdout
    assert workshop.git("status", "--porcelain").splitlines()[-1] == "?? made"


def test_scm_trouble_is_reported_and_the_loop_goes_on(workshop: ProjectFixture) -> None:  # 001-24
    workshop.settings(scm={"command": "git", "tasks": ["push"]})
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    problem = "git push failed with exit code 128: fatal: No configured push destination."
    assert done.stdout.count(problem) == 2
    assert problem in done.stdout.splitlines()[-1]


def test_a_failed_push_hides_no_commit(workshop: ProjectFixture) -> None:  # 001-24
    workshop.agent(f"echo 1 > made; {DONE}", "echo 'Make it'")
    workshop.settings(scm={"command": "git", "tasks": ["commit", "push"]})
    done = workshop.ralph("run", "-p", "x")
    assert "Committed: Make it (commit)" in done.stdout
    assert workshop.git("log", "--format=%s") == "Make it\n"


# -- what agents do wrong -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (make_result_command("Invalid API key", is_error=True, api_error_status=401) + "; exit 1", "API key"),
        (make_result_command("Credit balance is too low", is_error=True, api_error_status=400) + "; exit 1", "redit"),
    ],
)
def test_what_cannot_work_stops_at_once_with_2(workshop: ProjectFixture, answer: str, says: str) -> None:  # C12
    workshop.agent(answer)
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 2
    assert workshop.calls == 1
    assert says in done.stdout


def test_a_claim_of_a_run_that_failed_does_not_count(workshop: ProjectFixture) -> None:
    said = '{"type":"assistant","message":{"content":[{"type":"text","text":"<response>DONE</response>"}]}}'
    workshop.agent(f"echo '{said}'; exit 1")
    done = workshop.ralph("run", "-p", "x", "-m", "2")
    assert done.returncode == 1


def test_an_agent_that_deletes_our_notes_costs_logs_not_the_run(workshop: ProjectFixture) -> None:
    workshop.agent(f"rm -rf .ralph; {WORKING}", f"rm -rf .ralph; {DONE}")
    workshop.settings(guardrails=[{"command": "test -e .git"}])
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls, done.stderr) == (0, 2, "")
    assert (workshop.repo / ".ralph/guardrail_002_test_e_git.log").exists()


def test_a_prompt_file_is_written_although_its_folder_is_gone(workshop: ProjectFixture) -> None:
    workshop.agent(f"cat $1 > told; rm -rf .ralph; {WORKING}", f"cat $1 > told; {DONE}")
    workshop.settings(agent={"command": "claude", "adapter": "command", "flags": ["{prompt_file}"]})
    done = workshop.ralph("run", "--no-tell-completion", "-p", "the prompt")
    assert (done.returncode, (workshop.repo / "told").read_text()) == (0, "the prompt")


def test_overload_is_waited_for_and_spends_no_iteration(workshop: ProjectFixture) -> None:  # 001-34
    overloaded = make_result_command("API Error: 529 Overloaded", is_error=True, api_error_status=529) + "; exit 1"
    workshop.agent(overloaded, overloaded, DONE)
    workshop.settings(retry={"delaySeconds": 0.05})
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert done.returncode == 0
    assert workshop.calls == 3


def test_an_agent_that_hangs_is_ended_by_its_time_limit(workshop: ProjectFixture) -> None:  # 001-34
    workshop.agent("sleep 60", DONE)
    done = workshop.ralph("run", "-p", "x", "--timeout", "0.5s")
    assert done.returncode == 0
    assert workshop.calls == 2


def test_the_budget_stops_the_loop_and_is_told_to_the_agent(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("working", cost=0.6))
    done = workshop.ralph("run", "-p", "x", "--budget", "1")
    assert done.returncode == 1
    assert workshop.calls == 2
    assert "$1.20 of the $1.00 budget spent" in done.stdout
    assert workshop.argv(2)[workshop.argv(2).index("--max-budget-usd") + 1].startswith("0.4")


STEP = '{"type":"step_finish","part":{"reason":"tool-calls","cost":0.25,"tokens":{"input":1,"output":1}}}'


def test_an_agent_that_tells_its_cost_on_the_way_is_stopped_at_the_budget(workshop: ProjectFixture) -> None:
    token = f"61.{uuid.uuid4().int % 10**9}"
    workshop.agent(f"for i in 1 2 3 4 5 6; do echo '{STEP}'; done; sleep {token}", name="opencode")
    done = workshop.ralph("run", "-p", "x", "--budget", "1", "--agent", "opencode")
    assert done.returncode == 1
    assert workshop.calls == 1
    assert "it had spent what was left of the budget" in done.stdout
    assert "of the $1.00 budget spent" in done.stdout
    assert not find_processes_with(token)


def test_a_cost_below_nothing_gives_no_budget_back(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("working", cost=-5), make_result_command("working", cost=0.6))
    done = workshop.ralph("run", "-p", "x", "--budget", "1")
    assert workshop.calls == 3
    assert "$1.20 of the $1.00 budget spent" in done.stdout


def test_a_budget_no_one_can_keep_is_refused(workshop: ProjectFixture) -> None:
    workshop.agent("echo hi", name="my-agent")
    done = workshop.ralph("run", "-p", "x", "--budget", "1", "--agent", "my-agent")
    assert done.returncode == 2
    assert "does not report what it costs" in done.stderr
    assert workshop.calls == 0


def test_the_time_limit_stops_the_loop(workshop: ProjectFixture) -> None:
    workshop.agent(f"sleep 0.3; {WORKING}")
    done = workshop.ralph("run", "-p", "x", "--max-time", "0.5s", "-m", "100")
    assert done.returncode == 1
    assert workshop.calls <= 3
    assert "time limit of 0.5s reached" in done.stdout


def test_the_agents_environment_is_its_own(workshop: ProjectFixture) -> None:
    workshop.ralph("run", "-p", "x", CLAUDECODE="1", ANTHROPIC_API_KEY="mine", OPENAI_API_KEY="not yours")
    environment = (workshop.home / "env.1").read_text()
    assert "CLAUDECODE" not in environment
    assert "OPENAI_API_KEY" not in environment
    assert "ANTHROPIC_API_KEY=mine" in environment
    assert "RALPH_ITERATION=1" in environment
    assert f"TASK_FOLDER={workshop.repo.resolve()}" in environment
    assert re.search(r"RALPH_RUN_ID=\d{8}-\d{6}-", environment)


def test_without_settings_the_agent_on_path_is_used_and_named(workshop: ProjectFixture) -> None:
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert "no agent configured: using 'claude'" in done.stdout


def test_without_any_agent_it_says_what_to_do(workshop: ProjectFixture) -> None:
    done = workshop.ralph("run", "-p", "x", PATH="/usr/bin:/bin")
    assert done.returncode == 2
    assert "none was found on PATH" in done.stderr


# -- signals, cancel, resume, lock ----------------------------------------------------------------
def test_a_first_signal_lets_the_step_finish(workshop: ProjectFixture) -> None:  # 001-25
    workshop.agent(f"echo up > up; sleep 1; echo finished > finished; {DONE}")
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Received signal, shutting down..." in err
    assert (workshop.repo / "finished").exists()
    assert "nterrupted" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_stops_at_once_and_leaves_nothing(workshop: ProjectFixture, number: signal.Signals) -> None:
    token = uuid.uuid4().hex
    workshop.agent(f"setsid sh -c 'trap \"\" INT; sleep 60; :' {token} & echo up > up; sleep 60")
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        run.send_signal(number)
        time.sleep(0.3)
        began = time.monotonic()
        run.send_signal(number)
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert time.monotonic() - began < 6
    assert not find_processes_with(token)
    assert "+up" in workshop.call("diff")  # what it left is kept


def test_resuming_after_kill_9_repeats_nothing_that_finished(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING, DONE)
    workshop.settings(guardrails=[{"command": "echo check >> checks; test -f go || { touch up; sleep 60; }"}])
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        run.kill()
        run.communicate()
    assert workshop.calls == 1
    (workshop.repo / "go").touch()
    assert workshop.status()["outcome"] == "lost"
    done = workshop.ralph("run", "--resume")
    assert done.returncode == 0
    assert workshop.calls == 2  # the first run was finished, and is not repeated
    assert (workshop.repo / "checks").read_text().count("check") == 3  # the interrupted check is
    status = workshop.status()
    assert (status["outcome"], status["iteration"]) == ("completed", 2)


def test_a_resumed_run_keeps_the_logs_of_its_first_life(workshop: ProjectFixture) -> None:
    told = [make_result_command(f"turn {number}") for number in (1, 2, 3)]
    workshop.agent(*(f"echo oops {number} >&2; {line}" for number, line in enumerate(told, 1)))
    workshop.ralph("run", "-p", "x", "-m", "2")
    workshop.ralph("run", "--resume", "-m", "3")
    (records,) = (workshop.repo / ".git/ralph/runs").iterdir()
    for number in (1, 2, 3):
        assert f"turn {number}" in (records / f"agent_00{number}.log").read_text()
        assert (records / f"agent_00{number}.stderr.log").read_text() == f"oops {number}\n"


def test_resuming_with_a_higher_limit(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING, WORKING, DONE)
    assert workshop.ralph("run", "-p", "x", "-m", "2").returncode == 1
    done = workshop.ralph("run", "--resume", "-m", "5")
    assert done.returncode == 0
    assert workshop.calls == 3
    assert "Iteration 3/5" in done.stdout


def test_a_completed_run_is_not_resumed(workshop: ProjectFixture) -> None:
    workshop.ralph("run", "-p", "x")
    run = workshop.status()["id"]
    done = workshop.ralph("run", "--resume", run)
    assert done.returncode == 2
    assert "is completed" in done.stderr


def test_only_limits_can_be_changed_when_resuming(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-m", "1")
    done = workshop.ralph("run", "--resume", "-c", "OTHER")
    assert done.returncode == 2
    assert "completionResponse cannot be changed" in done.stderr


def test_a_second_run_is_told_who_holds_the_repository(workshop: ProjectFixture) -> None:
    workshop.agent("echo up > up; sleep 60")
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        second = workshop.ralph("run", "-p", "y")
        assert second.returncode == 2
        assert re.search(rf"is busy: run \d{{8}}-\S+ \(pid {run.pid}\) holds it", second.stderr)
        workshop.ralph("cancel")
        run.communicate(timeout=20)


def test_status_shows_and_cancel_ends_a_run_within_two_seconds(workshop: ProjectFixture) -> None:
    token = uuid.uuid4().hex
    workshop.agent(
        WORKING, f"echo kept > work; setsid sh -c 'trap \"\" TERM; sleep 60; :' {token} & echo up > up; sleep 60"
    )
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        status = workshop.status()
        assert (status["active"], status["iteration"], status["limit"]) == (True, 2, 10)
        assert status["costUsd"] == pytest.approx(0.01)
        began = time.monotonic()
        assert "claude · iteration 2/10 · " in workshop.ralph("status").stdout
        start, began = time.monotonic() - began, time.monotonic()
        cancelled = workshop.ralph("cancel", status["id"])
        took = time.monotonic() - began
        run.communicate(timeout=20)
    assert cancelled.stdout == f"Cancelled run {status['id']} at iteration 2/10\n"
    assert took < 2.5 + 2 * start  # two seconds, and the start of `ralph cancel` itself, which imports more
    assert run.returncode == 130
    assert not find_processes_with(token)
    assert (workshop.repo / "work").read_text() == "kept\n"
    assert workshop.status()["outcome"] == "interrupted"


def test_cancel_without_a_run_says_so(workshop: ProjectFixture) -> None:
    done = workshop.ralph("cancel")
    assert done.returncode == 2
    assert "no run is active" in done.stderr


# -- output ---------------------------------------------------------------------------------------
def test_verbose_tells_everything_on_stderr(workshop: ProjectFixture) -> None:  # 001-26
    workshop.settings(
        guardrails=[{"command": "true"}], agent={"command": "claude", "environment": {"MY_API_KEY": "s3cret"}}
    )
    (workshop.repo / ".ralph/settings.local.json").write_text('{"maximumIterations": 7}')
    done = workshop.ralph("run", "-p", "p" * 300, "-V")
    lines = done.stderr.splitlines()
    assert all(line.startswith("[ralph] ") for line in lines)
    assert "[ralph] Loading settings from .ralph/settings.json" in lines
    assert "[ralph] Loading settings from .ralph/settings.local.json" in lines
    assert "[ralph] Iteration 1/7 starting" in lines
    assert "[ralph] Running guardrail: true" in lines
    assert f"[ralph] Prompt: {'p' * 200}" in lines
    text = done.stderr
    assert re.search(r"\[ralph\] Agent command: \S*claude -p --output-format stream-json --verbose", text)
    assert re.search(r"\[ralph\] Guardrail exited with code 0 \(\d+\.\d+s\)", text)
    assert re.search(r"\[ralph\] Completion check: ", text)
    assert re.search(r"\[ralph\] Agent finished after \d+\.\d+s", text)
    assert "s3cret" not in text


def test_json_gives_one_event_a_line(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"command": "true"}])
    done = workshop.ralph("run", "--no-tell-completion", "-p", "x", "--json")
    events = [json.loads(line)["event"]["type"] for line in done.stdout.splitlines()]
    assert events[0] == "run_started"
    assert events[-1] == "run_ended"
    assert {"iteration_started", "gate_started", "gate_ended", "agent_ended", "finished"} <= set(events)


def test_logs_show_the_last_run_again(workshop: ProjectFixture) -> None:
    workshop.agent(
        'echo \'{"type":"assistant","message":{"content":[{"type":"text","text":"Hello there"}]}}\'; ' + DONE
    )
    workshop.ralph("run", "-p", "x")
    shown = workshop.ralph("logs")
    assert shown.returncode == 0
    assert "Hello there" in shown.stdout
    assert "Completed" in shown.stdout
    folder = workshop.ralph("logs", "--path").stdout.strip()
    assert "Hello there" in (Path(folder) / "agent_001.log").read_text()


def test_logs_follow_a_run_to_its_end(workshop: ProjectFixture) -> None:
    workshop.agent(f"echo up > up; sleep 1; {DONE}")
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        followed = workshop.ralph("logs", "-f", timeout=30)
        run.communicate(timeout=20)
    assert "Iteration 1/10" in followed.stdout
    assert "Completed" in followed.stdout


def test_an_ascii_stdout_does_not_end_the_run(workshop: ProjectFixture) -> None:
    done = workshop.ralph("run", "-p", "x", "--glyphs", "emoji", LANG="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0


def test_a_closed_pipe_does_not_end_the_run(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING, WORKING, WORKING, f"touch last; {DONE}")
    with workshop.start("run", "-p", "x") as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.wait(timeout=20) == 0
        assert run.stderr is not None
        assert "Traceback" not in run.stderr.read()
    assert (workshop.repo / "last").exists()


@pytest.mark.parametrize("words", ["run -p x", "status"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_end_the_run(workshop: ProjectFixture, words: str, closed: str) -> None:
    line = f'{shlex.quote(sys.executable)} -m ralph {words} {closed}; echo "$?" > code'
    done = subprocess.run(
        ["sh", "-c", line], cwd=workshop.repo, env=workshop.environment, capture_output=True, text=True, check=True
    )
    assert ((workshop.repo / "code").read_text(), done.stderr) == ("0\n", "")
    assert workshop.calls == (words != "status")


@pytest.mark.parametrize("words", ["run -p x", "status", "status --json", "doctor", "config show"])
def test_a_folder_that_is_gone_is_named(workshop: ProjectFixture, words: str) -> None:
    line = f"mkdir gone; cd gone; rmdir ../gone; {shlex.quote(sys.executable)} -m ralph {words}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=workshop.repo, env=workshop.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the folder ralph was started in is gone" in done.stderr
    assert "bug" not in done.stderr


def test_a_dry_run_tells_what_is_odd_in_the_settings(workshop: ProjectFixture) -> None:
    workshop.settings(maxIterations=3)
    done = workshop.ralph("run", "-p", "x", "--dry-run")
    assert 'unknown key "maxIterations"' in done.stderr


def test_a_dry_run_runs_nothing(workshop: ProjectFixture) -> None:  # 001-34
    workshop.settings(guardrails=[{"command": "touch ran"}], scm=SCM)
    done = workshop.ralph("run", "-p", "do it", "--dry-run")
    assert done.returncode == 0
    assert workshop.calls == 0
    assert not (workshop.repo / "ran").exists()
    for part in (
        "claude -p --output-format stream-json --verbose",
        "do it",
        "touch ran",
        "git commit",
        "10 iterations",
    ):
        assert part in done.stdout


def test_state_lives_in_the_git_dir_and_logs_in_dot_ralph(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"command": "true"}])
    workshop.ralph("run", "-p", "x")
    assert (workshop.repo / ".git/ralph/ralph.db").exists()
    assert sorted(os.listdir(workshop.repo / ".ralph")) == ["guardrail_001_true.log", "settings.json"]


def test_outside_git_state_lives_in_dot_ralph(workshop: ProjectFixture) -> None:
    import shutil

    shutil.rmtree(workshop.repo / ".git")
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert (workshop.repo / ".ralph/state/ralph.db").exists()


# -- details --------------------------------------------------------------------------------------
def test_scm_tasks_run_in_order(workshop: ProjectFixture) -> None:  # 001-24
    workshop.agent(f"echo 1 > made; {DONE}", "echo Make it")
    tool = workshop.home / "hg"
    tool.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {workshop.home}/calls; echo >> {workshop.home}/calls\n')
    tool.chmod(0o755)
    workshop.settings(scm={"command": "hg", "tasks": ["commit", "push origin"]})
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert (workshop.home / "calls").read_text().splitlines() == ["commit|-am|Make it|", "push|origin|"]


def test_a_signal_during_a_guardrail_lets_it_finish(workshop: ProjectFixture) -> None:  # 001-25
    workshop.settings(guardrails=[{"command": "touch up; sleep 1; touch finished"}, {"command": "touch second"}])
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Received signal, shutting down..." in err
    assert (workshop.repo / "finished").exists()
    assert not (workshop.repo / "second").exists()


def test_max_iterations_have_a_short_alias(workshop: ProjectFixture) -> None:  # C7
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-n", "2")
    assert workshop.calls == 2


def test_under_a_budget_the_commit_message_is_paid_for_too(workshop: ProjectFixture) -> None:
    workshop.agent(
        f"echo 1 > made; {make_result_command('working', 0.4)}",
        make_result_command("Make it", 0.3),
        make_result_command("working", 0.4),
    )
    workshop.settings(scm=SCM)
    done = workshop.ralph("run", "-p", "x", "--budget", "1")
    assert workshop.git("log", "--format=%s").strip() == "Make it"
    assert "stream-json" in workshop.argv(2)
    assert "--max-budget-usd" in workshop.argv(2)
    assert "$1.10 of the $1.00 budget spent" in done.stdout


def test_files_made_before_a_kill_are_committed_after_it(workshop: ProjectFixture) -> None:
    (workshop.repo / "mine").touch()
    workshop.agent(f"touch made; {DONE}", "echo Make it")
    workshop.settings(scm=SCM, guardrails=[{"command": "test -f go || { touch up; sleep 60; }"}])
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        run.kill()
        run.communicate()
    (workshop.repo / "go").touch()
    assert workshop.ralph("run", "--resume").returncode == 0
    assert "made" in workshop.git("show", "--stat", "--format=")
    assert "?? mine" in workshop.git("status", "--porcelain")


def test_a_refused_budget_leaves_no_run_behind(workshop: ProjectFixture) -> None:
    workshop.agent("echo hi", name="my-agent")
    workshop.ralph("run", "-p", "x", "--budget", "1", "--agent", "my-agent")
    assert json.loads(workshop.ralph("status", "--json").stdout) == {"runs": []}


def test_another_agent_gets_none_of_the_configured_ones_flags(workshop: ProjectFixture) -> None:
    workshop.agent("echo '<response>DONE</response>'", name="my-agent")
    workshop.settings(agent={"command": "claude", "flags": ["--model", "opus"]})
    workshop.ralph("run", "-p", "x", "--agent", "my-agent")
    assert "--model" not in workshop.argv(1)


def test_an_agent_that_may_not_be_executed_says_so(workshop: ProjectFixture) -> None:  # 003-15
    (workshop.repo / "agent.sh").write_text("#!/bin/sh\n")
    done = workshop.ralph("run", "-p", "x", "--agent", "./agent.sh")
    assert done.returncode == 2
    assert "permission denied: './agent.sh'" in done.stderr


def test_a_folder_is_no_agent(workshop: ProjectFixture) -> None:
    (workshop.repo / "adir").mkdir()
    done = workshop.ralph("run", "-p", "x", "--agent", "./adir")
    assert done.returncode == 2
    assert "agent not found: './adir' is a folder" in done.stderr
    assert "chmod" not in done.stderr


CODEX = """case "$*" in
*--version*) echo 'codex-cli {version}';;
*" -o "*) while [ "$1" != -o ]; do shift; done; echo 'Make it' > "$2";;
*) echo done > made
   printf '%s\\n' '{{"type":"item.completed","item":{{"type":"agent_message","text":"<response>DONE</response>"}}}}'
   printf '%s\\n' '{{"type":"turn.completed","usage":{{"input_tokens":1,"output_tokens":1}}}}';;
esac"""


@pytest.mark.parametrize(("version", "prompt_in_file"), [("0.50.0", True), ("0.166.0", False)])
def test_codex_by_its_version(workshop: ProjectFixture, version: str, prompt_in_file: bool) -> None:  # 001-14, 001-15
    workshop.agent(CODEX.format(version=version), name="codex")
    workshop.settings(agent={"command": "codex"}, scm=SCM)
    done = workshop.ralph("run", "--no-tell-completion", "-p", "do it")
    assert done.returncode == 0, done.stdout
    assert workshop.git("log", "--format=%s").strip() == "Make it"  # the answer file was read …
    records = Path(workshop.ralph("logs", "--path").stdout.strip())
    assert not list(records.glob("answer_*"))  # … and deleted
    prompts = sorted((workshop.repo / ".ralph").glob("prompt_*.txt"))
    assert bool(prompts) == prompt_in_file
    if prompt_in_file:
        assert prompts[0].read_text() == "do it"
        assert workshop.argv(2)[:3] == ["e", "--json", "--full-auto"]
    else:
        assert workshop.prompt(2) == "do it"


def test_what_a_dead_run_left_is_swept_before_another_starts(workshop: ProjectFixture) -> None:
    token = uuid.uuid4().hex
    workshop.agent(f"setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' {token} & touch up; sleep 60", DONE)
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        with sqlite3.connect(workshop.repo / ".git/ralph/ralph.db") as database:
            (guardian,) = database.execute("SELECT guardian FROM run").fetchone()
        run.send_signal(signal.SIGSTOP)  # both die at once: neither can clear up after the other
        os.kill(guardian, signal.SIGKILL)
        run.kill()
        run.communicate()
    assert find_processes_with(token)
    assert workshop.status()["outcome"] == "lost"
    assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 0
    assert not find_processes_with(token)


def test_a_path_that_is_no_text_is_refused_in_words(workshop: ProjectFixture) -> None:
    workshop.repo = Path(os.fsdecode(os.fsencode(workshop.repo) + b"/d\xe9r"))
    workshop.repo.mkdir()
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 2
    assert "is not UTF-8" in done.stderr


def test_events_nobody_knows_are_counted_and_told_once(workshop: ProjectFixture) -> None:  # a format that moved on
    strange = 'echo \'{"type":"future_type"}\''
    workshop.agent(f"{strange}; {strange}; {DONE}")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert done.stdout.count("'future_type'") == 1
    events = [json.loads(line)["event"] for line in workshop.ralph("logs", "--json").stdout.splitlines()]
    assert next(event for event in events if event["type"] == "agent_ended")["unparsed"] == 2
