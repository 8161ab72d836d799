"""Use case: try an installed agent CLI on everything the loop relies on, and tell what was found."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._script import Run
from ralph.app import registry, wiring
from ralph.app.agents import traits_of
from ralph.config.schema import AgentSettings
from ralph.devtools.server import ModelServer
from ralph.engine.caller import Call, Caller, Papers
from ralph.engine.inbox import SignalInbox
from ralph.model.agent_card import Pointing, Traits
from ralph.model.command import Command, Exited
from ralph.model.events import AgentEvent, Event, Noted, Said, ToolEnded, ToolStarted, Unparsed
from ralph.model.loop import Reported
from ralph.model.ports import Mode
from ralph.process.supervisor import Supervisor

Verdict = Literal["yes", "no", "wrong", "unverified"]  # no: and its adapter does not say so either
TIMEOUT = 120.0
STOP_GRACE = 5.0
LONG = 200 << 10
DONE = "<response>DONE</response>"
SMALL = f"This is a test of the line. Reply with exactly this and nothing else:\n{DONE}"
KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR")
XDG = ("CONFIG", "DATA", "CACHE", "STATE")
SESSION = ("session: ", "thread: ")
BY_SCRIPT, BY_PROMPT = "with the scripted model", "by one small real prompt"
# What no scripted model can show, for any agent.
BEYOND = "its prices, its login, its own way to resume, and what its real model makes of all this"


class Mark(Struct, frozen=True):
    """One thing that was looked at."""

    topic: str
    verdict: Verdict
    detail: str = ""


class Card(Struct, frozen=True):
    """All that was found."""

    name: str
    title: str
    path: str
    version: str
    how: str
    marks: tuple[Mark, ...]

    @property
    def conforms(self) -> bool:
        """Nothing is wrong."""
        return all(mark.verdict != "wrong" for mark in self.marks)


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


def examined(tried: Subject, variables: Mapping[str, str], on_trial: Callable[[str], object] = len) -> Card:
    """Every trial; `on_trial` is told what is tried next. Where it costs money, the caller has asked before."""
    with _laboratory(tried, variables) as laboratory:
        version = laboratory.version()
        marks = (_by_script if tried.is_free else _by_prompt)(tried, laboratory, on_trial)
        how = BY_SCRIPT if tried.is_free else BY_PROMPT
        return Card(tried.crew.adapter, tried.traits.title, tried.crew.words[0], version, how, tuple(marks))


# -- what is tried ---------------------------------------------------------------------------------
def _by_script(tried: Subject, laboratory: "Laboratory", on_trial: Callable[[str], object]) -> Iterator[Mark]:
    on_trial("a day's work")
    yield from _work(tried.traits, laboratory)
    on_trial("text mode, with a long prompt")
    yield from _text_mode(laboratory)
    on_trial("trouble with the service")
    yield _exit_codes(laboratory)
    yield from _trouble(laboratory)
    on_trial("being stopped in the middle of a tool")
    yield _stopped(laboratory)
    yield Mark("beyond this kit", "unverified", BEYOND)


def _work(traits: Traits, laboratory: "Laboratory") -> Iterator[Mark]:
    trial = laboratory.tried(
        "Do your work.",
        [
            {"say": "Writing."},
            {"write": {"path": "made.txt", "content": "made\n"}},
            {"bash": "echo heard; exit 3"},
            {"say": f"Done.\n\n{DONE}"},
        ],
    )
    yield _completion(trial)
    yield from _told(traits, trial)
    yield _tools(trial)


def _completion(trial: Trial) -> Mark:
    claimed = trial.outcome == "finished" and trial.reported is not None and trial.reported.text.endswith(DONE)
    return Mark("completion", "yes" if claimed else "wrong", f"{_ended(trial)} Exit code {trial.exited.code}.")


def _told(traits: Traits, trial: Trial) -> Iterator[Mark]:
    """What its events tell, held against what its adapter says they do."""
    said = sum(isinstance(event, Said) for event in trial.events)
    sessions = [event.text for event in trial.events if isinstance(event, Noted) and event.text.startswith(SESSION)]
    tokens = trial.reported.usage.input_tokens + trial.reported.usage.output_tokens if trial.reported else 0
    cost = trial.reported.cost_usd if trial.reported else None
    yield _promised("streaming", traits.streaming, said > 0, f"{len(trial.events)} events")
    yield _promised("session", traits.session, bool(sessions), sessions[0] if sessions else "")
    yield _promised("tokens", traits.tokens, tokens > 0, f"{tokens}")
    yield _promised("cost", traits.cost, cost is not None and cost > 0, f"${cost or 0:.4f}")
    if traits.streaming:
        yield _unknown_events(trial)


def _promised(topic: str, promised: bool, found: bool, detail: str) -> Mark:
    if found:
        return Mark(topic, "yes", detail)
    return Mark(topic, "wrong", "its adapter says so, but nothing was told") if promised else Mark(topic, "no")


def _tools(trial: Trial) -> Mark:
    started = [event.name for event in trial.events if isinstance(event, ToolStarted)]
    outputs = [f"{event.output}{event.error or ''}" for event in trial.events if isinstance(event, ToolEnded)]
    made = os.path.exists(os.path.join(trial.folder, "made.txt"))
    if made and len(started) >= 2 and any("heard" in output for output in outputs):
        return Mark("tools", "yes", ", ".join(started))
    told = f"told {', '.join(started) or 'no tool'}; the file was {'' if made else 'not '}made"
    return Mark("tools", "wrong", told)


def _unknown_events(trial: Trial) -> Mark:
    kinds = [event.kind or event.sample[:40] for event in trial.events if isinstance(event, Unparsed)]
    if not kinds:
        return Mark("known events", "yes", "every line was understood")
    return Mark("known events", "wrong", f"{len(kinds)} not understood: {', '.join(dict.fromkeys(kinds))}")


def _text_mode(laboratory: "Laboratory") -> Iterator[Mark]:
    prompt = "word " * (LONG // 5) + "\nthe very end"
    trial = laboratory.tried(prompt, [{"say": f"Read.\n\n{DONE}"}], mode="text")
    right = trial.outcome == "finished" and trial.reported is not None and DONE in trial.reported.text
    yield Mark("text mode", "yes" if right else "wrong", "" if right else _ended(trial))
    whole = trial.asked.count("word ") >= LONG // 5 and "the very end" in trial.asked
    arrived: Verdict = "yes" if whole else "wrong"
    yield Mark("long prompt", arrived, f"{LONG >> 10} KiB {'arrived' if whole else 'did not arrive whole'}")


def _exit_codes(laboratory: "Laboratory") -> Mark:
    trial = laboratory.tried("Try.", [{"error": {"status": 401, "message": "invalid x-api-key"}}])
    return _expected("exit codes", trial, "unusable", "{code} for a key that is not accepted")


def _trouble(laboratory: "Laboratory") -> Iterator[Mark]:
    down = {"error": {"status": 500, "message": "Internal server error", "retry_after": 0.1}}
    yield _expected("overload", laboratory.tried("Try.", [down]), "overloaded", "exit code {code}")
    yield _expected("empty answer", laboratory.tried("Try.", [{"empty": True}]), "empty", "exit code {code}")


def _stopped(laboratory: "Laboratory") -> Mark:
    up = "touch up; sleep 600"
    trial = laboratory.tried("Wait.", [{"bash": up}, {"say": DONE}], stop_at="up")
    if trial.reported is not None:
        return Mark("signals", "wrong", f"its tool never ran: {_ended(trial)}")
    return Mark("signals", "yes", f"stopped in a tool, exit code {trial.exited.code}, and nothing was left")


def _expected(topic: str, trial: Trial, outcome: str, detail: str) -> Mark:
    if trial.outcome == outcome:
        return Mark(topic, "yes", detail.format(code=trial.exited.code))
    return Mark(topic, "wrong", f"expected {outcome!r}: {_ended(trial)}")


def _ended(trial: Trial) -> str:
    return f"{trial.outcome}. {trial.reported.detail}" if trial.reported else "it was stopped"


def _by_prompt(tried: Subject, laboratory: "Laboratory", on_trial: Callable[[str], object]) -> Iterator[Mark]:
    on_trial("one small real prompt")
    trial = laboratory.tried(SMALL, ())
    yield _completion(trial)
    yield from _told(tried.traits, trial)
    for topic in ("tools", "text mode", "long prompt", "exit codes", "overload", "empty answer", "signals"):
        yield Mark(topic, "unverified", "it cannot be pointed at the scripted model")


# -- how it is tried -------------------------------------------------------------------------------
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

    def interruption(self) -> str:
        """The user's, or ours."""
        return self._inbox.interruption() or ("the kit" if self._is_there() else "")

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
        return wiring.version_of(words, self._scratch, self._variables, self._processes) if self._tried.is_free else ""

    def tried(self, prompt: str, steps: Sequence[dict[str, Any]], mode: Mode = "stream", stop_at: str = "") -> Trial:
        """One run, in a folder of its own."""
        self._trials += 1
        place = os.path.join(self._scratch, str(self._trials))
        home, work = os.path.join(place, "home"), os.path.join(place, "work")
        os.makedirs(home)
        os.makedirs(work)
        self._stopper.at = os.path.join(work, stop_at) if stop_at else ""
        if not self._tried.is_free:
            return self._run(prompt, mode, place, Pointing(), dict(self._variables), [])
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
        of_agent = tuple(event for event in events if isinstance(event, AgentEvent))
        asked = msgspec.json.encode([request["body"] for request in requests if request.get("tools")]).decode()
        return Trial(reported, of_agent, self._processes.exited, asked, work)

    def _bare(self, home: str, pointing: Pointing) -> dict[str, str]:
        """Nothing of the user's own: no key, no settings, no address can slip in."""
        kept = {name: self._variables[name] for name in KEPT if name in self._variables}
        own = {f"XDG_{kind}_HOME": os.path.join(home, kind.lower()) for kind in XDG}
        return {**kept, **own, "HOME": home, **pointing.environment}


@contextmanager
def _laboratory(tried: Subject, variables: Mapping[str, str]) -> Iterator[Laboratory]:
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
