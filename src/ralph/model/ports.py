"""What the engine needs of the world, as Protocols. Implementers guarantee what the docstrings say."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from ralph.model.agent_card import Permissions
from ralph.model.command import Command, CommandExit, Invocation
from ralph.model.events import NO_USAGE, AgentEvent, Event, Usage
from ralph.model.loop import FailAction, GateResult, Landed

if TYPE_CHECKING:  # `ralph run` needs no board, and starts without its structs
    from ralph.model.board import Change, Entry
    from ralph.model.proofs import TreeChange
    from ralph.model.sandbox import SandboxKind
    from ralph.model.spec import Role, VerificationAttempt

# run, seq, wall, at, iteration, limit, cost, doing, seen, decision
JournalRow = tuple[str, int, float, float, int, int, float | None, str, bytes, bytes]
_MAX_COMPLAINT_CHARS = 300
OutputMode = Literal["stream", "text"]  # text: one plain answer, no events


class JournalStore(Protocol):
    """Keeps a run's transitions. When a call returns, it is on disk; StateGone, where nobody will find it."""

    def append(self, row: JournalRow, heard: Sequence[int] = ()) -> None:
        """`heard`: the notes of people that stand in the prompt it starts; marked in the same transaction."""
        ...

    def append_last(self, row: JournalRow, outcome: str, why: str, question: str = "") -> None:
        """The transition that ends the run, the end itself, and what its agent asks, in one transaction."""
        ...


class ParsedRun(Struct, frozen=True, kw_only=True):
    """What a parser made of all it was fed: the evidence `core.outcome` judges."""

    closing: Literal["success", "error", "none", "unknown"]  # the terminal event; unknown: this agent has none
    text: str = ""  # the last top-level assistant text after the last tool use
    error: str = ""  # the agent's own words for what went wrong
    status: int | None = None  # HTTP status of an API error
    cut_short: bool = False  # its own limit on turns or cost
    cost_usd: float | None = None
    usage: Usage = NO_USAGE
    tools: int = 0
    errors: int = 0
    denials: tuple[str, ...] = ()  # tools it was not permitted to use
    refused_commands: tuple[str, ...] = ()  # the commands among them, each once
    guard_words: tuple[str, ...] = ()  # what our own guard said of those it refused
    broken: str = ""  # why this agent can do nothing here, in a sentence: trying again cannot help
    unparsed: int = 0


class LineParser(Protocol):
    """Total: any bytes give events, never an exception."""

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        """The events of these whole lines, in order."""
        ...

    def summarize_run(self) -> ParsedRun:
        """What it all amounts to; called at the end, and maybe before, which changes nothing."""
        ...


class AgentOptions(Struct, frozen=True, kw_only=True):
    """What settings say about the agent. An adapter's `build(options)` turns all of it into argv and environment.

    `permissions` None is what the agent did before there was a choice. Permission flags the user wrote himself, in
    `flags` or `command`, always win: then `permissions` and `allow` add nothing; `folders` and `model` are given all
    the same. The adapter's `grant_permissions(options)`, where it has one, tells in `Grant.limits` what its CLI cannot
    express and in `Grant.can_commit` whether the agent may commit; it is pure, so a caller may ask it before the start.
    `check_environment(variables)`, where an adapter has one, gives a sentence for each variable that keeps its CLI from
    working.
    """

    command: tuple[str, ...]  # the program and words that belong to it
    flags: tuple[str, ...] = ()
    version: str = ""  # what `--version` printed, where the adapter asks for it
    permissions: Permissions | None = None
    allow: tuple[str, ...] = ()  # for `checks`: commands in plain words, `make test`, with any arguments: `uv run *`
    folders: tuple[str, ...] = ()  # absolute; writable besides the working folder
    git_folders: tuple[str, ...] = ()  # for `checks`: absolute; what `git commit` writes to, where its card asks for it
    model: str = ""  # instead of one in the flags
    guard: str = ""  # for the card's `settings_flag`: settings whose hook looks at each command before it runs
    fallback_model: str = ""  # for when that is overloaded; an adapter that has it says `HAS_FALLBACK_MODEL = True`
    judges: bool = False  # it is asked one question: no tools, nothing of the project; `permissions` says nothing
    own_sandbox: bool = False  # its own is all there is: whatever `permissions` allow, it allows within that


class Agent(Protocol):
    """Pure: how to call a coding agent and how to understand it."""

    reports_cost: bool  # whether a budget can be kept

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation: ...

    def parser(self, mode: OutputMode) -> LineParser:
        """A fresh parser for one run's stdout."""
        ...


class _LogPlace(Struct, frozen=True, kw_only=True):
    log_folder: str = ""  # where logs are kept, when that is not the folder that is looked at
    log_suffix: str = ""  # in the name of each


class Evidence(_LogPlace, frozen=True):
    """What a gate may look at and work with."""

    iteration: int
    folder: str
    environment: Mapping[str, str]


