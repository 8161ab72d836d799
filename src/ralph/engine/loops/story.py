"""The world of `ralph story run`: the story list, the repository, an agent and the commands that verify."""

import os
from collections.abc import Mapping, Sequence

from ralph.core.stories.story_prompt import story_prompt
from ralph.engine.agent_run import Call, Caller, papers_in
from ralph.engine.atomic_file import read_whole, write_whole
from ralph.engine.emit import debug
from ralph.engine.loops.run import checked
from ralph.engine.marker import Marker
from ralph.engine.protected_files import LoopFiles
from ralph.model.command import Command
from ralph.model.errors import MachineError, RalphError
from ralph.model.loop import (
    Brief,
    Check,
    Decision,
    Fact,
    Interrupted,
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
# Nothing of what an agent may have configured is run, and no lock taken, only to look.
LOOKING = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-optional-locks")


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

    def head(self) -> tuple[str, str]:
        """The last commit and its subject."""
        commit, _, subject = self.said(*LOOKING, "log", "-1", "--format=%H %s").strip().partition(" ")
        return commit, subject

    def uncommitted(self, folder: str) -> tuple[str, ...]:
        """Paths that differ from the last commit, but for what ralph keeps beside the loop's folder."""
        lines = self.said(*LOOKING, "status", "--porcelain", "--no-renames", "-z").split("\0")
        return tuple(line[3:] for line in lines if len(line) > 3 and not _is_ours(line, folder))


class StoryWorld:
    """Everything a story loop may touch."""

    def __init__(
        self,
        place: StoryPlace,
        records: str,
        caller: Caller,
        marker: Marker,
        repository: Repository,
        gates: Mapping[str, Gate],
        gate_environment: Mapping[str, str],
        inbox: Inbox,
        watchers: Sequence[Watcher],
    ) -> None:
        self._place, self._records = place, records
        self._caller, self._marker, self._repository = caller, marker, repository
        self._gates, self._gate_environment = gates, gate_environment
        self._inbox, self._watchers = inbox, watchers
        self._files = LoopFiles(place.folder)
        self._calls = 0

    def perform(self, decision: Decision) -> Fact:
        """One step of the loop."""
        match decision:
            case RunAgent(brief):
                return self._attempt(brief)
            case Survey():
                return self._surveyed()
            case Restore(text, files=files):
                return self._restored(text, files)
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
            prompt = story_prompt(_prompt(self._place.prompt), brief)
            self._marker.write(brief)
            debug(self._watchers, brief.iteration, f"Prompt: {prompt[:200]}")
            call = Call(
                prompt,
                "stream",
                papers_in(self._records, self._calls),
                brief.iteration,
                brief.budget_usd,
                _variables(brief),
            )
            reported = self._caller.call(call, self._watchers)
        except RalphError as error:
            return Reported("unusable", detail=f"{error.message}. {error.hint}".strip())
        except OSError as error:
            return Reported("unusable", detail=f"cannot write {error.filename}: {error.strerror}.")
        return Interrupted(self._inbox.interruption()) if reported is None else reported

    def _surveyed(self) -> Surveyed:
        text, problem = _list(self._place.tasks)
        folder = os.path.relpath(self._place.folder, self._place.project)
        uncommitted = self._repository.uncommitted(folder)
        return Surveyed(text, *self._repository.head(), uncommitted, problem, *self._files.look())

    def _restored(self, text: str | None, files: Sequence[str]) -> Restored:
        try:
            if text is not None:
                write_whole(self._place.tasks, text)
            self._files.put_back(files)
        except OSError as error:
            raise MachineError(
                f"cannot put {error.filename} back: {error.strerror}", "make room for it, then start again"
            ) from error
        return Restored()


def _is_ours(line: str, folder: str) -> bool:
    """As the Stop hook has it: the marker, and settings and logs that nobody has to commit."""
    parts = line[3:].split("/")
    kept = line.startswith("??") and ".ralph" in parts[:-1] and not folder.startswith(".ralph")
    return kept or parts[-1] == MARKER


def _prompt(path: str) -> str:
    try:
        return read_whole(path)
    except OSError as error:
        raise RalphError(f"cannot read {path}: {error.strerror}", "make it with `ralph story init`") from error


def _list(path: str) -> tuple[str | None, str]:
    """The text of tasks.json, or why there is none."""
    try:
        return read_whole(path), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"tasks.json cannot be read: {error.strerror}."


def _variables(brief: Brief) -> dict[str, str]:
    return {
        "RALPH_ITERATION": str(brief.iteration),
        "RALPH_MAX_ITERATIONS": str(brief.limit),
        "RALPH_MODE": brief.role,
        "RALPH_STORY": brief.story,
    }
