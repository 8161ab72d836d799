"""Runs an agent once: files and environment for it, its raw output kept, its events told, its end judged."""

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.outcome import judged
from ralph.core.text.quantities import duration
from ralph.core.text.secrets import hidden_words
from ralph.engine.emit import debug, tell
from ralph.engine.stream import Conversation
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Command
from ralph.model.errors import MachineError
from ralph.model.events import Warned
from ralph.model.loop import Reported
from ralph.model.ports import Agent, Heard, Keep, Mode, Processes, Watcher
from ralph.process.output import BoundedLog, Excerpt

STDERR_HEAD, STDERR_TAIL = 1 << 14, 1 << 16
LINGER = 600.0  # seconds of silence after its closing event: time for what it left running, not a night
LINGERED = "the agent said its last word and did not end"


class Papers(Struct, frozen=True):
    """Where one call's words are kept."""

    stdout: str
    stderr: str  # written only when there is any
    prompt: str  # written only for an agent that reads it from there
    answer: str  # read and deleted, where the agent writes one


def papers_in(folder: str, number: int, prompts: str = "") -> Papers:
    """Those of the so-many-eth call of a run."""
    return Papers(
        stdout=os.path.join(folder, f"agent_{number:03}.log"),
        stderr=os.path.join(folder, f"agent_{number:03}.stderr.log"),
        prompt=os.path.join(prompts or folder, f"prompt_{number:03}.txt"),
        answer=os.path.join(folder, f"answer_{number:03}.txt"),
    )


def calls_in(folder: str) -> int:
    """How many have left papers there: a later life of a run goes on counting."""
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    numbers = (name.removeprefix("agent_").partition(".")[0] for name in names if name.startswith("agent_"))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


class Call(Struct, frozen=True):
    """One question to the agent."""

    prompt: str
    mode: Mode
    papers: Papers
    iteration: int
    budget_usd: float | None = None
    environment: Mapping[str, str] = {}


class Caller:
    """Knows the agent and where it works. Raises RalphError when the agent cannot be asked that way."""

    def __init__(
        self,
        agent: Agent,
        processes: Processes,
        folder: str,
        environment: Mapping[str, str],
        timeout: float | None,
        idle_timeout: float | None,
        keep: Keep | None = None,
    ) -> None:
        self._agent = agent
        self._processes = processes
        self._folder = folder
        self._environment = environment
        self._timeout, self._idle_timeout = timeout, idle_timeout
        self._keep = keep

    def call(self, call: Call, watchers: Sequence[Watcher]) -> Reported | None:
        """What the run was; None when it was cut short by an interruption."""
        if not os.path.isdir(self._folder):
            lost = f"The folder agents work in is gone: {self._folder}. Bring it back first."
            return Reported("unusable", detail=lost)
        papers = call.papers
        invocation = self._agent.invocation(call.prompt, call.mode, call.budget_usd)
        argv = _with_files(invocation.argv, call)
        debug(watchers, call.iteration, f"Agent command: {' '.join(hidden_words(argv))}")
        parser = self._agent.parser(call.mode)
        conversation = Conversation(parser, BoundedLog(papers.stdout), watchers, call.iteration, call.budget_usd)
        errors = Excerpt(STDERR_HEAD, STDERR_TAIL)
        command = Command(
            argv,
            {**self._environment, **invocation.environment, **call.environment},
            self._folder,
            invocation.stdin.encode("utf-8", "surrogateescape"),
            timeout=self._timeout,
            idle_timeout=self._idle_timeout,
            linger=LINGER,
        )
        if self._keep is not None:
            _tell_unkept(self._keep.before(), call, watchers)
        exited = self._processes.run(command, conversation.hear, errors.write)
        conversation.finish()
        if stderr := errors.text():
            _note(papers.stderr, stderr)
        if exited.ending == "stopped":
            return None
        if exited.ending == "lingered":
            silence = duration(min(LINGER, self._idle_timeout or LINGER))
            tell(watchers, call.iteration, Warned(f"{LINGERED}: stopped after {silence} of silence"))
        heard = parser.heard()
        if self._keep is not None and not _changed_nothing(heard):
            _tell_unkept(self._keep.after(call.iteration), call, watchers)
        return judged(_with_answer(heard, papers.answer), exited, stderr)


def _changed_nothing(heard: Heard) -> bool:
    """Whether it spoke to its end and used no tool."""
    return heard.closing in ("success", "error") and not heard.tools


def _tell_unkept(what: str, call: Call, watchers: Sequence[Watcher]) -> None:
    if what:
        tell(watchers, call.iteration, Warned(f"not kept of the work tree: {what}"))


def _with_files(argv: tuple[str, ...], call: Call) -> tuple[str, ...]:
    """Put real paths where the agent asked for files."""
    papers = call.papers
    if any(PROMPT_FILE in word for word in argv):
        _hand_over(papers.prompt, call.prompt)
    return tuple(word.replace(PROMPT_FILE, papers.prompt).replace(ANSWER_FILE, papers.answer) for word in argv)


def _hand_over(path: str, prompt: str) -> None:
    try:
        if not os.path.isdir(folder := os.path.dirname(path)):
            os.mkdir(folder)  # an agent's `git clean` takes ours along; more than that is not ours to make again
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(prompt)
    except OSError as error:
        raise MachineError(f"cannot write the prompt to {path}: {error.strerror}") from error


def _with_answer(heard: Heard, path: str) -> Heard:
    """What the agent wrote into its answer file counts as its text."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
        os.unlink(path)
    except OSError:
        return heard  # it wrote none
    return replace(heard, text=text)


def _note(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        pass  # a full disk costs the log, never the run
