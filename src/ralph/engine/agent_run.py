"""Runs an agent once: files and environment for it, its raw output kept, its events told, its end judged."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.outcome import classify_run
from ralph.core.text.quantities import format_duration
from ralph.core.text.raw_secrets import find_secret_spans, list_raw_secrets
from ralph.core.text.secrets import list_secret_values, redact, redact_argv, redact_values
from ralph.core.text.write_error import DISK_ERRORS, explain_write_error
from ralph.engine.emit import emit, emit_debug
from ralph.engine.stream import OutputStream
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Command, CommandExit, Invocation
from ralph.model.errors import ConfigError, DiskError, MachineError, RalphError
from ralph.model.events import NO_USAGE, Usage, Warned
from ralph.model.loop import Interrupted, Reported, SnapshotTaken
from ralph.model.ports import Agent, ChangeWatch, OutputMode, ParsedRun, Processes, TreeKeeper, Watcher
from ralph.process.atomic_file import open_regular_file, open_without_links
from ralph.process.output import BoundedLog, Excerpt

STDERR_HEAD_BYTES, STDERR_TAIL_BYTES = 1 << 14, 1 << 16
MAX_LINGER_SECONDS = 600.0  # seconds of silence after its closing event: time for what it left running, not a night
NOTE_NAME, QUESTION_NOTE_SUFFIX = "call.json", ".question.json"
LINGERED_WARNING = "the agent gave its final answer but did not exit"


class CallFiles(Struct, frozen=True, kw_only=True):
    """Where what one call reads and prints is kept."""

    stdout: str
    stderr: str  # written only when there is any
    prompt: str  # written only for an agent that reads it from there
    answer: str  # read and deleted, where the agent writes one
    is_question: bool = False  # beside the loop's own agents

    @property
    def note(self) -> str:
        """Tells a later life of the run how to read the others. Of several questions, each has its own."""
        if self.is_question:
            return os.path.splitext(self.stdout)[0] + QUESTION_NOTE_SUFFIX
        return os.path.join(os.path.dirname(self.stdout), NOTE_NAME)

    def as_question(self) -> Self:
        return replace(self, is_question=True)

    @classmethod
    def in_dir(cls, folder: str, *, stdout: str, stderr: str, prompt: str, answer: str) -> Self:
        """By their names in that folder; a prompt that is elsewhere has a path of its own."""
        names = {"stdout": stdout, "stderr": stderr, "prompt": prompt, "answer": answer}
        paths = {kind: os.path.join(folder, name) for kind, name in names.items()}
        return cls(stdout=paths["stdout"], stderr=paths["stderr"], prompt=paths["prompt"], answer=paths["answer"])

    @classmethod
    def of_call(cls, folder: str, number: int, prompt_folder: str = "") -> Self:
        """Those of a run's so-many-eth call."""
        return cls.in_dir(
            folder,
            stdout=f"agent_{number:03}.log",
            stderr=f"agent_{number:03}.stderr.log",
            prompt=os.path.join(prompt_folder, f"prompt_{number:03}.txt"),
            answer=f"answer_{number:03}.txt",
        )


def count_calls(folder: str) -> int:
    """How many have left files there: a later life of a run goes on counting."""
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    numbers = (name.removeprefix("agent_").partition(".")[0] for name in names if name.startswith("agent_"))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


class CallNote(Struct, frozen=True, kw_only=True):
    """What was started last: who finds its log and no report on record can make one of it."""

    adapter: str
    mode: OutputMode
    stdout: str  # the name of its log, beside the note
    started_at: float  # unix time


class AgentRequest(Struct, frozen=True, kw_only=True):
    """One question to the agent."""

    prompt: str
    mode: OutputMode
    files: CallFiles
    iteration: int
    budget_usd: float | None = None
    environment: Mapping[str, str] = {}
    pausable: bool = False  # it works for the loop, and is asked again after a pause