class GateOptions(Struct, frozen=True, kw_only=True):
    """What settings say about one gate."""

    command: str = ""  # empty: its kind needs none
    action: FailAction = "APPEND"
    hint: str = ""
    timeout: float | None = None
    log_name: str = ""  # below `.ralph/`, without the iteration
    output_limit: int = 5000  # characters of output in the next prompt
    options: Mapping[str, object] = {}  # the keys only its kind understands, not yet checked
    folder: str = ""  # where it will look; empty: it is built only to see whether its options make sense
    run_dir: str = (
        ""  # where it may remember things from one check to the next, also across a resume; empty as `folder`
    )


class Gate(Protocol):
    """One check. A failure is a value; an exception is a bug."""

    @property
    def title(self) -> str: ...

    def check(self, evidence: Evidence) -> GateResult:
        """Run it once; may take long, ends early only through the process layer."""
        ...


class Processes(Protocol):
    """Starts one command at a time; returns when it and all it started are gone."""

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        """Hands on output as it comes. A wish to stop now (see Inbox) ends it with `ending="stopped"`, a reader that
        returns ENOUGH_OUTPUT with `ending="enough"`, too long a silence after one that returned FINAL_OUTPUT with
        `ending="lingered"`."""
        ...


class GitResult(Struct, frozen=True):
    """What git answered."""

    code: int
    output: str
    complaint: str = ""

    @property
    def ok(self) -> bool:
        """Whether it did what it was told."""
        return self.code == 0

    @property
    def text(self) -> str:
        return self.output.strip()

    @property
    def problem(self) -> str:
        lines = [line.strip() for line in (self.complaint or self.output).splitlines() if line.strip()]
        return "; ".join(lines)[:_MAX_COMPLAINT_CHARS] or f"exit code {self.code}"

    @property
    def summary_line(self) -> str:
        """The one to show: git's complaint, which advice may follow, else the last."""
        lines = [*self.output.strip().splitlines(), *self.complaint.strip().splitlines()]
        complaint = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "")
        return complaint or (lines[-1] if lines else f"exit code {self.code}")


class GitClient(Protocol):
    """Git in one folder, or what `scm.command` names in its place; nobody is there to type."""

    def run(self, *words: str) -> GitResult:
        """Run it to its end; failing is an answer, too."""
        ...


class Sandbox(Protocol):
    """Keeps what commands can reach within bounds. One a work tree; `wrap` is pure and safe in several threads."""

    @property
    def kind(self) -> "SandboxKind": ...

    def describe(self) -> str:
        """For the first line and the receipt, in a few words: `bubblewrap, network none`."""
        ...

    def wrap(self, command: Command) -> Command:
        """The same command, run inside. What `command.reads` and `command.writes` name is there, too."""
        ...

    def close(self) -> None:
        """Nothing of it is left; also after an error, also twice."""
        ...


class SealedTree(Protocol):
    """A copy of the work tree with some files as they were when the run started, for commands that judge it. What they
    write is thrown away."""

    def locate(self, folder: str) -> str:
        """Where a folder of the work tree is for these commands; the same path where a mount can stand in for it."""
        ...

    def wrap(self, command: Command) -> Command:
        """The same command, run in the copy, with a home that holds tools and none of the settings an agent could have
        changed."""
        ...

    def contain(self, command: Command) -> Command:
        """The same, for a command that a sandbox will wrap: the copy stands at the work tree's own path."""
        ...


class TreeKeeper(Protocol):
    """Looks at the work tree around agent runs and keeps it. `save_…` return what could not be saved, in words, each
    thing once."""

    @property
    def root(self) -> str:
        """The folder that paths in trees count from."""
        ...

    def save_initial_tree(self) -> str:
        """Save the work tree before the first agent."""
        ...

    def save_tree_after(self, iteration: int) -> str: ...

    def save_cut_off_tree(self, iteration: int) -> str:
        """The same when the run is to end at once: nobody's wish to stop stops this."""
        ...

    def get_tree_sign(self) -> str:
        """Changes with the work tree, as it was when last looked at; empty before that."""
        ...

    def get_work_head(self) -> str:
        """The commit that was checked out then, leaving aside empty ones that were made meanwhile."""
        ...

    def baseline(self) -> str:
        """The hash of the tree as it was when the run started, also after a resume; empty where nobody can tell."""
        ...

    def tree(self) -> str:
        """The hash of the tree as it was when last looked at; empty where nobody can tell."""
        ...

    def list_changes(self, before: str, after: str) -> "Sequence[TreeChange]":
        """What differs between two trees, by path; an empty `before` has nothing in it. A name that is not UTF-8 has
        surrogates in it."""
        ...

    def read_blob(self, blob: str) -> bytes:
        """The very bytes a file had. MachineError: they are gone, or are not those the hash stands for."""
        ...

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> str:
        """The same in git's words, for these paths or all; bounded, without the project's own diff programs."""
        ...

    def open_sealed_tree(
        self, restored: Sequence[str], *, is_committed: bool = False, apart_from: str = ""
    ) -> AbstractContextManager[SealedTree]:
        """The work tree as it is now, with these paths as they were at the baseline: what was deleted is back, what was
        added is gone. `is_committed`: all else as the last commit has it, but for files in the folder `apart_from`.
        Installed dependencies are there, caches are not. MachineError: it cannot be made."""
        ...

    def write_committed_tree(self, apart_from: str = "") -> str:
        """The tree as last looked at, with every file as the last commit has it, whatever git's own index says, but for
        those in that folder. What was there when the run started and was never committed is a person's, and stays.
        MachineError: there is no commit."""
        ...


