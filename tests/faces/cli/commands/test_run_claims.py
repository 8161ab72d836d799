"""How `ralph run` reads what agents mean, and what it says when nothing was completed."""

import pytest

from ralph.core.text.questions import QUESTION_LINE
from support.workshop import ProjectFixture, make_result_command

DONE = make_result_command("All good.\n<response>DONE</response>")
WORKING = make_result_command("still at it")
PLAIN = {"agent": {"command": "talker"}}


def test_a_plain_agents_colours_hide_no_claim(workshop: ProjectFixture) -> None:
    words = r"printf '\033]0;talker\007It works.\n\033[1;32m<promise>DONE</promise>\033[0m\n'"
    workshop.agent(words, name="talker")
    workshop.settings(**PLAIN)
    assert workshop.ralph("run", "-p", "x", "--until", "promise", "-m", "1").returncode == 0


def test_a_claim_in_the_middle_of_a_long_plain_answer_counts(workshop: ProjectFixture) -> None:  # 001-18
    flood = "yes 'all work and no play' | head -c 1000000"
    workshop.agent(f"{flood}; echo; echo '<response>DONE</response>'; {flood}", name="talker")
    workshop.settings(**PLAIN)
    assert workshop.ralph("run", "-p", "x", "-m", "1", "--no-stream-agent-output").returncode == 0


def test_an_answer_file_counts_only_for_an_agent_that_was_asked_for_one(workshop: ProjectFixture) -> None:
    planted = "echo '<response>DONE</response>' > \".git/ralph/runs/$RALPH_RUN_ID/answer_001.txt\""
    workshop.agent(f"{planted}; {WORKING}")
    assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 1


@pytest.mark.parametrize("end", ["**<promise>DONE</promise>**", "```\n<promise>DONE</promise>\n```"])
def test_a_promise_in_bold_or_in_the_prompts_fence_completes(workshop: ProjectFixture, end: str) -> None:  # C1
    workshop.agent(make_result_command(f"It works.\n\n{end}"))
    assert workshop.ralph("run", "-p", "x", "--until", "promise", "-m", "1").returncode == 0


def test_a_commit_is_never_called_after_a_fence(workshop: ProjectFixture) -> None:  # 001-23
    answer = "Here is the commit message:\\n\\n```\\nAdd made\\n```\\n"
    workshop.agent(f"echo 1 > made; {DONE}", f"printf '{answer}'")
    workshop.settings(scm={"command": "git", "tasks": ["commit"]})
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert workshop.git("log", "--format=%s") == "Add made\n"


# -- why it did not complete -----------------------------------------------------------------------
def test_a_run_without_a_claim_says_that_only_the_claim_was_missing(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING)
    workshop.settings(guardrails=[{"command": "true"}])
    done = workshop.ralph("run", "-p", "x", "-m", "3")
    assert done.returncode == 1
    why = "guardrails were green in 3 of 3 iterations, but the agent never answered <response>DONE</response>"
    assert f"maximum iterations reached (3) without completion: {why}" in done.stdout
    assert why in workshop.ralph("show").stdout


def test_a_run_with_red_guardrails_says_which_and_what_they_printed(workshop: ProjectFixture) -> None:
    workshop.agent(WORKING, DONE)
    (workshop.repo / "check").write_text("echo '=== 1 failed, 12 passed in 0.40s ==='; exit 2\n")
    workshop.settings(guardrails=[{"command": "sh check"}])
    done = workshop.ralph("run", "-p", "x", "-m", "3")
    why = "the claim came in iterations 2 and 3, `sh check` was red both times: 1 failed, 12 passed"
    assert (done.returncode, why in done.stdout) == (1, True)


def test_a_run_whose_agents_never_finished_says_how_they_ended(workshop: ProjectFixture) -> None:
    workshop.agent("echo 'no such thing' >&2; exit 3")
    done = workshop.ralph("run", "-p", "x", "-m", "2")
    assert "no iteration finished: The agent ended with exit code 3 and no result: no such thing." in done.stdout


# -- refusals --------------------------------------------------------------------------------------
def refuse(command: str, text: str) -> str:
    denial = {"tool_name": "Bash", "tool_use_id": "b1", "tool_input": {"command": command}}
    return make_result_command(text, permission_denials=[denial])


def test_a_refusal_voids_no_claim_that_guardrails_confirm(workshop: ProjectFixture) -> None:  # C28
    workshop.agent(refuse("make check", "All good.\n<response>DONE</response>"))
    workshop.settings(guardrails=[{"command": "true"}])
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (0, 1)
    assert "! The agent was refused" in done.stdout  # a warning, and the run goes on