class AgentRunner:
    """Knows the agent and where it works."""

    def __init__(
        self,
        agent: Agent,
        processes: Processes,
        *,
        folder: str,
        environment: Mapping[str, str],
        timeout: float | None,
        idle_timeout: float | None,
        keep: TreeKeeper | None = None,
        watch: ChangeWatch | None = None,
        adapter: str = "",
        model: str = "",
        allowed: Sequence[str] = (),
        estimate: Callable[[Usage], float | None] | None = None,
        substitutes: Mapping[str, Callable[[], "AgentRunner"]] | None = None,
    ) -> None:
        """`adapter` and `model` are for the record; `allowed`: the commands it may run, for words about those it may
        not; `substitutes` are made when they are needed."""
        self._model, self._estimate = model, estimate
        self._substitutes = substitutes or {}
        self._made: dict[str, AgentRunner] = {}
        self._agent = agent
        self._processes = processes
        self._folder = folder
        self._environment = environment
        self.timeout, self.idle_timeout = timeout, idle_timeout
        self._tree_keeper, self._watch = keep, watch
        self._toolless_runs = 0  # in a row
        self._was_started = False  # the last one; who wants us to stop may come before it
        self._adapter, self._allowed = adapter, allowed

    @property
    def reports_cost(self) -> bool:
        return self._agent.reports_cost

    def call(
        self, build_request: Callable[[], AgentRequest], watchers: Sequence[Watcher], agent: str = ""
    ) -> Reported | Interrupted:
        """The agent run as a fact. One that cannot be asked is unusable; so is one whose request cannot be built.
        `agent`: another one than the first."""
        try:
            runner = self._find_runner(agent)
            reported = runner.run(build_request(), watchers)
            self._was_started = runner._was_started
            return reported
        except RalphError as error:
            detail = f"{error.message}. {error.hint}".strip()
            return Reported(outcome="unusable", detail=detail, lasting=isinstance(error, ConfigError))

    def _find_runner(self, agent: str) -> "AgentRunner":
        if agent in self._substitutes and agent not in self._made:
            self._made[agent] = self._substitutes[agent]()
        return self._made.get(agent, self)

    def run(self, request: AgentRequest, watchers: Sequence[Watcher]) -> Reported | Interrupted:
        """What the run was. Raises RalphError when the agent cannot be asked that way."""
        if not os.path.isdir(self._folder):
            lost = f"The folder agents work in is gone: {self._folder}. Restore it first."
            return Reported(outcome="unusable", detail=lost)
        files = request.files
        invocation = self._agent.invocation(request.prompt, request.mode, request.budget_usd)
        command = self._build_command(invocation, request)
        emit_debug(watchers, request.iteration, f"Agent command: {' '.join(redact_argv(command.argv))}")
        parser = self._agent.parser(request.mode)
        log = BoundedLog(files.stdout)
        output = OutputStream(
            parser,
            log,
            watchers=watchers,
            iteration=request.iteration,
            budget_usd=request.budget_usd,
            estimate=self._estimate,
        )
        errors = Excerpt(STDERR_HEAD_BYTES, STDERR_TAIL_BYTES)
        if self._tree_keeper is not None:
            _warn_unsaved(self._tree_keeper.save_initial_tree(), request.iteration, watchers)
        self._write_note(request)
        exited = self._processes.run(replace(command, log_fd=log.fileno()), output.feed, errors.write)
        self._was_started = exited.seconds > 0
        output.finish(partial(find_secret_spans, values=list_raw_secrets(command.environment)))
        if self._watch is not None:
            emit(watchers, request.iteration, *map(Warned, self._watch.find_changes()))
        if stderr := errors.text():
            _write_log(files.stderr, redact(redact_values(stderr, list_secret_values(command.environment))))
        if exited.ending == "stopped":
            return self._describe_interruption(request, exited, parser.summarize_run())
        if exited.ending == "lingered":
            silence = format_duration(min(MAX_LINGER_SECONDS, self.idle_timeout or MAX_LINGER_SECONDS))
            emit(watchers, request.iteration, Warned(f"{LINGERED_WARNING}: stopped after {silence} of silence"))
        parsed = parser.summarize_run()
        if any(ANSWER_FILE in word for word in invocation.argv):  # who was not asked for one speaks on stdout
            parsed = _read_answer_file(parsed, files.answer)
        reported = classify_run(parsed, exited, stderr, time.time(), allowed=self._allowed)
        reported = replace(
            reported,
            agent=self._adapter,
            model=self._model,
            tool_error=output.find_repeated_error(),
            estimated_usd=self._estimate_cost(reported),
        )
        return self._describe_tree(reported, parsed)

    def _build_command(self, invocation: Invocation, request: AgentRequest) -> Command:
        reads, writes = _list_call_files(invocation, request)
        return Command(
            argv=_fill_in_paths(invocation, request),
            environment={**invocation.environment, **self._environment, **request.environment},
            cwd=self._folder,
            stdin=invocation.stdin.encode("utf-8", "surrogateescape"),
            timeout=self.timeout,
            idle_timeout=self.idle_timeout,
            linger=MAX_LINGER_SECONDS,
            reads=reads,
            writes=writes,
            pausable=request.pausable,
        )

    def _describe_tree(self, reported: Reported, parsed: ParsedRun) -> Reported:
        """Whether the work tree is still to be looked at; if not, what it is known to be."""
        may_have_changed = reported.outcome == "refused" or not _has_changed_nothing(parsed)
        # What an agent tells of tools is believed once; whether files change decides about more than a snapshot.
        self._toolless_runs = self._toolless_runs + 1 if _has_changed_nothing(parsed) else 0
        if self._tree_keeper is not None and (may_have_changed or self._toolless_runs > 1):
            return replace(reported, unseen=True)
        if self._tree_keeper is None:
            return reported
        return replace(reported, tree=self._tree_keeper.get_tree_sign(), head=self._tree_keeper.get_work_head())

    def _describe_interruption(self, request: AgentRequest, exited: CommandExit, parsed: ParsedRun) -> Interrupted:
        """With its cost, where it had said its last word and did not end."""
        usage = parsed.usage if parsed.cost_usd is not None else NO_USAGE
        is_paused = request.pausable and not exited.stopped_by
        return Interrupted(exited.stopped_by, cost_usd=parsed.cost_usd, usage=usage, paused=is_paused)

    def _write_note(self, request: AgentRequest) -> None:
        files = request.files
        if self._adapter:
            name = os.path.basename(files.stdout)
            note = CallNote(adapter=self._adapter, mode=request.mode, stdout=name, started_at=time.time())
            try:
                with open_without_links(files.note) as file:
                    file.write(msgspec.json.encode(note).decode())
            except OSError as error:  # nobody pays for an answer that could get lost
                raise explain_write_error(files.note, error) from error

    def _estimate_cost(self, reported: Reported) -> float | None:
        return None if reported.cost_usd is not None or self._estimate is None else self._estimate(reported.usage)

    def take_snapshot(self, iteration: int, watchers: Sequence[Watcher]) -> SnapshotTaken:
        """Look at what the last agent left, and keep it; for after its report is on record."""
        if self._tree_keeper is None:
            return SnapshotTaken()
        _warn_unsaved(self._tree_keeper.save_tree_after(iteration), iteration, watchers)
        return SnapshotTaken(tree=self._tree_keeper.get_tree_sign(), head=self._tree_keeper.get_work_head())

    def save_cut_off_work(self, iteration: int, watchers: Sequence[Watcher]) -> None:
        """Keep what an agent left that was stopped at once; nothing where it was not even started."""
        if self._tree_keeper is not None and self._was_started:
            _warn_unsaved(self._tree_keeper.save_cut_off_tree(iteration), iteration, watchers)


