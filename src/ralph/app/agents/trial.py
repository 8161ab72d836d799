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

from ralph.agents._script import Run
from ralph.app import registry, wiring
from ralph.app.agents.catalog import ANY, traits_of
from ralph.config.schema import AgentSettings
from ralph.core.environment import elsewhere
from ralph.devtools.server import ModelServer
from ralph.engine.agent_run import Call, Caller, Papers
from ralph.engine.inbox import SignalInbox
from ralph.model.agent_card import Pointing, Traits
from ralph.model.command import Command, Exited
from ralph.model.events import AgentEvent, Event
from ralph.model.loop import Reported
from ralph.model.ports import Mode
from ralph.process.supervisor import Supervisor

TIMEOUT = 120.0
STOP_GRACE = 5.0
KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR")
XDG = ("CONFIG", "DATA", "CACHE", "STATE")


class Subject(Struct, frozen=True):
    """The CLI on trial."""

    crew: wiring.Crew
    adapter: ModuleType

    @property
    def traits(self) -> Traits:
        """What its adapter says of it."""
        return traits_of(self.crew.adapter, self.adapter)

    @property
    def is_free(self) -> bool:
        """Whether it can be tried without asking a real model."""
        return hasattr(self.adapter, "pointed_at")


class Trial(Struct, frozen=True):
    """One run and what came of it."""

    reported: Reported | None  # None: it was stopped
    events: tuple[AgentEvent, ...]
    exited: Exited
    asked: str  # what the model was asked, as JSON
    folder: str

    @property
    def outcome(self) -> str:
        """In one word."""
        return self.reported.outcome if self.reported else "stopped"


def subject(command: str, adapter: str | None, folder: str, variables: Mapping[str, str]) -> Subject:
    """An agent's name, or a command."""
    crew = wiring.recruited(AgentSettings(command=command, adapter=adapter), folder, variables)
    return Subject(crew, registry.load("agents", crew.adapter))


class _Recorder:
    """Processes that remember how the last one ended."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self.exited = Exited(0, 0.0)

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> Exited:
        """As the supervisor."""
        self.exited = self._supervisor.run(command, on_output, on_error)
        return self.exited


class _Stopper:
    """An inbox that also wants the step to end once a file is there."""

    def __init__(self, inbox: SignalInbox) -> None:
        self._inbox = inbox
        self.at = ""
        self.fileno, self.wait, self.close = inbox.fileno, inbox.wait, inbox.close

    def by_user(self) -> str:
        """Who sent a signal."""
        return self._inbox.interruption()

    def interruption(self) -> str:
        """The user's, or ours."""
        return self.by_user() or ("the kit" if self._is_there() else "")

    def stop_now(self) -> float | None:
        """The same, with time to clean up. A first Ctrl-C is enough: there is no step worth finishing."""
        return STOP_GRACE if self.interruption() else None

    def _is_there(self) -> bool:
        return bool(self.at) and os.path.exists(self.at)


class Laboratory:
    """Runs a CLI in a scratch folder, with a home of its own where the model is ours."""

    def __init__(
        self, tried: Subject, variables: Mapping[str, str], scratch: str, processes: _Recorder, stopper: _Stopper
    ) -> None:
        self._tried = tried
        self._variables = variables
        self._scratch = scratch
        self._processes = processes
        self._stopper = stopper
        self._trials = 0

    def version(self) -> str:
        """As it tells itself."""
        words = (*self._tried.crew.words, "--version")
        if self._tried.crew.adapter == ANY:  # which may be anything, and do anything when asked
            return ""
        return wiring.version_of(words, self._scratch, self._variables, self._processes)

    def tried(self, prompt: str, steps: Sequence[dict[str, Any]], mode: Mode = "stream", stop_at: str = "") -> Trial:
        """One run, in a folder of its own."""
        self._trials += 1
        place = os.path.join(self._scratch, str(self._trials))
        home, work = os.path.join(place, "home"), os.path.join(place, "work")
        os.makedirs(home)
        os.makedirs(work)
        self._stopper.at = os.path.join(work, stop_at) if stop_at else ""
        if not self._tried.is_free:
            return self._run(prompt, mode, place, Pointing(), elsewhere(self._variables), [])
        requests: list[Mapping[str, object]] = []
        server = ModelServer([Run(list(steps))], log=requests.append)
        server.start()
        try:
            pointing: Pointing = self._tried.adapter.pointed_at(server.url, home)
            _write(home, pointing.files)
            return self._run(prompt, mode, place, pointing, self._bare(home, pointing), requests)
        finally:
            server.close()

    def _run(
        self,
        prompt: str,
        mode: Mode,
        place: str,
        pointing: Pointing,
        environment: dict[str, str],
        requests: Sequence[Mapping[str, object]],
    ) -> Trial:
        work = os.path.join(place, "work")
        crew = replace(self._tried.crew, flags=pointing.flags)
        made = wiring.agent(crew, work, environment, self._processes)
        events: list[Event] = []
        caller = Caller(made, self._processes, work, environment, TIMEOUT, None)
        papers = Papers(*(os.path.join(place, name) for name in ("stdout", "stderr", "prompt", "answer")))
        reported = caller.call(Call(prompt, mode, papers, 1), [lambda at, number, told: events.extend(told)])
        if self._stopper.by_user():
            raise KeyboardInterrupt
        of_agent = tuple(event for event in events if isinstance(event, AgentEvent))
        asked = msgspec.json.encode([request["body"] for request in requests if request.get("tools")]).decode()
        return Trial(reported, of_agent, self._processes.exited, asked, work)

    def _bare(self, home: str, pointing: Pointing) -> dict[str, str]:
        """Nothing of the user's own: no key, no settings, no address can slip in."""
        kept = {name: self._variables[name] for name in KEPT if name in self._variables}
        own = {f"XDG_{kind}_HOME": os.path.join(home, kind.lower()) for kind in XDG}
        return {**kept, **own, "HOME": home, **pointing.environment}


@contextmanager
def laboratory(tried: Subject, variables: Mapping[str, str]) -> Iterator[Laboratory]:
    """For as long as the block lasts; nothing of it stays."""
    scratch = tempfile.mkdtemp(prefix="ralph-check-")
    inbox = SignalInbox(lambda: False, int)
    stopper = _Stopper(inbox)
    supervisor = Supervisor(stopper)
    try:
        yield Laboratory(tried, variables, scratch, _Recorder(supervisor), stopper)
    finally:
        supervisor.close()
        inbox.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _write(home: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