class ChangeWatch(Protocol):
    """Looks at what decides how the next run is judged. Safe to use from several threads."""

    def find_changes(self) -> Sequence[str]:
        """What changed since the last look, a sentence each."""
        ...


class Inbox(Protocol):
    """Signals and `ralph cancel`, noticed within a second."""

    def fileno(self) -> int | None:
        """Readable when there may be news; None: only asking tells."""
        ...

    def poll_interruption(self) -> str:
        """Who wants the loop to end; empty while nobody does. Asking is cheap."""
        ...

    def poll_stop_grace(self) -> float | None:
        """Seconds of grace when the current step must not be finished; None: let it finish."""
        ...

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until an interruption."""
        ...


class TaskBoard(Protocol):
    """One task of the board, for the run that works on it."""

    def entry(self) -> "Entry":
        """The task as it is now."""
        ...

    def record(self, *changes: "Change") -> None:
        """All of them or none, in order; on disk when the call returns. Counts its own idempotency keys. IllegalMove:
        another run has the task, or it cannot happen to it."""
        ...

    def failed_attempts(self, role: "Role") -> "Sequence[VerificationAttempt]":
        """The latest few since a promise of that stage was last verified, oldest first."""
        ...

    def reserve(self, role: str) -> AbstractContextManager[float | None]:
        """Money for one agent run, kept for it while the block lasts; 0: all is spent, None: there is no limit."""
        ...

    def charge(self, cost_usd: float | None) -> None:
        """Take from the budget what an agent or a judge cost; None: nobody said."""
        ...


class BranchSides(Struct, frozen=True, kw_only=True):
    """What two branches have and the other has not, a line for each of the latest commits."""

    target: str
    branch: str
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()


class Workspace(Protocol):
    """Where one task is worked on, apart from all others."""

    @property
    def folder(self) -> str: ...

    def diff(self) -> str:
        """What has changed since the work began, committed or not."""
        ...

    def diff_landing(self, folder: str) -> str:
        """What the merged tree in that folder changes on the target, where work of others was merged with it; empty
        where the work lands as it is."""
        ...

    def is_changed(self, tree: str) -> bool:
        """Whether a tree with this hash is another than the one the work began with, and than the target's."""
        ...

    def tree(self) -> str:
        """A hash of all files as they were when last looked at, which is after every agent. MachineError where nobody
        can tell."""
        ...

    def look(self) -> str:
        """The same, as they are now."""
        ...

    def is_untouched(self, tree: str) -> bool:
        """Whether a tree with this hash is the very one the work began with."""
        ...

    def is_own_commit(self, commit: str) -> bool:
        """Whether it is the last one of the work, with nothing of others merged into it."""
        ...

    def find_target_move(self) -> str:
        """Says so when somebody else has moved the target since the last look; each move once, whoever asks."""
        ...

    def list_sides(self) -> BranchSides:
        """For who has to bring the work and the target together."""
        ...

    def name_changes(self, before: str, after: str) -> str:
        """The files that differ between two trees, in words."""
        ...

    def put_back(self, tree: str) -> str:
        """Make the files those of this tree again; which were not, in words. What they were is kept in a snapshot."""
        ...

    def begin_review(self) -> None:
        """From now on somebody is only to look. Remembered across lives, until the review is undone."""
        ...

    def undo_review(self) -> tuple[str, ...]:
        """All files and the branch as they were when a review began; nothing where none did. The files that had been
        there and were changed or deleted since."""
        ...

    def set_aside_instructions(self) -> AbstractContextManager[str]:
        """While the block lasts, files that tell agents what to do are as they were when the work began; the diff of
        what is set aside. After it they are what they were before it."""
        ...

    def land(self, verify: Callable[[str], str], trailer: str = "", on_landed: Callable[[str], object] = len) -> Landed:
        """Merge all of it, one task at a time. `verify` gets a folder with the merged tree and says what is wrong with
        it; only where it says nothing does the target move. Who is to stop while waiting for its turn has not landed.
        Landing what has landed does no harm. `trailer` is the last line of the messages of our own commits; `on_landed`
        is told the commit before anybody else's turn."""
        ...


Watcher = Callable[[float, int, Sequence[Event]], object]  # unix time, iteration, events