def _has_changed_nothing(parsed: ParsedRun) -> bool:
    """Whether it spoke to its end and used no tool."""
    return parsed.closing in ("success", "error") and not parsed.tools


def _warn_unsaved(what: str, iteration: int, watchers: Sequence[Watcher]) -> None:
    if what:
        emit(watchers, iteration, Warned(f"not kept of the work tree: {what}"))


def _fill_in_paths(invocation: Invocation, request: AgentRequest) -> tuple[str, ...]:
    """Put real paths where the agent asked for files."""
    files, argv = request.files, invocation.argv
    if any(PROMPT_FILE in word for word in argv):
        _write_prompt_file(files.prompt, request.prompt)
    for mark, text in invocation.files.items():
        path = _locate_call_file(mark, request)
        _write_prompt_file(path, text)
        argv = tuple(path if word == mark else word for word in argv)
    return tuple(word.replace(PROMPT_FILE, files.prompt).replace(ANSWER_FILE, files.answer) for word in argv)


def _list_call_files(invocation: Invocation, request: AgentRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What it reads and what it writes besides its work tree."""
    prompts = (request.files.prompt,) if any(PROMPT_FILE in word for word in invocation.argv) else ()
    reads = (*prompts, *(_locate_call_file(mark, request) for mark in invocation.files))
    return reads, (request.files.answer,) if any(ANSWER_FILE in word for word in invocation.argv) else ()


def _locate_call_file(mark: str, request: AgentRequest) -> str:
    """Beside its log, not in the work tree."""
    return f"{os.path.splitext(request.files.stdout)[0]}_{mark.strip('{}')}"


def _write_prompt_file(path: str, prompt: str) -> None:
    try:
        if not os.path.isdir(folder := os.path.dirname(path)):
            os.mkdir(folder)  # an agent's `git clean` takes ours along; more than that is not ours to make again
        with open_without_links(path, errors="surrogateescape") as file:
            file.write(prompt)
    except OSError as error:
        kind = DiskError if error.errno in DISK_ERRORS else MachineError
        raise kind(f"cannot write the prompt to {path}: {error.strerror}") from error


def _read_answer_file(parsed: ParsedRun, path: str) -> ParsedRun:
    """What the agent wrote into its answer file counts as its text."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=open_regular_file) as file:
            text = file.read(1 << 20)
        os.unlink(path)
    except OSError:
        return parsed  # it wrote none
    return replace(parsed, text=text) if text else parsed


def _write_log(path: str, text: str) -> None:
    try:
        with open_without_links(path) as file:
            file.write(text)
    except OSError:
        pass  # a full disk costs the log, never the run
