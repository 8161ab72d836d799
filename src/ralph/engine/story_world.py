"""The world of `ralph story run`: the story list, the repository, an agent and the commands that verify."""

import os
from collections.abc import Mapping, Sequence

from ralph.core.story_prompt import story_prompt
from ralph.engine.caller import Call, Caller, Papers
from ralph.engine.marker import Marker, write_whole
from ralph.engine.telling import debug
from ralph.engine.world import Clock, checked
from ralph.model.command import Command
from ralph.model.errors import RalphError
from ralph.model.loop import (
    Brief,
    Check,
    Decision,
    Fact,
    Interrupted,
    Observation,
    Reported,
    Restore,
    Restored,
    RunAgent,
    Survey,
    Surveyed,
    Wait,
    Waited,
)
from ralph.model.ports import Evidence, Gate, Inbox, Processes, Watcher
from ralph.model.story import MARKER, StoryPlace
from ralph.process.output import Excerpt

GIT_TIMEOUT = 60.0


class Repository:
    """What git says, asked through the process layer."""

    def __init__(self, git: str, folder: str, environment: Mapping[str, str], processes: Processes) -> None:
        self._git, self._folder, self._environment, self._processes = git, folder, environment, processes

    def said(self, *words: str) -> str:
        """What it printed; empty when it failed."""
        output = Excerpt(1 << 20, 0)
        command = Command((self._git, *words), self._environment, self._folder, timeout=GIT_TIMEOUT)
        exited = self._processes.run(command, output.write, len)
        return output.text() if exited.code == 0 else ""

    def uncommitted(self) -> tuple[str, ...]:
        """Paths that differ from the last commit."""
        lines = self.said("status", "--porcelain", "-z").split("\0")
        return tuple(line[3:] for line in lines if len(line) > 3 and line[3:] != MARKER)


class StoryWorld:
    """Everything a story loop may touch."""

    def __init__(
        self,
        place: StoryPlace,
        records: str,
        clock: Clock,
        caller: Caller,
        marker: Marker,
        repository: Repository,
        gates: Mapping[str, Gate],
        gate_environment: Mapping[str, str],
        inbox: Inbox,
        watchers: Sequence[Watcher],
    ) -> None:
        self._place, self._records, self._clock = place, records, clock
        self._caller, self._marker, self._repository = caller, marker, repository
        self._gates, self._gate_environment = gates, gate_environment
        self._inbox, self._watchers = inbox, watchers
        self._calls = 0

    def look(self, fact: Fact) -> Observation:
        """The fact, with the clocks and interruptions of now."""
        return self._clock.look(fact, self._inbox)

    def perform(self, decision: Decision) -> Fact:
        """One step of the loop."""
        match decision:
            case RunAgent(brief):
                return self._attempt(brief)
            case Survey():
                return self._surveyed()
            case Restore(text):
                write_whole(self._place.tasks, text)
                return Restored()
            case Check(gates, iteration):
                chosen = [self._gates[name] for name in gates]
                evidence = Evidence(iteration, self._place.project, self._gate_environment)
                return checked(chosen, evidence, self._inbox, self._watchers)
            case Wait(seconds):
                self._inbox.wait(seconds)
                return Waited()
            case _:
                raise ValueError(f"`ralph story run` does not know how to {decision!r}")

    def _attempt(self, brief: Brief) -> Fact:
        self._calls += 1
        try:
            prompt = story_prompt(_text(self._place.prompt), brief)
            self._marker.write(brief)
            debug(self._watchers, brief.iteration, f"Prompt: {prompt[:200]}")
            call = Call(prompt, "stream", self._papers(), brief.iteration, brief.budget_usd, _variables(brief))
            reported = self._caller.call(call, self._watchers)
        except RalphError as error:
            return Reported("unusable", detail=f"{error.message}. {error.hint}".strip())
        return Interrupted(self._inbox.interruption()) if reported is None else reported

    def _surveyed(self) -> Surveyed:
        try:
            text = _text(self._place.tasks)
        except RalphError:
            text = None
        head, _, subject = self._repository.said("log", "-1", "--format=%H %s").strip().partition(" ")
        return Surveyed(text, head, subject, self._repository.uncommitted())

    def _papers(self) -> Papers:
        def path(name: str) -> str:
            return os.path.join(self._records, name.format(self._calls))

        return Papers(
            path("agent_{:03}.log"), path("agent_{:03}.stderr.log"), path("prompt_{:03}.txt"), path("answer_{:03}.txt")
        )


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise RalphError(f"cannot read {path}: {error.strerror}", "make it with `ralph story init`") from error


def _variables(brief: Brief) -> dict[str, str]:
    return {
        "RALPH_ITERATION": str(brief.iteration),
        "RALPH_MAX_ITERATIONS": str(brief.limit),
        "RALPH_MODE": brief.role,
        "RALPH_STORY": brief.story,
    }
