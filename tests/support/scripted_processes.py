"""Processes that start nothing, and an agent for them: what is asked is remembered, what is answered is a script."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from ralph.agents.claude import build
from ralph.engine.agent_run import AgentRunner
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Command, CommandExit, Invocation
from ralph.model.errors import RalphError
from ralph.model.events import Event
from ralph.model.ports import AgentOptions, LineParser, OutputMode, TreeKeeper

EXITED = CommandExit(code=0, seconds=1.5)


class Ran(Struct, frozen=True, kw_only=True):
    """What one command does and how it ends."""

    stdout: bytes = b""
    stderr: bytes = b""
    exited: CommandExit = EXITED
    act: Callable[[], object] = int  # while it runs


def say(text: str, cost_usd: float | None = None, exit_code: int = 0) -> Ran:
    """An agent that answers and ends."""
    usage = {"input_tokens": 30, "output_tokens": 4}
    closing = {"type": "result", "subtype": "success", "is_error": False, "result": text, "usage": usage}
    if cost_usd is not None:
        closing["total_cost_usd"] = cost_usd
    return Ran(stdout=json.dumps(closing).encode() + b"\n", exited=CommandExit(code=exit_code, seconds=1.5))


def stopped(by: str) -> Ran:
    return Ran(exited=CommandExit(code=-15, seconds=0.5, ending="stopped", stopped_by=by))


class ScriptedProcesses:
    """Each command gets the next answer; one too many fails the test."""

    def __init__(self, *script: Ran) -> None:
        self._script: Iterator[Ran] = iter(script)
        self.commands: list[Command] = []
        self.answers: list[object] = []  # of who reads their output

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        self.commands.append(command)
        ran = next(self._script)
        ran.act()
        for sink, data in ((on_output, ran.stdout), (on_error, ran.stderr)):
            if data:
                self.answers.append(sink(data))
        return ran.exited


class AskedAgent:
    """An agent that remembers how it was asked. It reads its prompt from a file, and speaks as Claude Code does."""

    reports_cost = True

    def __init__(self, refusal: RalphError | None = None) -> None:
        self.asked: list[tuple[str, OutputMode, float | None]] = []
        self._refusal = refusal

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        if self._refusal:
            raise self._refusal
        self.asked.append((prompt, mode, budget_usd))
        return Invocation(argv=("agent", PROMPT_FILE), environment={"FROM": "its adapter"})

    def parser(self, mode: OutputMode) -> LineParser:
        return build(AgentOptions(command=("claude",))).parser(mode)


class AnsweringAgent(AskedAgent):
    """One that reads its prompt on stdin, wants a file with settings, and is told where to write its answer."""

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        super().invocation(prompt, mode, budget_usd)
        return Invocation(argv=("agent", ANSWER_FILE, "{settings}"), stdin=prompt, files={"{settings}": "its settings"})


def make_runner(
    agent: AskedAgent,
    processes: ScriptedProcesses,
    folder: object,
    *,
    environment: Mapping[str, str] | None = None,
    keep: TreeKeeper | None = None,
    adapter: str = "",
) -> AgentRunner:
    """Its two time limits differ, so that nobody takes one for the other."""
    return AgentRunner(
        agent,
        processes,
        folder=str(folder),
        environment=environment or {},
        timeout=60.0,
        idle_timeout=7.0,
        keep=keep,
        adapter=adapter,
    )


class Listener:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Event]] = []

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        self.told += [(iteration, event) for event in events]

    def of(self, *kinds: type[Event]) -> list[tuple[int, Event]]:
        return [(iteration, event) for iteration, event in self.told if isinstance(event, kinds)]
