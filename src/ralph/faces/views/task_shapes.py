"""Makes the answer about one task."""

from collections.abc import Mapping

from ralph.app.board.run_lists import RunFilter
from ralph.app.board.tasks import TaskDetails
from ralph.app.board.watch import BoardReader
from ralph.app.paths import Paths
from ralph.config.schema import Settings
from ralph.core.tasks.task_rules import FAILURE_KEY, SEND_BACKS_KEY
from ralph.faces.views.board_shapes import BoardShaper
from ralph.faces.views.run_shapes import list_note_views, list_runs
from ralph.faces.views.shapes import CardView, StageView, TaskAnswer
from ralph.model.board import NoSuchTask
from ralph.model.spec import ROLES, Role

MAX_RUNS_OF_TASK = 50


def build_task_answer(paths: Paths, id_: str, settings: Settings) -> TaskAnswer:
    reader = BoardReader(paths)
    try:
        cards = BoardShaper().shape_cards(reader.read_view())
        shown = reader.load_task(id_, settings)
    finally:
        reader.close()
    entry, spec = shown.entry, shown.entry.task.completion_spec
    metadata = entry.task.metadata
    return TaskAnswer(
        card=cards[entry.task.id],
        description=entry.task.description,
        assignee=entry.task.assignee,
        setup=entry.task.setup,
        outcome=spec.outcome if spec else "",
        acceptance=spec.acceptance_criteria if spec else (),
        created_at=entry.task.created_at,
        updated_at=entry.task.updated_at,
        branch=entry.branch,
        target=entry.target,
        stages=[_build_stage(role, shown) for role in ROLES],
        attempts=shown.attempts,
        iterations=shown.log,
        spent=shown.spent,
        failure=_read_mapping(metadata, FAILURE_KEY),
        sent_back=[each for each in _read_list(metadata, SEND_BACKS_KEY) if isinstance(each, dict)],
        runs=list_runs(paths, RunFilter(limit=MAX_RUNS_OF_TASK, task=id_)).runs,
        notes=list_note_views(paths, id_),
    )


def read_card(paths: Paths, id_: str) -> CardView:
    """NoSuchTask without one."""
    reader = BoardReader(paths)
    try:
        card = BoardShaper().shape_cards(reader.read_view()).get(id_)
    finally:
        reader.close()
    if card is None:
        raise NoSuchTask(f"no task {id_!r}", "see `ralph task list`")
    return card


def _build_stage(role: Role, shown: TaskDetails) -> StageView:
    criteria, limit, task = shown.criteria[role].criteria, shown.limits[role], shown.entry.task
    own = task.completion_spec.get_criteria_for_agent(role) if task.completion_spec else None
    return StageView(
        role=role,
        promise=criteria.promise,
        description=criteria.description,
        method=criteria.verification_method.value,
        config=criteria.verification_config,
        max_iterations=limit.iterations,
        limit_reason=limit.why,
        passed=role in shown.entry.passed,
        own=own is not None,
    )


def _read_mapping(metadata: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = metadata.get(key)
    return found if isinstance(found, dict) else {}


def _read_list(metadata: Mapping[str, object], key: str) -> list[object]:
    found = metadata.get(key)
    return found if isinstance(found, list) else []
