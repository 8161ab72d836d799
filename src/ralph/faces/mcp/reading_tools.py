"""Tools that only look, and one that creates a task."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ralph.app.board.tasks import create_task
from ralph.app.board.watch import BoardReader
from ralph.app.paths import Paths
from ralph.app.pipeline.judging import refuse_unjudged_tasks
from ralph.config.sources import load_settings
from ralph.faces.views.board_shapes import BoardShaper, build_head, shape_runs
from ralph.faces.views.log_shapes import build_log_answer
from ralph.faces.views.run_shapes import build_diff_answer, build_run_answer
from ralph.faces.views.task_shapes import build_task_answer
from ralph.model.errors import UsageError

MAX_EVENTS = 200
MAX_CARDS = 100  # the most urgent
DIFF_PART_CHARS = 40_000

RunName = Annotated[str, Field(description="A run's id or the beginning of it; empty: the newest run.")]
TaskName = Annotated[str, Field(description="The id of a task, such as TASK-001.")]


class ReadingTools:
    """Of one repository."""

    def __init__(self, paths: Paths, variables: Mapping[str, str]) -> None:
        self._paths, self._variables = paths, variables

    def board(self) -> object:
        """Show all tasks with their state, and the runs that are active or newest. Start here."""
        reader = BoardReader(self._paths)
        try:
            view = reader.read_view()
        finally:
            reader.close()
        cards = [*BoardShaper().shape_cards(view).values()]
        return {
            "head": build_head(view, self._paths.root),
            "cards": cards[:MAX_CARDS],
            "cards_left_out": max(0, len(cards) - MAX_CARDS),
            "runs": [*shape_runs(view, {}).values()],
        }

    def task_create(
        self,
        *,
        id: Annotated[str, Field(description="A new name, such as TASK-007.")],  # noqa: A002  # the word clients know
        title: str,
        spec: Annotated[str, Field(description="What the task belongs to; created if it does not exist.")],
        outcome: Annotated[str, Field(description="What is true when the task is done.")],
        acceptance: Annotated[list[str], Field(description="Criteria that a reviewer can check, one each.")],
        check: Annotated[str, Field(description="A command that fails now and passes when the work is done.")] = "",
        description: str = "",
        priority: Annotated[int, Field(description="1 comes before 2.")] = 2,
        depends_on: Annotated[list[str] | None, Field(description="Tasks that have to be done first.")] = None,
    ) -> object:
        """Create a task for `ralph execute`: coder, reviewer, tester and qa work on it, each verified."""
        coder = {"verification_method": "external", "verification_config": {"command": check}}
        completion: dict[str, object] = {"outcome": outcome, "acceptance_criteria": acceptance}
        raw: dict[str, object] = {
            "id": id,
            "spec_id": spec,
            "title": title,
            "description": description,
            "priority": priority,
            "dependencies": depends_on or [],
            "completion": {**completion, "coder": coder} if check else completion,
        }
        settings = load_settings(self._paths.folder, self._variables, seen_from=self._paths.started_in).settings
        task = create_task(
            self._paths,
            raw,
            makes_spec=True,
            check=lambda tasks: refuse_unjudged_tasks(tasks, settings, self._paths, self._variables),
        )
        return {"created": task.id, "next": f"ralph execute {task.id}"}

    def task_show(self, id: TaskName) -> object:  # noqa: A002
        """Show one task: its stages, how each is verified, what was tried, what it cost, why it failed."""
        settings = load_settings(self._paths.folder, self._variables, seen_from=self._paths.started_in).settings
        return build_task_answer(self._paths, id, settings)

    def run_show(self, run: RunName = "") -> object:
        """Show one run: its iterations, checks, cost, how it ended, and what proves it."""
        return build_run_answer(self._paths, run, self._variables)

    def run_diff(
        self,
        run: RunName = "",
        iteration: Annotated[int, Field(description="Only what this iteration changed; 0: the whole run.", ge=0)] = 0,
        offset: Annotated[int, Field(description="Where to go on in a long diff, in characters.", ge=0)] = 0,
    ) -> object:
        """Show what a run changed, committed or not, as a unified diff."""
        between = (iteration - 1, iteration) if iteration else None
        found = build_diff_answer(self._paths, run, between, self._variables)
        if offset > len(found.text):
            raise UsageError(f"the diff has only {len(found.text)} characters", "give a smaller offset")
        end = offset + DIFF_PART_CHARS
        return {
            "run": found.run,
            "files": found.files,
            "text": found.text[offset:end],
            "next_offset": end if end < len(found.text) else None,
        }

    def events_since(
        self,
        run: RunName = "",
        after: Annotated[int, Field(description="`next` of the last answer; 0: from the beginning.", ge=0)] = 0,
        limit: Annotated[int, Field(description="At most so many lines.", ge=1, le=MAX_EVENTS)] = 100,
    ) -> object:
        """Show what a run said and did after an event, a line each. Call again with `after` = `next` to follow it."""
        return build_log_answer(self._paths, run, after=after, limit=limit, words=())
