"""The board of tasks: who works on each, all that can happen to one, and the errors of asking for what is not there."""

from collections.abc import Sequence

from msgspec import Struct

from ralph.model.errors import RalphError
from ralph.model.spec import Role, Task, TaskCompletionSpec, TaskStatusName, VerificationAttempt


class Spec(Struct, frozen=True, kw_only=True):
    """What several tasks are there for; its text is the "## Specification" of their prompts."""

    id: str
    title: str
    text: str = ""
    created_at: float = 0.0  # unix time
    updated_at: float = 0.0


class Entry(Struct, frozen=True, kw_only=True):
    """A task on the board, and where the work on it stands."""

    task: Task
    worker: str = ""  # the run that works on it; empty unless it is in progress
    passed: tuple[Role, ...] = ()  # stages verified since the last change that could undo them
    branch: str = ""
    target: str = ""  # the branch it is to land on


class TaskCard(Struct, frozen=True, gc=False, kw_only=True):  # thousands of them, none in a cycle
    """As much of a task as a list shows."""

    id: str
    spec_id: str
    title: str
    status: TaskStatusName
    stage: Role | None
    priority: int
    iteration: int
    max_iterations: int  # 0 while no loop runs
    worker: str
    needs: tuple[str, ...] = ()
    by_words: tuple[str, ...] = ()  # stages that passed by the agent's own words only


class Claimed(Struct, frozen=True, tag=True):
    """A run takes the task and becomes its worker."""

    task: str
    worker: str
    stage: Role | None = None  # None: where it stopped, or the first


class TakenOver(Struct, frozen=True, tag=True):
    """Another run goes on with what a dead one left."""

    task: str
    worker: str
    of: str  # the worker that is gone


class BranchAssigned(Struct, frozen=True, tag="Housed"):
    """The task got a branch of its own, and the branch it is to land on is known."""

    task: str
    branch: str
    target: str


class StageEntered(Struct, frozen=True, tag=True):
    """The next agent's turn; the same stage again is harmless."""

    task: str
    stage: Role


class IterationBegun(Struct, frozen=True, tag=True, kw_only=True):
    """An agent starts; `metadata["ralph"]` tells where the loop is."""

    task: str
    stage: Role
    iteration: int  # 1 for the first
    max_iterations: int
    completion_promise: str
    at: float  # unix time


class IterationEnded(Struct, frozen=True, tag=True, kw_only=True):
    """An agent run of a stage is over; one line of the execution log."""

    task: str
    stage: Role
    iteration: int
    max_iterations: int
    promise_found: bool
    continuing: bool
    duration_ms: int
    at: float
    outcome: str = ""  # how the agent run ended: finished, timed_out, …
    run: str = ""
    reason: str = ""  # why the stage was, or was not, complete with it


class Attempted(Struct, frozen=True, tag=True):
    """A promise was verified, with whatever result."""

    task: str
    attempt: VerificationAttempt
    run: str = ""


class CostRecorded(Struct, frozen=True, tag="Spent", kw_only=True):
    """An agent run or a verification cost money or tokens."""

    task: str
    stage: Role
    iteration: int
    at: float
    cost_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    run: str = ""


class Spending(Struct, frozen=True):
    """What went into something."""

    cost_usd: float | None  # None: nobody said
    input_tokens: int
    output_tokens: int


class TaskTotals(Struct, frozen=True, gc=False, kw_only=True):  # thousands of them
    """What the work on a task came to so far."""

    cost_usd: float | None  # None: nobody said
    iterations: int
    seconds: float  # of agents at work


class StagePassed(Struct, frozen=True, tag=True):
    """The promise of the current stage was verified."""

    task: str
    stage: Role
    by_words: bool = False  # by nothing but its agent's words


class SentBack(Struct, frozen=True, tag=True):
    """A reviewer, tester or qa wants changes: the coder's turn again, and what had passed has to pass again."""

    task: str
    changes: str
    at: float


class GaveUp(Struct, frozen=True, tag=True, kw_only=True):
    """A limit was reached: back to todo, `metadata["ralph_failure"]` says why."""

    task: str
    iterations_used: int
    last_output: str
    reason: str = "Max iterations reached without completion promise"


class Released(Struct, frozen=True, tag=True):
    """Its run ends before it does; stage and work stay."""

    task: str


class Blocked(Struct, frozen=True, tag=True):
    """The task waits until a person reopens it."""

    task: str
    reason: str


class Cancelled(Struct, frozen=True, tag=True):
    """The task was cancelled by a person; its branch and work tree stay."""

    task: str
    reason: str = ""


class Reopened(Struct, frozen=True, tag=True):
    """What was blocked or cancelled may be worked on again, from where it stopped."""

    task: str


class TaskLanded(Struct, frozen=True, tag="Landed"):
    """Its last stage has passed and the target has its commits: done."""

    task: str
    commit: str = ""


class Edited(Struct, frozen=True, tag=True, kw_only=True):
    """Someone changed what is asked for; None: that stays."""

    task: str
    title: str | None = None
    description: str | None = None
    priority: int | None = None
    depends_on: tuple[str, ...] | None = None
    assignee: str | None = None
    completion_spec: TaskCompletionSpec | None = None


TaskMove = (
    Claimed
    | TakenOver
    | BranchAssigned
    | StageEntered
    | IterationBegun
    | StagePassed
    | SentBack
    | GaveUp
    | Released
    | Blocked
    | Cancelled
    | Reopened
    | TaskLanded
    | Edited
)
HistoryNote = IterationEnded | Attempted | CostRecorded  # kept beside the task, which stays as it is
Change = TaskMove | HistoryNote


class IllegalMove(RalphError):
    """That cannot happen to a task in its state."""

    code = "illegal_move"


class NoSuchTask(RalphError):
    """No task of that name."""

    code = "no_such_task"


class NoSuchSpec(RalphError):
    """No spec of that name."""

    code = "no_such_spec"


def build_unknown_spec_error(id_: str) -> NoSuchSpec:
    return NoSuchSpec(f"no spec {id_!r}", suggest_spec_fix(id_))


def suggest_spec_fix(id_: str) -> str:
    return f"create it with `ralph spec create {id_}`; see `ralph spec list`"


class Problem(Struct, frozen=True):
    """What is wrong, and where in the document it stands."""

    path: tuple[str | int, ...]
    text: str
    hint: str = ""


class InvalidInput(RalphError):
    """Tasks or specs with problems; none of the batch was stored."""

    code = "refused"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n  ".join(problem.text for problem in problems), problems[0].hint)
        self.problems = tuple(problems)
