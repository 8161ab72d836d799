"""The vocabulary of a loop: what was seen, what to do next, how it ended."""

import enum
from collections.abc import Mapping
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field

from ralph.model.agent_chain import AgentChain, Rest
from ralph.model.control import PersonNote
from ralph.model.events import NO_USAGE, Usage
from ralph.model.proofs import ProofApproval, ProofChange
from ralph.model.receipt import CheckEvidence, SignedCommit
from ralph.model.standstill import Standstill, StuckLimits

FailAction = Literal["APPEND", "PREPEND", "REPLACE"]

RunOutcome = Literal[
    "finished",  # a terminal success event
    "empty",  # success, and not a word
    "cut_short",  # the agent's own turn or cost limit
    "refused",  # it asked for permissions it does not have
    "timed_out",
    "idle",  # no output for too long
    "crashed",  # ended without a terminal event, or with an error of its own
    "limited",  # usage or rate limit of the account
    "overloaded",  # the model's service is in trouble
    "offline",  # the network is
    "unusable",  # no key, no credit, no such program: trying again cannot help
]


def add_reset_margin(seconds: float) -> float:
    """How long to wait for a limit that ends in so many seconds: a told end is never quite exact."""
    return seconds + min(5.0, 1.0 + seconds / 20)


class Feedback(Struct, frozen=True):
    """Text for the next prompt and where it goes."""

    text: str
    action: FailAction = "APPEND"