def test_without_guardrails_a_refused_run_claims_nothing(workshop: ProjectFixture) -> None:  # C28
    workshop.agent(refuse("make check", "All good.\n<response>DONE</response>"))
    done = workshop.ralph("run", "-p", "x", "-m", "1")
    assert done.returncode == 1
    assert "no guardrail can confirm it" in done.stdout


def test_two_runs_refused_alike_with_an_unchanged_tree_exit_2(workshop: ProjectFixture) -> None:
    workshop.agent(refuse("make check", "still at it"))
    workshop.settings(guardrails=[{"command": "true"}])
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (2, 2)
    assert "refused the same 2 times in a row" in done.stdout


def test_refused_runs_that_change_the_tree_go_on(workshop: ProjectFixture) -> None:
    work = '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Edit","input":{}}]}}'
    workshop.agent(f"echo x >> made; printf '%s\\n' '{work}'; {refuse('make check', 'still at it')}")
    workshop.settings(guardrails=[{"command": "true"}])
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    done = workshop.ralph("run", "-p", "x", "-m", "4")
    assert (done.returncode, workshop.calls) == (1, 4)


# -- the line about the claim ----------------------------------------------------------------------
LINE = f"When everything is done, end your answer with <response>DONE</response>. {QUESTION_LINE}"


def test_a_prompt_that_names_no_signal_gets_a_line_and_the_run_says_so(workshop: ProjectFixture) -> None:  # C26
    workshop.settings()
    done = workshop.ralph("run", "-p", "Fix the failing tests")
    assert done.returncode == 0
    assert workshop.prompt(1) == f"Fix the failing tests\n\n{LINE}"
    assert done.stdout.splitlines()[0].endswith(f"! added to the prompt: {LINE}")
    assert f"added to the prompt: {LINE}" in workshop.ralph("logs").stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-c", "OK"], "end your answer with <response>OK</response>."),
        (["--until", "promise"], "end your answer with <promise>DONE</promise>, alone on the last line."),
        (["--until", "file:out/OK"], "create the file out/OK."),
    ],
)
def test_the_line_names_the_signal_in_force(workshop: ProjectFixture, words: list[str], line: str) -> None:  # C26
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "x", "-m", "1", *words)
    assert workshop.prompt(1) == f"x\n\nWhen everything is done, {line} {QUESTION_LINE}"


def test_a_prompt_that_names_the_signal_is_sent_as_it_is(workshop: ProjectFixture) -> None:  # C26
    done = workshop.ralph("run", "-p", "Fix it, then say <response>DONE</response>")
    assert workshop.prompt(1) == "Fix it, then say <response>DONE</response>"
    assert "added to the prompt" not in done.stdout


def test_who_wants_it_gets_the_prompt_as_it_is(workshop: ProjectFixture) -> None:  # C26
    assert "added to the prompt" not in workshop.ralph("run", "-p", "x", "--no-tell-completion").stdout
    workshop.settings(tellCompletion=False)
    workshop.ralph("run", "-p", "x")
    assert [workshop.prompt(number) for number in (1, 2)] == ["x", "x"]
    workshop.ralph("run", "-p", "x", "--tell-completion")
    assert workshop.prompt(3).endswith(LINE)


def test_a_file_that_comes_to_name_the_signal_needs_no_line_any_more(workshop: ProjectFixture) -> None:  # C26
    named = "Then answer <response>DONE</response>."
    workshop.agent(f"echo '{named}' > P.md; {WORKING}", DONE)
    (workshop.repo / "P.md").write_text("Fix it\n")
    assert workshop.ralph("run", "-f", "P.md").returncode == 0
    assert [workshop.prompt(number) for number in (1, 2)] == [f"Fix it\n\n{LINE}", f"{named}\n"]


def test_a_dry_run_shows_the_whole_prompt(workshop: ProjectFixture) -> None:  # C26
    shown = workshop.ralph("run", "-p", "Fix it", "--dry-run").stdout
    assert f"  | Fix it\n  | \n  | {LINE}\n" in shown
    assert f"Added:       {LINE}\n" in shown
    assert LINE not in workshop.ralph("run", "-p", "Fix it", "--dry-run", "--no-tell-completion").stdout


def test_a_resumed_run_keeps_its_prompt_whatever_settings_say_now(workshop: ProjectFixture) -> None:  # C26, C31
    workshop.agent(WORKING, DONE)
    workshop.ralph("run", "-p", "x", "-m", "1")
    workshop.settings(tellCompletion=False)
    assert workshop.ralph("run", "--resume", "-m", "2").returncode == 0
    assert workshop.prompt(2) == f"x\n\n{LINE}"
