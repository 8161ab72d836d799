"""An agent and processes that answer from a script and remember what reached them: for effects without a child."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.engine.agent_run import AgentRunner
from ralph.model.command import Command, CommandExit, Invocation
from ralph.model.errors import RalphError
from ralph.model.events import AgentEvent
from ralph.model.ports import LineParser, OutputMode, ParsedRun

FINISHED = CommandExit(code=0, seconds=2.5)


class ScriptedProcesses:
    """Implements the port `Processes`: every command ends the same way."""

    def __init__(self, exited: CommandExit = FINISHED) -> None:
        self._exited = exited
        self.commands: list[Command] = []

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        self.commands.append(command)
        return self._exited


class ScriptedAgent:
    """Implements the port `Agent`: its runs amount to what the script says, the last one again and again."""

    reports_cost = True

    def __init__(self, *runs: ParsedRun | RalphError) -> None:
        self._runs = [*runs]
        self.prompts: list[str] = []
        self.budgets: list[float | None] = []

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        if isinstance(self._runs[0], RalphError):
            raise self._runs[0]
        self.prompts.append(prompt)
        self.budgets.append(budget_usd)
        return Invocation(argv=("agent", mode), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        run = self._runs.pop(0) if len(self._runs) > 1 else self._runs[0]
        assert isinstance(run, ParsedRun)
        return _ScriptedParser(run)


class _ScriptedParser:
    def __init__(self, run: ParsedRun) -> None:
        self._run = run

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        return ()

    def summarize_run(self) -> ParsedRun:
        return self._run


def build_scripted_runner(agent: ScriptedAgent, processes: ScriptedProcesses, folder: Path) -> AgentRunner:
    return AgentRunner(
        agent, processes, folder=str(folder), environment={"OF": "agents"}, timeout=None, idle_timeout=None
    )
