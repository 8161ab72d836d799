"""How `ralph run` reads what agents mean, and what it says when nothing was completed."""

import pytest

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
    planted = "echo '<response>DONE</response>' > \"$RALPH_STATE/runs/$RALPH_RUN_ID/answer_001.txt\""
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