class Brief(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one agent run is asked to do."""

    iteration: int
    limit: int
    feedback: tuple[Feedback, ...] = ()
    budget_usd: float | None = None  # what is left of the budget
    role: str = ""  # which part it plays: a story's mode, a task's stage
    story: str = ""  # the story it is about
    tasks: str = ""  # tasks.json as it is before this run: the one that counts
    turn: int = 0  # which of this part's runs it is, and of how many
    turns: int = 0
    changes: str = ""  # what a later part wants changed
    agent: str = ""  # which of the configured ones; empty: the first
    proofs: tuple[ProofChange, ...] = ()  # whose change it has to approve by name
    explanation: str = ""  # what whoever changed them says about it
    notes: tuple[PersonNote, ...] = ()  # of people, for this prompt

    @property
    def is_conflict_resolution(self) -> bool:
        """Whether this run is to resolve a task's merge conflict; such a run counts as no turn of a stage."""
        return bool(self.story) and not self.turns and not self.tasks


class GateResult(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a gate found; `feedback` is for the next prompt when it did not pass."""

    gate: str
    passed: bool
    exit_code: int = 0
    seconds: float = 0.0
    log: str = ""  # empty: there is none
    feedback: Feedback | None = None
    reason: str = ""  # why it failed, where the exit code does not tell
    trouble: str = ""  # what went wrong around it; the verdict holds
    summary: str = ""  # the line of its output that tells most, when it did not pass
    tail: str = ""  # the last lines of its output, likewise
    digest: str = ""  # SHA-256 of all it printed
    argv: tuple[str, ...] = ()  # what was run; empty: it ran no command
    timeout: float | None = None
    run_log: str = ""  # its output again, in the run's own folder, where no later run writes; empty: there is none


class _LoopChoices(Struct, frozen=True, kw_only=True):
    stuck: StuckLimits | None = None
    chain: AgentChain | None = None
    day_usd: float | None = None  # by all runs of this machine together
    reserve_usd: float = 0.0  # of cost_usd: kept from agents that write, so that their work can be reviewed


class Limits(_LoopChoices, frozen=True):
    """What forbids starting another agent run. None: no limit."""

    iterations: int = 10
    seconds: float | None = None
    cost_usd: float | None = None


class Patience(Struct, frozen=True, kw_only=True):
    """How often and how long to wait for trouble that is not the agent's (limits, overload, network)."""

    retries: int = 12  # in a row, before giving up
    delay: float = 5.0  # doubles each time
    longest: float = 900.0
    empty_retries: int = 3
    max_wait: float | None = None  # seconds for one limit of the account, however often asked; None: as for the others


# -- facts: the only way the world enters the core ------------------------------------------------
class Resumed(Struct, frozen=True, tag="resumed", omit_defaults=True):
    """A run goes on where its journal ends, under these limits."""

    limits: Limits = Limits()
    waits_on: bool = False  # for a limit whose end is not there yet; another agent need not
    rechecks: bool = False  # what rests on checks of an earlier life is checked again


class Reported(Struct, frozen=True, tag="reported", omit_defaults=True, kw_only=True):
    """An agent run, judged once and for all by `core.outcome`."""

    outcome: RunOutcome
    text: str = ""  # the final top-level assistant text
    detail: str = ""  # the outcome in one sentence
    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    exit_code: int = 0
    reset_at: float | None = None  # unix time when a usage limit ends
    tools: int = 0
    errors: int = 0
    present: tuple[str, ...] = ()  # completion files that exist now
    unparsed: int = 0  # lines and events nobody understood
    tree: str = ""  # a sign that changes with the work tree, where someone looked
    lasting: bool = False  # only other settings can mend it
    refused_tools: tuple[str, ...] = ()  # calls it was not permitted, by the tool's name
    refused_commands: tuple[str, ...] = ()  # the commands among them, where the agent tells, each once
    permitted_commands: tuple[str, ...] = ()  # what it may run, where something was refused
    proofs: tuple[ProofChange, ...] = ()  # what is not as it was at the baseline
    unseen: bool = False  # nobody has looked at the work tree since; what that tells comes with SnapshotTaken
    head: str = ""  # the commit that was checked out then
    estimated_usd: float | None = None  # by its tokens, where it tells no cost and somebody gave a price
    agent: str = ""  # who it was, and with which model, where there may be several
    model: str = ""
    tool_error: str = ""  # the one that most of its tool calls ended with, where most ended with one
    undone: tuple[str, ...] = ()  # files it changed though it was only to look at them; they are as they were

    @property
    def is_unpriced(self) -> bool:
        """It cost something, and nobody knows how much."""
        is_priced = self.cost_usd is not None or self.estimated_usd is not None
        return not is_priced and (self.usage != NO_USAGE or self.outcome == "finished")

    @property
    def is_free(self) -> bool:
        """It was turned away: that this cost nothing says nothing of what others cost."""
        return not self.cost_usd and self.usage == NO_USAGE and self.outcome not in ("finished", "empty", "refused")


class SnapshotTaken(Struct, frozen=True, tag="snapshot_taken", omit_defaults=True, kw_only=True):
    """What an unseen report still lacked."""

    tree: str = ""
    head: str = ""
    present: tuple[str, ...] = ()
    proofs: tuple[ProofChange, ...] = ()
    undone: tuple[str, ...] = ()


class _EarlierWork(Struct, frozen=True, kw_only=True):
    standstill: Standstill = Standstill()  # of an earlier run of the same work: what it tried in vain counts
    pending_notes: tuple[PersonNote, ...] = field(default=(), name="told")  # for an agent of that run that was cut off


class Began(_EarlierWork, frozen=True, tag="began", omit_defaults=True):
    """A new run, under these limits."""

    limits: Limits = Limits()
    spent_usd: float | None = None  # by an earlier run of the same work: its budget is one
    report: Reported | None = None  # of an agent of that run, after which nobody looked at the work tree


class _Sealing(Struct, frozen=True, kw_only=True):
    """What a sealed check adds to its results."""

    sealed: bool = False  # with the proofs as they were at the baseline
    proofs: tuple[ProofChange, ...] = ()  # those that were put back for it
    diff: str = ""  # of them


class Checked(_Sealing, frozen=True, tag="checked", omit_defaults=True):
    """The results of all gates of one Check."""

    results: tuple[GateResult, ...]

    @property
    def failures(self) -> tuple[GateResult, ...]:
        return tuple(r for r in self.results if not r.passed)


class Saved(Struct, frozen=True, tag="saved", omit_defaults=True, kw_only=True):
    """SCM tasks were run. Problems are told and do not stop the loop."""

    done: tuple[str, ...] = ()
    message: str = ""
    problems: tuple[str, ...] = ()
    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    commit: SignedCommit | None = None  # what was made of it, where that is git's


class Looked(Struct, frozen=True, tag="looked", omit_defaults=True, kw_only=True):
    """Which marks a supervised task's folder has: done, waiting, missing dependencies."""

    done: bool = False
    waits: str = ""  # how the agent asked not to be restarted
    needs: tuple[str, ...] = ()  # tasks that must be done first and are not
    problem: str = ""  # the marks cannot be read
    children: tuple[str, ...] = ()  # runs its agents started and that go on


class Awaited(Struct, frozen=True, tag="awaited", omit_defaults=True):
    """A wait for others is over; `left` are those that are not there yet."""

    left: tuple[str, ...] = ()


class Surveyed(Struct, frozen=True, tag="surveyed", omit_defaults=True, kw_only=True):
    """The story list and the repository as they are now."""

    text: str | None = None  # of tasks.json; None: there is none
    head: str = ""  # the commit
    committed: str = ""  # its tree: an empty commit has that of the one before it
    subject: str = ""  # its first line
    uncommitted: tuple[str, ...] = ()
    problem: str = ""  # why tasks.json has no text, when something is there
    lost: tuple[str, ...] = ()  # other files of the loop that are gone or empty
    rewritten: tuple[str, ...] = ()  # files that agents should leave alone and that have another text now
    branch: str = ""  # the one that is checked out; empty: none is
    touched: tuple[str, ...] = ()  # what the last agent changed, besides the files of the loop
    proofs: tuple[ProofChange, ...] = ()  # what is not as it was when the loop began
    diff: str = ""  # of those among them that checks may no longer say the same by


class Restored(Struct, frozen=True, tag="restored"):
    """tasks.json and the other files hold what they were told to hold."""


class Verified(Struct, frozen=True, tag="verified", omit_defaults=True, kw_only=True):
    """The result of verifying a promise."""

    verified: bool
    reason: str
    cost_usd: float | None = None  # of a judge
    usage: Usage = NO_USAGE
    red_before: bool | None = None  # whether its checks failed before the work began; None: nobody looked
    by_words: bool = False  # nothing but the agent's own words spoke for it
    judge: str = ""  # who judged; empty: nobody was asked
    tree: str = ""  # of the work tree that was looked at, where somebody can tell
    evidence: tuple[CheckEvidence, ...] = ()
    logs: tuple[str, ...] = ()  # what its commands printed, in the run's own folder
    detail: str = ""  # the last lines that spoke against it
    sealed: Checked | None = None  # the same checks with changed proofs as they were; None: none was changed
    approved: tuple[ProofApproval, ...] = ()
    proof_judge: str = ""  # who judged the change of proofs, where there is no reviewer


class Landed(Struct, frozen=True, tag="landed", omit_defaults=True, kw_only=True):
    """A branch was merged, or why not."""

    done: bool
    commit: str = ""
    conflict: str = ""
    red: str = ""
    problem: str = ""
    stale: bool = False  # the tree is another than the one that was proven
    changed: str = ""  # of a stale tree: which files, in words
    empty: str = ""  # why nothing had to be merged; empty: something was
    target: str = ""  # the commit of the target that it was tried with
    target_name: str = ""
    moved: str = ""  # that somebody else moved the target meanwhile, in words
    evidence: tuple[CheckEvidence, ...] = ()  # of checks on the merged tree
    digest: str = ""  # of the evidence that the message of a commit of ours names
    cost_usd: float | None = None  # of a judge who looked at the merged tree


class Waited(Struct, frozen=True, tag="waited"):
    """The wait is over."""


class Forbidden(Struct, frozen=True, tag="forbidden"):
    """A limit does not allow the optional work the policy asked for."""

    why: str


class _CutOff(Struct, frozen=True, kw_only=True):
    cost_usd: float | None = None  # what it had cost by then, as far as it was told
    usage: Usage = NO_USAGE
    paused: bool = False


class Interrupted(_CutOff, frozen=True, tag="interrupted", omit_defaults=True):
    """The step was cut short by a signal or by `ralph cancel`; or an agent by a pause, after which it is repeated."""

    by: str


class AnswersLost(Struct, frozen=True, tag="answers_lost", omit_defaults=True, kw_only=True):
    """What questions cost whose answers are on no record, because the run was killed: they are asked again."""

    cost_usd: float
    usage: Usage = NO_USAGE
    agent: str = ""


Fact = (
    Began
    | Resumed
    | Reported
    | SnapshotTaken
    | Checked
    | Saved
    | Looked
    | Awaited
    | Surveyed
    | Restored
    | Verified
    | Landed
    | Waited
    | Forbidden
    | Interrupted
    | AnswersLost
)


class Observation(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A fact, the clocks and who wants us to end at that time: so `step` needs to ask nobody."""

    fact: Fact
    at: float = 0.0  # seconds into the run; stands still between a stop and a resume
    wall: float = 0.0  # unix time, only to wait for a told hour
    interrupted_by: str = ""  # the step was finished; no other one is to start
    today_usd: float | None = None  # spent since midnight by all runs of this machine; None: nobody asked
    paused_by: str = ""  # no agent is to start until somebody lifts it
    notes: tuple[PersonNote, ...] = ()  # of people, which no agent has heard yet


# -- decisions: the only way the core acts on the world -------------------------------------------
class Outcome(enum.Enum):
    """How a loop ended."""

    COMPLETED = "completed"
    EXHAUSTED = "exhausted"
    STUCK = "stuck"
    OVER_BUDGET = "over_budget"
    BLOCKED = "blocked"
    FAILED = "failed"
    TAMPERED = "tampered"
    UNUSABLE = "unusable"
    INTERRUPTED = "interrupted"

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES.get(self, 1)


_EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.COMPLETED: 0,
    Outcome.UNUSABLE: 2,
    Outcome.BLOCKED: 3,
    Outcome.INTERRUPTED: 130,
}


class RunAgent(Struct, frozen=True, tag="run_agent"):
    """Start a fresh agent."""

    brief: Brief


class TakeSnapshot(Struct, frozen=True, tag="take_snapshot"):
    """Look at what an agent left in the work tree, and keep it. Doing it twice does no harm."""

    iteration: int


class _SealedCheck(Struct, frozen=True, kw_only=True):
    """Which proofs gates look at."""

    sealed: bool = False  # with the proofs as they were at the baseline
    approved: tuple[ProofApproval, ...] = ()  # but for these


class Check(_SealedCheck, frozen=True, tag="check", omit_defaults=True):
    """Run these gates, all of them, in order."""

    gates: tuple[str, ...]
    iteration: int


class Save(Struct, frozen=True, tag="save"):
    """Run the SCM tasks. Optional work: a limit may forbid it."""

    iteration: int
    budget_usd: float | None = None  # what is left, for the question about the commit message


class Look(Struct, frozen=True, tag="look"):
    """Look at the marks on the task."""


class Await(Struct, frozen=True, tag="await"):
    """Wait for others: child runs, or tasks this one depends on."""

    whom: Literal["children", "dependencies"]
    seconds: float | None = None  # no longer than this


class Survey(Struct, frozen=True, tag="survey"):
    """Look at the story list and the repository."""


class Restore(Struct, frozen=True, tag="restore", omit_defaults=True):
    """Write tasks.json, and put other files of the loop back. Doing it twice is doing it once."""

    text: str | None  # None: tasks.json stays as it is
    why: tuple[str, ...] = ()  # what is changed, a line each
    files: tuple[str, ...] = ()  # as they were when last seen


class Verify(Struct, frozen=True, tag="verify", kw_only=True, omit_defaults=True):
    """Look at whether a promise holds."""

    role: str
    turn: int
    turns: int
    text: str  # the message that makes it
    again: bool = False  # it was verified in an earlier life: only commands are run
    proofs: tuple[ProofChange, ...] = ()  # whose change it has to approve by name
    explanation: str = ""  # of those, or of those it changed itself


class Land(Struct, frozen=True, tag="land", omit_defaults=True):
    """Merge what is proven into its target."""

    tree: str = ""  # what was proven, when that is a while ago; empty: what is there


class Wait(Struct, frozen=True, tag="wait"):
    """Start nothing for a while."""

    seconds: float
    why: str


class PauseLoop(Struct, frozen=True, tag="pause"):
    """Start nothing until somebody resumes the run. The clock stands still meanwhile."""

    by: str


class _Ending(Struct, frozen=True, kw_only=True):
    """What else there is to say about the end of a loop."""

    flagged: bool = False  # completed, but somebody should look at what `why` says
    question: str = ""  # of the agent, for a person


class Stop(_Ending, frozen=True, tag="stop", omit_defaults=True):
    """End the loop."""

    outcome: Outcome
    why: str
    lasting: bool = False  # it would end the same way again: settings stay those the run began with


Decision = (
    RunAgent | TakeSnapshot | Check | Save | Look | Await | Survey | Restore | Verify | Land | Wait | PauseLoop | Stop
)


class RefusalStreak(Struct, frozen=True):
    """Runs in a row that were not permitted the same things and left the work tree as it was."""

    sign: str = ""  # of what was refused, and of the tree
    times: int = 0
    detail: str = ""  # in a sentence, with what to type


class Tally(Struct, frozen=True, kw_only=True):
    """What has been used up, and what went wrong in a row."""

    iterations: int = 0
    cost_usd: float | None = None  # None until an agent tells a cost
    estimated_usd: float = 0.0  # of agents that tell none, apart from the others
    unpriced: int = 0  # agent runs of which nobody knows the cost
    usage: Usage = NO_USAGE
    troubles: int = 0
    empties: int = 0
    refusals: RefusalStreak = RefusalStreak()
    limit_seconds: float = 0.0  # waited for limits of the account, in a row
    limit_end: float = 0.0  # unix time until which one is waited for
    scm_problems: tuple[str, ...] = ()  # why the last SCM tasks were not all done
    standstill: Standstill = Standstill()
    agent: str = ""  # who was started last; empty: the first of the chain
    resting: tuple[Rest, ...] = ()  # agents at a limit, or without a key

    @property
    def spent_usd(self) -> float:
        """As far as anybody knows."""
        return (self.cost_usd or 0.0) + self.estimated_usd


_StateT = TypeVar("_StateT")


class UnseenReport(Struct, frozen=True):
    """An agent run that is on record and counted, before the policy hears of it."""

    reported: Reported
    iteration: int


class LoopState(Struct, Generic[_StateT], frozen=True, kw_only=True):
    """`wanted` is the policy's own last decision: what a resume carries out, after the snapshot of an unseen report."""

    inner: _StateT
    wanted: Decision
    tally: Tally = Tally()
    limits: Limits = Limits()
    unseen: UnseenReport | None = None
    pending_notes: tuple[PersonNote, ...] = ()  # for the agent run that is wanted: repeated until it counts


class Policy(Protocol[_StateT]):
    """A completion rule: a pure machine over observations. It never sees Began or Interrupted, a Reported only once
    the work tree was looked at, Resumed only where it stopped for tampering, and Waited only for a Wait of its own."""

    def begin(self, limits: Limits) -> tuple[_StateT, Decision]:
        """The first state and decision."""
        ...

    def decide(self, state: _StateT, seen: Observation, tally: Tally, limits: Limits) -> tuple[_StateT, Decision]: ...

    def explain_exhaustion(self, limits: Limits) -> str:
        """The reason given when the iteration limit forbids another agent run."""
        ...

    def explain_incompletion(self, state: _StateT) -> str:
        """What the iterations so far lacked for completion, in words; empty where there is nothing to say."""
        ...

    def sign_progress(self, state: _StateT) -> str:
        """A sign that changes with the work, where the files as such do not tell; empty: they do."""
        ...
