"""One task from within: what it comes to when something around the work fails."""

import json
import os
from collections.abc import Sequence

from ralph.app.paths import find_paths
from ralph.app.pipeline.context import ExecuteRequest
from ralph.app.pipeline.execute import execute_tasks
from ralph.app.session import Callbacks
from ralph.config.schema import AgentSettings, Settings
from ralph.model.errors import DiskError
from ralph.model.events import Event, GateEnded
from support.workshop import ProjectFixture, make_result_command

PROMISES = {
    "coder": "<promise>IMPLEMENTATION_COMPLETE</promise>",
    "reviewer": "<promise>REVIEW_PASSED</promise>",
    "judge": "VERIFIED",
}


def prepare_task(workshop: ProjectFixture) -> None:
    """Its reviewer is judged, and every answer costs a cent."""
    turns = "".join(f"{role}) {make_result_command(text, 0.01)};; " for role, text in PROMISES.items())
    workshop.agent(f"[ $RALPH_STAGE = coder ] && echo done > T.txt; case $RALPH_STAGE in {turns} esac")
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.call("spec", "create", "files")
    check = ("--coder-verify", "external", "--coder-verify-cmd", "test -f T.txt")
    words = ("--outcome", "T.txt is there", "--acceptance", "the file is there")
    workshop.call("task", "create", "T-1", "files", "Make T", *words, *check)


def count_spent(workshop: ProjectFixture) -> float:
    return float(json.loads(workshop.call("cost", "--since", "all", "--json"))["total"]["cost_usd"])


def test_what_a_judge_cost_is_counted_when_its_task_is_aborted(workshop: ProjectFixture) -> None:
    def fail_after_judge(at: float, iteration: int, events: Sequence[Event]) -> None:
        if any(isinstance(event, GateEnded) and "reviewer" in event.gate for event in events):
            raise DiskError("no room")

    prepare_task(workshop)
    request = ExecuteRequest(settings=Settings(agent=AgentSettings(command="claude")), stages=("coder", "reviewer"))
    paths, variables = find_paths(str(workshop.repo)), {**os.environ, **workshop.environment}
    report = execute_tasks(
        request, paths, variables=variables, callbacks=Callbacks(), watchers_of=lambda task: (fail_after_judge,)
    )
    assert [(ending.outcome.value, ending.why) for ending in report.endings] == [("unusable", "no room.")]
    assert count_spent(workshop) == 0.03
    assert json.loads(workshop.call("task", "show", "T-1", "--json"))["task"]["status"] == "todo"
    assert count_spent(workshop) == 0.03, "once"
