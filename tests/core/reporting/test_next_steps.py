"""What is left to do after a run, and the command for it."""

import pytest

from ralph.core.reporting.next_steps import EndedRun, find_next_step

CASES = [
    (EndedRun(run="r1", kind="run", outcome="completed"), None),
    (EndedRun(run="r1", kind="run", outcome="completed", by_words_only=True), "ralph diff r1"),
    (EndedRun(run="r1", kind="run", outcome="completed", suspect_proofs=("test_a.py",)), "ralph diff r1 --proofs"),
    (EndedRun(run="r1", kind="run", outcome="completed", branch="ralph/a b"), "git merge 'ralph/a b'"),
    (EndedRun(run="r1", kind="run", outcome="exhausted", iterations=5), "ralph run --resume r1 -m 10"),
    (EndedRun(run="r1", kind="run", outcome="over_budget"), "ralph run --resume r1 --budget USD"),
    (EndedRun(run="r1", kind="run", outcome="lost"), "ralph run --resume r1"),
    (EndedRun(run="r1", kind="run", outcome="interrupted"), "ralph run --resume r1"),
    (EndedRun(run="r1", kind="run", outcome="unusable"), "ralph doctor"),
    (EndedRun(run="r1", kind="run", outcome="failed"), "ralph show r1"),
    (EndedRun(run="r1", kind="run", outcome="blocked", question="Which?"), "ralph answer r1 'YOUR ANSWER'"),
    (EndedRun(run="r1", kind="execute", task="T-1", task_status="blocked", outcome="blocked", question="Which?"),
     "ralph answer T-1 'YOUR ANSWER'"),
    (EndedRun(run="r1", kind="story", outcome="interrupted"), "ralph story run"),
    (EndedRun(run="r1", kind="supervise", outcome="exhausted"), "ralph show r1"),
    (EndedRun(run="r1", kind="supervise", outcome="lost", folder="tasks/a b"), "ralph supervise 'tasks/a b'"),
    (EndedRun(run="r1", kind="execute", outcome="lost"), "ralph execute --resume"),
    (EndedRun(run="r1", kind="execute", task="T-1", task_status="done", outcome="completed"), None),
    (EndedRun(run="r1", kind="execute", task="T-1", task_status="todo", outcome="exhausted"), "ralph execute T-1"),
    (EndedRun(run="r1", kind="execute", task="T-1", task_status="in_progress", outcome="lost"),
     "ralph execute T-1 --resume"),
    (EndedRun(run="r1", kind="execute", task="T-1", task_status="blocked", outcome="blocked"),
     "ralph task edit T-1 --status todo"),
    (EndedRun(run="r1", kind="execute", task="T-1", task_status="cancelled", outcome="interrupted"), None),
]  # fmt: skip


@pytest.mark.parametrize(("ended", "command"), CASES)
def test_every_end_names_the_command_that_helps(ended: EndedRun, command: str | None) -> None:
    step = find_next_step(ended)
    assert (step and step.command) == command


def test_a_step_says_what_it_is_about_and_why() -> None:
    ended = EndedRun(run="r1", kind="execute", task="T-1", task_status="blocked", outcome="blocked", why="which port?")
    step = find_next_step(ended)
    assert step is not None
    assert (step.about, step.reason) == ("T-1", "blocked: which port?")
