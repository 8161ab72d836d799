"""The prompt of a supervised task."""

from ralph.core.supervised.task_prompt import GUIDE_COMMANDS, compose_task_prompt


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
