"""The answers of the API, as types: the web page and other programs read these. Fields are added, never taken away."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ralph.app.board.iteration_strip import StripMark
from ralph.app.runs.journal_reader import Iteration
from ralph.app.runs.snapshots import SnapshotCommit
from ralph.app.runs.spending import ExpenseSum, Grouping
from ralph.app.story.report import StoryLine
from ralph.faces.board_words import CardTone
from ralph.faces.log_words import LogTone
from ralph.model.board import Spending
from ralph.model.events import Usage
from ralph.model.loop import Limits
from ralph.model.receipt import ProofReceipt
from ralph.model.spec import TaskStatusName, VerificationAttempt

# Every time is in unix seconds, every duration in seconds, every cost in US dollars; None: nobody said.


class CardView(Struct, frozen=True, gc=False, kw_only=True):
    """A task on the board."""

    id: str
    title: str
    spec: str
    lane: str  # the name of a stage, or of what comes before and after them
    status: TaskStatusName
    tone: CardTone
    text: str  # its state in words: "↻ Coder (3/15)", "after TASK-001", "! blocked"
    reason: str = ""  # why it is blocked, or how it failed
    failure: str = ""  # the line that tells most of its last verification, where that failed
    priority: int = 0  # lower comes first
    iteration: int = 0
    max_iterations: int = 0  # 0: no loop runs
    run: str = ""  # the run that works on it
    agent: str = ""  # of that run
    started_at: float | None = None  # of its loop
    cost_usd: float | None = None
    seconds: float = 0.0  # of agents at work, all iterations together
    iterations: int = 0  # all stages together
    needs: Sequence[str] = ()  # all tasks it depends on
    waits_for: Sequence[str] = ()  # those of them that are not done
    by_words: Sequence[str] = ()  # stages that passed by the agent's own words only
    paused_by: str = ""
    question: str = ""  # what its agent asks, until someone answers


class RunView(Struct, frozen=True, gc=False, kw_only=True):
    """A run of any loop in a list."""

    id: str
    kind: str  # run, execute, story or supervise
    agent: str
    task: str = ""
    title: str = ""  # the first line of its prompt, or what else it is about
    active: bool = False
    alive: bool | None = None  # of an active one; None: its process cannot be seen from here
    iteration: int = 0
    limit: int = 0
    doing: str = ""  # agent, checks, waiting …: while it is active
    outcome: str = ""  # completed, exhausted, stuck …; empty while it is active
    why: str = ""
    started_at: float
    ended_at: float | None = None
    seconds: float = 0.0  # it has worked; of an active one as of `changed_at`
    changed_at: float = 0.0
    cost_usd: float | None = None
    parent: str = ""
    pid: int = 0  # 0: it is not active
    folder: str = ""
    paused_by: str = ""
    question: str = ""
    slot: int = 0  # its place among the workers; 0: none
    part: str = ""  # which part its last agent plays, and for which story
    strip: Sequence[StripMark] = ()  # a mark for each iteration, the oldest first
    checks: Sequence["CheckMark"] = ()  # the last ones
    failure: str = ""  # the line that tells most of what failed last
    activity: str = ""  # what its agent does at this moment, while it is active


class CheckMark(Struct, frozen=True, gc=False):
    """A check, and how it went."""

    name: str
    passed: bool


class LogLineView(Struct, frozen=True, gc=False, kw_only=True):
    """Something that happened, on one line of plain text."""

    at: float
    run: str
    label: str  # its task, or the kind of its loop
    role: str
    tone: LogTone
    text: str


class BoardHead(Struct, frozen=True, kw_only=True):
    """What stands above the lanes."""

    place: str  # repository:branch
    root: str
    running: int = 0
    idle_slots: int = 0
    done: int = 0
    total: int = 0  # without the cancelled ones
    blocked: int = 0
    cancelled: int = 0
    spent_usd: float | None = None
    since: float | None = None  # when the oldest of what works began
    expectation: str = ""  # what tasks took so far
    paused_by: str = ""  # who paused all of `ralph execute`
    problem: str = ""  # why the board could not be read just now


class BoardAnswer(Struct, frozen=True, kw_only=True):
    """`GET board`, and the event `reset`."""

    repository: str
    version: str  # the id of the last event that is in it; for `after=`
    now: float
    head: BoardHead
    cards: Sequence[CardView] = ()  # the most urgent first
    runs: Sequence[RunView] = ()  # those that are active, then the newest ones without a task
    lines: Sequence[LogLineView] = ()  # the latest of all active runs, the oldest first


class BoardChange(Struct, frozen=True, kw_only=True):
    """The event `change`: only what is new. A card or a run takes the place of the one with its id."""

    now: float
    head: BoardHead
    cards: Sequence[CardView] = ()
    gone: Sequence[str] = ()  # ids of tasks that were deleted
    runs: Sequence[RunView] = ()
    runs_gone: Sequence[str] = ()  # ids of runs that are not on the board any more
    order: Sequence[str] | None = None  # all ids of cards in their order, when that changed


class LogLines(Struct, frozen=True):
    """The event `log`."""

    lines: Sequence[LogLineView]


class RepositoryView(Struct, frozen=True, kw_only=True):
    """A repository of this machine that ralph has run in."""

    key: str  # for `?repository=`
    name: str
    root: str
    here: bool  # where the server was started
    running: int = 0
    tasks: int = 0
    done: int = 0
    problem: str = ""


class RepositoriesAnswer(Struct, frozen=True):
    """`GET repositories`; without `--all` only the one where the server was started."""

    repositories: Sequence[RepositoryView]


class SessionAnswer(Struct, frozen=True, kw_only=True):
    """`GET session`: what a page has to know first."""

    version: str
    repository: str
    root: str
    all_repositories: bool
    csrf_header: str  # to be sent with every POST and PATCH of a cookie's session; its value came with the login
    actions: Sequence[str]  # what may be done to tasks and runs
    agents: Sequence[str]  # names for `POST runs`
    default_agent: str
    specs: Sequence[str]


class RunsAnswer(Struct, frozen=True, kw_only=True):
    """`GET runs`, the newest first."""

    runs: Sequence[RunView]
    more: bool = False  # there are older ones: ask with before=<started_at of the last>


class RunAnswer(Struct, frozen=True, kw_only=True):
    """`GET runs/{id}`: everything a run leaves to tell."""

    run: RunView
    prompt: str = ""  # what it was started with, shortened
    request: Mapping[str, object] = {}  # jobs, tasks …: what else it was started with, as far as it is of use
    usage: Usage | None = None
    limits: Limits | None = None
    earlier_cost_usd: float | None = None
    before: Iteration | None = None  # what was done before the first agent
    iterations: Sequence[Iteration] = ()
    snapshots: Sequence[SnapshotCommit] = ()
    outputs: Sequence["OutputFile"] = ()  # what checks and agents printed: `GET runs/{id}/outputs/{name}`
    proof: ProofReceipt | None = None  # once it has ended
    unread: int = 0  # rows of the journal that nobody can read
    notes: Sequence["NoteView"] = ()


class NoteView(Struct, frozen=True, kw_only=True):
    """What a person said to a run or a task."""

    at: float
    author: str
    text: str
    kind: str = "note"  # or answer
    heard: bool = False  # it stood in a prompt


class OutputFile(Struct, frozen=True, kw_only=True):
    """A file of a run's folder."""

    name: str
    size: int  # bytes


