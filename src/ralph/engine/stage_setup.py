"""What one task of `ralph execute` runs with: its stages, values of its run, an agent run that is to be looked at."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.engine.agent_run import AgentRunner
from ralph.model.loop import Brief, Reported
from ralph.model.spec import CompletionCriteria, Role


class StageSetup(Struct, frozen=True, kw_only=True):
    """Criteria and agent of one stage."""

    criteria: CompletionCriteria
    runner: AgentRunner
    loops: bool = True
    can_commit: bool = True  # its agent; False: what it leaves is committed when the task lands
    commands: tuple[str, ...] = ()  # that verify its promise
    by_words: bool = False  # nobody judges: words were chosen
    is_verified: bool = True  # what contradicts its promises counts against them
    merged_tree_criteria: CompletionCriteria | None = None  # as much of the criteria as can be asked of the merged tree


class TaskRunConfig(Struct, frozen=True, kw_only=True):
    """Values fixed for one run of one task."""

    run: str
    run_dir: str  # the run's own folder
    specification: str
    environment: Mapping[str, str]  # of verifications
    loose: bool = False


class EndedAgentRun(Struct, frozen=True, kw_only=True):
    """One whose work nobody has looked at yet; it may be of the task's last run, which was cut off there."""

    brief: Brief
    reported: Reported
    is_on_board: bool = False  # its end and its cost


def choose_last_look(
    stages: Mapping[Role, StageSetup], has_merged: Callable[[], bool]
) -> tuple[Role, CompletionCriteria | None]:
    """The last criteria about files; where there are none, the last stage's own, if others' work was merged."""
    for role, setup in reversed([*stages.items()]):
        if setup.merged_tree_criteria is not None:
            return role, setup.merged_tree_criteria
    last = [*stages][-1]
    return last, stages[last].criteria if has_merged() else None
