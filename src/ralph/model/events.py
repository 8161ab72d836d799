"""What happened, as told to whoever watches: the agent's events and the loop's own."""

from typing import Literal

from msgspec import Struct


class Usage(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """Tokens, as the agent itself counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


NO_USAGE = Usage()


# -- from the agent -------------------------------------------------------------------------------
class Said(Struct, frozen=True, gc=False, tag="said", omit_defaults=True):
    """Text of the assistant."""

    text: str
    thinking: bool = False
    nested: bool = False  # a subagent's: shown, never a claim


class FileEdit(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """What an edit changes, as far as its tool's input tells."""

    added: int = 0  # lines
    removed: int = 0
    hunk: str = ""  # the first of them, each behind its + or -
    whole: bool = False  # the whole file is written: what stood there before is not known


class ToolStarted(Struct, frozen=True, gc=False, tag="tool_started", omit_defaults=True, kw_only=True):
    """A tool call began."""

    id: str
    name: str
    summary: str = ""  # of its input: the path, the command, the pattern
    nested: bool = False
    edit: FileEdit | None = None


class ToolEnded(Struct, frozen=True, gc=False, tag="tool_ended", omit_defaults=True, kw_only=True):
    """A tool call ended; `output` may be cut, `lines` and `chars` count all of it."""

    id: str
    output: str = ""
    error: str | None = None
    lines: int = 0
    chars: int = 0
    nested: bool = False
    from_end: bool = False  # the end of it tells most: what was cut is the beginning


TodoState = Literal["pending", "active", "done"]


class Todo(Struct, frozen=True, gc=False):
    """One item of the agent's own plan."""

    text: str
    state: TodoState = "pending"


class Planned(Struct, frozen=True, gc=False, tag="planned"):
    """The agent's complete plan, sent again each time it changes."""

    todos: tuple[Todo, ...]


class Spent(Struct, frozen=True, gc=False, tag="spent", omit_defaults=True):
    """Cost and tokens since the last such event; the cost is None where the agent does not report one."""

    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    estimated_usd: float | None = None  # by its tokens, where it does not and somebody gave a price


class Noted(Struct, frozen=True, gc=False, tag="noted", omit_defaults=True):
    """A status line: session, retry, notice."""

    text: str
    status: int | None = None  # the service's, when a request failed and is tried again


class Finished(Struct, frozen=True, gc=False, tag="finished", omit_defaults=True, kw_only=True):
    """The agent's own closing event, believed only as far as `core.outcome` does. Totals, not differences."""

    ok: bool
    text: str = ""
    error: str = ""
    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    turns: int = 0
    seconds: float = 0.0


class Unparsed(Struct, frozen=True, gc=False, tag="unparsed", omit_defaults=True, kw_only=True):
    """Output that is no known event: kept, counted, never fatal."""

    size: int
    kind: str = ""  # the event's own type, where it has one
    sample: str = ""
    count: int = 1  # of so many lines together


AgentEvent = Said | ToolStarted | ToolEnded | Planned | Spent | Noted | Finished | Unparsed


# -- from the loop --------------------------------------------------------------------------------
class RunStarted(Struct, frozen=True, tag="run_started", omit_defaults=True, kw_only=True):
    """A run began or, with `resumed`, goes on."""

    run: str
    agent: str
    limit: int  # iterations
    resumed: bool = False
    isolation: str = ""  # where its agents and checks run, in words
    is_task: bool = False  # its stages have limits of their own; `limit` is their sum
    budget_usd: float | None = None
    spent_usd: float = 0.0  # before it went on, estimates included
    estimated: bool = False  # whether some of that is


class IterationStarted(Struct, frozen=True, tag="iteration_started", omit_defaults=True):
    """A fresh agent is about to start."""

    iteration: int
    limit: int
    about: str = ""  # the part it plays and the story or task it is for


class AgentEnded(Struct, frozen=True, tag="agent_ended", omit_defaults=True, kw_only=True):
    """An agent run is over, with its outcome as `core.outcome` judged it."""

    iteration: int
    outcome: str
    detail: str
    seconds: float
    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    tools: int = 0
    errors: int = 0
    exit_code: int = 0
    unparsed: int = 0  # lines and events nobody understood
    estimated_usd: float | None = None  # where it tells no cost and somebody gave a price


class _CheckCommand(Struct, frozen=True, kw_only=True):
    command: str = ""  # what it runs, where its name does not tell


class GateStarted(_CheckCommand, frozen=True, tag="gate_started", omit_defaults=True):
    """A check began."""

    gate: str
    of: int = 0  # how many there are to run, where that is known
    is_verification: bool = False  # of a task's promise, not a guardrail


class GateEnded(Struct, frozen=True, tag="gate_ended", omit_defaults=True, kw_only=True):
    """A check ended."""

    gate: str
    passed: bool
    exit_code: int | None  # None: a verification, of which a command is only a part; the detail has its reason
    seconds: float
    action: str = ""  # what its failure does to the next prompt
    log: str = ""
    detail: str = ""
    tail: str = ""  # the last lines it printed, when it failed
    is_verification: bool = False  # of a task's promise, not a guardrail
    run_log: str = ""  # its output, as a file of the run's own folder, where no later run writes
    command: str = ""  # what it ran and what decided, where its name does not tell


class Committed(Struct, frozen=True, tag="committed", omit_defaults=True):
    """The SCM tasks of a passing iteration were run."""

    done: tuple[str, ...] = ()
    message: str = ""
    problems: tuple[str, ...] = ()


class Doing(Struct, frozen=True, tag="doing"):
    """What the loop does from now on, where nothing else tells: for a line that is replaced, not for a log."""

    text: str


class Waiting(Struct, frozen=True, tag="waiting"):
    """The loop waits before it starts anything again, and why."""

    seconds: float
    why: str


class Paused(Struct, frozen=True, tag="paused"):
    """No agent starts until somebody resumes the run."""

    by: str


class Warned(Struct, frozen=True, tag="warned"):
    """Something the user should know; the run goes on."""

    text: str


class Hinted(Struct, frozen=True, tag="hinted"):
    """What the user may type next."""

    text: str


class Debugged(Struct, frozen=True, tag="debugged"):
    """What `--verbose` shows."""

    text: str


class RunEnded(Struct, frozen=True, tag="run_ended", omit_defaults=True, kw_only=True):
    """Why the loop stopped."""

    run: str
    outcome: str
    why: str
    exit_code: int
    iterations: int  # begun
    seconds: float
    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    cut_off: bool = False  # the last of them was interrupted before its agent had ended
    flagged: bool = False  # completed, but somebody should look at what `why` says
    question: str = ""  # of the agent, for a person
    problems: tuple[str, ...] = ()  # what went wrong around the work and does not change how it ended: a commit, a push
    estimated_usd: float = 0.0  # of agents that tell no cost, apart from cost_usd
    unpriced: int = 0  # agent runs of which nobody knows the cost


LoopEvent = (
    RunStarted
    | IterationStarted
    | AgentEnded
    | GateStarted
    | GateEnded
    | Committed
    | Doing
    | Waiting
    | Paused
    | Warned
    | Hinted
    | Debugged
    | RunEnded
)
Event = AgentEvent | LoopEvent


class EventRecord(Struct, frozen=True, gc=False):
    """Events that became known at one time: the line format of events.ndjson and of --json."""

    at: float  # unix time
    iteration: int
    event: Event
