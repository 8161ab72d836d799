"""The prompt of a supervised task."""

from ralph.core.standstill import NO_PROGRESS_MARK
from ralph.core.supervised.task_prompt import CONTINUE_PROMPT_PREFIX, GUIDE_COMMANDS, compose_task_prompt


def compose(can_start_runs: bool = True) -> str:
    return compose_task_prompt(
        "Greet.",
        task_folder="/tasks/t",
        run_folder="/tasks/t/runs/1",
        again=False,
        own_program="/opt/bin/ralph",
        can_start_runs=can_start_runs,
    )


def test_it_calls_ralph_by_the_path_an_agents_shell_finds() -> None:  # issue 12
    text = compose()
    assert "`/opt/bin/ralph bus post --type PROGRESS" in text
    assert "a new folder below /tasks/t and start it:\n  `/opt/bin/ralph supervise FOLDER --detach`" in text


def test_every_command_it_orders_is_among_those_that_are_allowed() -> None:  # issue 12
    ordered = [line.split("`", 1)[0].split()[0] for line in compose().split("`/opt/bin/ralph ")[1:]]
    assert sorted(ordered) == sorted(command.removesuffix(" *") for command in GUIDE_COMMANDS)


def test_who_cannot_start_runs_is_not_told_to() -> None:  # issue 12
    text = compose(can_start_runs=False)
    assert "supervise FOLDER" not in text
    assert "/tasks/t/DONE" in text


def compose_again(*failures: str, again: bool = True) -> str:
    return compose_task_prompt(
        "Greet.", task_folder="/tasks/t", run_folder="/tasks/t/runs/2", again=again, failures=failures
    )


def test_who_is_started_again_is_told_to_go_on() -> None:
    assert f"\n\n{CONTINUE_PROMPT_PREFIX}Greet." in compose_again()
    assert "\n\nGreet." in compose_again(again=False)


def test_why_done_did_not_count_and_that_nothing_moves_are_told_apart() -> None:
    refused, still = "make test failed", f"{NO_PROGRESS_MARK} the last 2 iterations"
    assert "DONE did not count" not in compose_again(still)
    assert compose_again(still).endswith(f"\n{still}\n")
    both = compose_again(refused, still)
    assert both.endswith(f"Fix this, then create it again:\n\n{refused}\n\n{still}\n")
    assert compose_again(refused, "lint failed").endswith(f"{refused}\nlint failed\n")


def test_runs_may_be_started_unless_somebody_says_otherwise() -> None:
    assert "supervise FOLDER" in compose_again()
