"""A scratch place to try an agent CLI in: a home of its own, our model, nothing of the user's."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._script import ScriptRun
from ralph.app import registry, wiring
from ralph.app.agent_command import AgentCommand, resolve_agent
from ralph.app.agents.catalog import COMMAND_ADAPTER
from ralph.config.schema import AgentSettings
from ralph.core.environment import without_git_vars
from ralph.devtools.server import ModelServer
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles
from ralph.engine.inbox import SignalInbox
from ralph.model.agent_card import AgentCard, EndpointConfig
from ralph.model.command import Command, CommandExit
from ralph.model.events import AgentEvent, Event
from ralph.model.loop import Interrupted, Reported
from ralph.model.ports import OutputMode
from ralph.process.supervisor import Supervisor

TRIAL_TIMEOUT_SECONDS = 180.0  # Qwen tells of an overload after 80 to 100
TRIAL_STOP_GRACE_SECONDS = 5.0
KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
XDG_KINDS = ("CONFIG", "DATA", "CACHE", "STATE")


class AgentUnderTest(Struct, frozen=True):
    """The CLI on trial."""

    command: AgentCommand
    adapter: ModuleType

    @property
    def card(self) -> AgentCard:
        return registry.load_agent_card(self.command.adapter)

    @property
    def is_free(self) -> bool:
        """Whether it can be tried without asking a real model."""
        return hasattr(self.adapter, "configure_endpoint")


class TrialResult(Struct, frozen=True, kw_only=True):
    """One run and what came of it."""

    reported: Reported | None  # None: it was stopped
    events: tuple[AgentEvent, ...]
    exited: CommandExit
    model_requests: str  # what the model was asked, as JSON
    folder: str

    @property
    def outcome(self) -> str:
        return self.reported.outcome if self.reported else "stopped"


def resolve_agent_under_test(
    command: str, adapter: str | None, folder: str, variables: Mapping[str, str]
) -> AgentUnderTest:
    """An agent's name, or a command."""
    resolved = resolve_agent(AgentSettings(command=command, adapter=adapter), folder, variables)
    return AgentUnderTest(resolved, registry.load_extension("agents", resolved.adapter))


