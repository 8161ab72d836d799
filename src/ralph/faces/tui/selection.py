"""The card under the cursor, as far as steering needs it."""

import re
from collections.abc import Sequence

from msgspec import Struct

from ralph.app.board.run_cards import RunCard
from ralph.app.board.view import BoardView
from ralph.core.text.plain import one_line
from ralph.faces.glyphs import Glyphs
from ralph.model.board import TaskCard

MAX_LABEL_CELLS = 60
_NUMBERED_ID = re.compile(r"(.*?)(\d+)")


class Selection(Struct, frozen=True, kw_only=True):
    """The card, or the slot, under the cursor."""

    task: str = ""  # one of the two
    run: str = ""  # a run without a task
    label: str = ""
    status: str = ""  # of a task
    priority: int = 0
    is_running: bool = False
    is_failed: bool = False  # a task that failed, or a run that ended without completing
    kind: str = ""  # of a run
    paused_by: str = ""
    question: str = ""

    @property
    def name(self) -> str:
        return self.task or self.run


def select_task(card: TaskCard, view: BoardView) -> Selection:
    return Selection(
        task=card.id,
        label=card.id,
        status=card.status,
        priority=card.priority,
        is_running=card.status == "in_progress",
        is_failed=card.status == "todo" and card.id in view.reasons,
        paused_by=view.paused.get(card.id, ""),
        question=view.questions.get(card.id, ""),
    )


def select_run(card: RunCard, view: BoardView, glyphs: Glyphs) -> Selection:
    return Selection(
        run=card.id,
        label=one_line(card.title or card.id, MAX_LABEL_CELLS, glyphs.ellipsis),
        status=card.outcome or "running",
        is_running=card.is_active and card.id not in view.cut_off_runs,
        is_failed=not card.is_active and card.outcome != "completed",
        kind=card.kind,
        paused_by=card.paused_by,
        question=card.question,
    )


def suggest_task_id(known: Sequence[str]) -> str:
    """The one after the highest number: TASK-008 after TASK-007."""
    numbered = [found for id_ in known if (found := _NUMBERED_ID.fullmatch(id_))]
    if not numbered:
        return "TASK-001"
    last = max(numbered, key=lambda found: int(found[2]))
    return f"{last[1]}{int(last[2]) + 1:0{len(last[2])}}"
