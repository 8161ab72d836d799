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