class OutputAnswer(Struct, frozen=True, kw_only=True):
    """`GET runs/{id}/outputs/{name}`: plain text, the end of it where it is long."""

    name: str
    size: int
    text: str
    truncated: bool = False


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file of a diff."""

    path: str
    added: int
    removed: int


class DiffAnswer(Struct, frozen=True, kw_only=True):
    """`GET runs/{id}/diff`: a unified diff as plain text."""

    run: str
    iteration: int | None  # None: of the whole run
    text: str
    truncated: bool = False
    files: Sequence[ChangedFile] = ()


class LogAnswer(Struct, frozen=True, kw_only=True):
    """`GET runs/{id}/log`, the oldest first."""

    run: str
    lines: Sequence[LogLineView]
    next: int  # for `after=`
    more: bool = False


class StageView(Struct, frozen=True, kw_only=True):
    """What one agent of a task promises, and how that is verified."""

    role: str
    promise: str
    description: str
    method: str
    config: Mapping[str, object]
    max_iterations: int
    limit_reason: str
    passed: bool = False
    own: bool = False  # the task's own criteria, not the defaults


class TaskAnswer(Struct, frozen=True, kw_only=True):
    """`GET tasks/{id}`: all there is to tell about a task."""

    card: CardView
    description: str = ""
    assignee: str = ""
    setup: str = ""
    outcome: str = ""
    acceptance: Sequence[str] = ()
    created_at: float = 0.0
    updated_at: float = 0.0
    branch: str = ""
    target: str = ""
    stages: Sequence[StageView] = ()
    attempts: Sequence[VerificationAttempt] = ()
    iterations: Sequence[Mapping[str, object]] = ()  # a record each
    spent: Spending | None = None
    failure: Mapping[str, object] = {}  # the last one: stage, iterations_used, reason, last_output
    sent_back: Sequence[Mapping[str, object]] = ()
    runs: Sequence[RunView] = ()  # the newest first
    notes: Sequence[NoteView] = ()


class StoriesAnswer(Struct, frozen=True, kw_only=True):
    """`GET stories`."""

    project: str = ""
    folder: str = ""
    stories: Sequence[StoryLine] = ()
    iterations: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None
    problem: str = ""  # why there is no list to show
    hint: str = ""  # what to type


class CostSeries(Struct, frozen=True, kw_only=True):
    """What one group cost on each of the days."""

    name: str
    values: Sequence[float]


class CostsAnswer(Struct, frozen=True, kw_only=True):
    """`GET costs`; `days` and `series` are made for a chart."""

    by: Grouping
    since: str
    total: ExpenseSum
    groups: Sequence[ExpenseSum]
    days: Sequence[str] = ()  # YYYY-MM-DD, without gaps
    series: Sequence[CostSeries] = ()  # the most expensive groups, the rest as "others"


class SearchHit(Struct, frozen=True, kw_only=True):
    """A task, run or log line that has all words."""

    kind: Literal["task", "run", "line"]
    id: str  # of the task or the run
    title: str
    text: str = ""  # where the words were found
    at: float | None = None


class SearchAnswer(Struct, frozen=True, kw_only=True):
    """`GET search`."""

    query: str
    hits: Sequence[SearchHit]
    more: bool = False


class StartAnswer(Struct, frozen=True, kw_only=True):
    """`POST runs`: how the start went; the run outlives the server."""

    pid: int
    run: str = ""  # empty: it is not on record yet
    log: str = ""  # the file with what it prints
    exit_code: int | None = None  # it has ended already
    output: str = ""  # the end of what it printed, when it has ended already


class DoneAnswer(Struct, frozen=True, kw_only=True):
    """Any other POST: what was done, in one sentence."""

    message: str
    id: str = ""  # of the task or run it was done to


class LinkAnswer(Struct, frozen=True):
    """`POST links`: another one-time link, for another browser."""

    url: str


class ErrorDetail(Struct, frozen=True, kw_only=True):
    """What went wrong, and what to do next."""

    code: str
    message: str
    hint: str = ""


class ErrorAnswer(Struct, frozen=True):
    """Every answer with a status of 400 and more."""

    error: ErrorDetail