class _RecordingProcesses:
    """Processes that remember how the last one ended."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self.exited = CommandExit(code=0, seconds=0.0)

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        self.exited = self._supervisor.run(command, on_output, on_error)
        return self.exited


class _StopWhenFileExists:
    """An inbox that also wants the step to end once a file is there."""

    def __init__(self, inbox: SignalInbox) -> None:
        self._inbox = inbox
        self.stop_file = ""
        self.fileno, self.wait, self.close = inbox.fileno, inbox.wait, inbox.close

    def user_interruption(self) -> str:
        return self._inbox.poll_interruption()

    def poll_interruption(self) -> str:
        return self.user_interruption() or ("the kit" if self._is_file_there() else "")

    def poll_stop_grace(self) -> float | None:
        """The same, with time to clean up. A first Ctrl-C is enough: there is no step worth finishing."""
        return TRIAL_STOP_GRACE_SECONDS if self.poll_interruption() else None

    def _is_file_there(self) -> bool:
        return bool(self.stop_file) and os.path.exists(self.stop_file)


class TrialEnvironment:
    """Runs a CLI in a scratch folder, with a home of its own where the model is ours."""

    def __init__(
        self,
        tried: AgentUnderTest,
        variables: Mapping[str, str],
        *,
        scratch: str,
        processes: _RecordingProcesses,
        stopper: _StopWhenFileExists,
    ) -> None:
        self._agent = tried
        self._variables = variables
        self._scratch = scratch
        self._processes = processes
        self._stopper = stopper
        self._trial_count = 0

    def read_version(self) -> str:
        words = (*self._agent.command.argv, "--version")
        if self._agent.command.adapter == COMMAND_ADAPTER:  # which may be anything, and do anything when asked
            return ""
        return wiring.read_version(words, self._scratch, self._variables, self._processes)

    def run_trial(
        self, prompt: str, steps: Sequence[dict[str, Any]], mode: OutputMode = "stream", stop_at: str = ""
    ) -> TrialResult:
        """One run, in a folder of its own."""
        self._trial_count += 1
        place = os.path.join(self._scratch, str(self._trial_count))
        home, work = os.path.join(place, "home"), os.path.join(place, "work")
        for folder in (home, work, os.path.join(place, "tmp")):
            os.makedirs(folder)
        self._stopper.stop_file = os.path.join(work, stop_at) if stop_at else ""
        if not self._agent.is_free:
            return self._run(
                prompt,
                mode,
                place=place,
                endpoint=EndpointConfig(),
                environment=without_git_vars(self._variables),
                requests=[],
            )
        requests: list[Mapping[str, object]] = []
        server = ModelServer([ScriptRun(list(steps))], log=requests.append)
        server.start()
        try:
            endpoint: EndpointConfig = self._agent.adapter.configure_endpoint(server.url, home)
            _write_files(home, endpoint.files)
            return self._run(
                prompt,
                mode,
                place=place,
                endpoint=endpoint,
                environment=self._isolated_variables(home, endpoint),
                requests=requests,
            )
        finally:
            server.close()

    def _run(
        self,
        prompt: str,
        mode: OutputMode,
        *,
        place: str,
        endpoint: EndpointConfig,
        environment: dict[str, str],
        requests: Sequence[Mapping[str, object]],
    ) -> TrialResult:
        work = os.path.join(place, "work")
        agent_command = replace(self._agent.command, flags=endpoint.flags)
        made = wiring.prepare_agent(agent_command, work, environment, self._processes)
        events: list[Event] = []
        caller = AgentRunner(
            made.agent,
            self._processes,
            folder=work,
            environment=environment,
            timeout=TRIAL_TIMEOUT_SECONDS,
            idle_timeout=None,
        )
        files = CallFiles.in_dir(place, stdout="stdout", stderr="stderr", prompt="prompt", answer="answer")
        reported = caller.run(
            AgentRequest(prompt=prompt, mode=mode, files=files, iteration=1),
            [lambda at, number, new: events.extend(new)],
        )
        if self._stopper.user_interruption():
            raise KeyboardInterrupt
        of_agent = tuple(event for event in events if isinstance(event, AgentEvent))
        asked = msgspec.json.encode([request["body"] for request in requests if request.get("tools")]).decode()
        return TrialResult(
            reported=None if isinstance(reported, Interrupted) else reported,
            events=of_agent,
            exited=self._processes.exited,
            model_requests=asked,
            folder=work,
        )

    def _isolated_variables(self, home: str, endpoint: EndpointConfig) -> dict[str, str]:
        """Nothing of the user's own: no key, no settings, no address can slip in."""
        kept = {name: self._variables[name] for name in KEPT_VARIABLES if name in self._variables}
        own = {f"XDG_{kind}_HOME": os.path.join(home, kind.lower()) for kind in XDG_KINDS}
        # Beside the home: Codex puts no helper programs below its temporary folder, and then runs no command.
        temporary = os.path.join(os.path.dirname(home), "tmp")
        return {**kept, **own, "HOME": home, "TMPDIR": temporary, **endpoint.environment}


@contextmanager
def open_trial_environment(tried: AgentUnderTest, variables: Mapping[str, str]) -> Iterator[TrialEnvironment]:
    """For as long as the block lasts; nothing of it stays."""
    scratch = tempfile.mkdtemp(prefix="ralph-check-")
    inbox = SignalInbox(lambda: False, int)
    stopper = _StopWhenFileExists(inbox)
    supervisor = Supervisor(stopper)
    try:
        yield TrialEnvironment(
            tried, variables, scratch=scratch, processes=_RecordingProcesses(supervisor), stopper=stopper
        )
    finally:
        supervisor.close()
        inbox.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _write_files(home: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
