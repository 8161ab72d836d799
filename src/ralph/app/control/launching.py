"""Use case: start a loop that outlives whoever asked for it, as `--detach` does on the command line."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ralph.app import registry
from ralph.app.control.background import BackgroundStart, start_in_background
from ralph.app.paths import Paths
from ralph.core.tasks.task_names import find_name_problem
from ralph.core.text.plain import sanitize
from ralph.model.errors import RalphError, UsageError

MAX_PROMPT_BYTES = 120_000  # of a command line's word the system takes 128 kB
MAX_SHOWN_BYTES = 4000


class NotStarted(RalphError):
    """It ended before it had begun; what it printed says why."""

    code = "not_started"
    exit_code = 1


class StartBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to start; what is left out is as settings say."""

    kind: Literal["run", "execute", "story"] = "run"
    prompt: str = ""  # of a run
    resume: str = ""  # the run to resume; of an execute any word: tasks that were interrupted, too
    agent: str = ""
    model: str = ""
    max_iterations: int | None = None  # not of an execute
    max_time_seconds: float | None = None
    budget_usd: float | None = None
    jobs: int = 1  # of an execute: tasks at once
    tasks: Sequence[str] = ()  # of an execute; none: all that are open
    worktree: bool = False  # of a run: in a work tree of its own
    no_sandbox: bool = False  # let agents run directly on this machine


class LaunchedLoop(Struct, frozen=True):
    """How it began, and what it printed, where it is over already."""

    start: BackgroundStart
    output: str = ""


def launch_loop(body: StartBody, paths: Paths, variables: Mapping[str, str]) -> LaunchedLoop:
    """Waits until it is on record. NotStarted: it ended before; what it printed says why."""
    words = build_words(body)
    began = start_in_background(words, paths, variables, folder=paths.folder)
    output = _read_end(began.log) if began.exit_code is not None else ""
    if began.exit_code not in (None, 0) and not began.run:
        raise NotStarted(output or f"it ended with exit code {began.exit_code}", "see the message; then try again")
    return LaunchedLoop(began, output)


def build_words(body: StartBody) -> list[str]:
    """The command line that does it. UsageError: it makes no sense."""
    _check_amounts(body)
    words = {"run": ["run"], "execute": ["execute"], "story": ["story", "run"]}[body.kind]
    match body.kind:
        case "run" if body.resume:
            words += [f"--resume={body.resume}"]
        case "run" if not body.prompt.strip():
            raise UsageError("a run needs a prompt", "provide a prompt for the agent")
        case "run":
            words += [f"--prompt={body.prompt}", *(["--worktree="] if body.worktree else [])]
        case "execute":
            words += [f"--jobs={body.jobs}", *(["--resume"] if body.resume else [])]
        case "story":
            pass
    if body.max_iterations is not None and body.kind != "execute":
        words += [f"--max-iterations={body.max_iterations}"]
    words += _name_agent(body)
    words += [] if body.budget_usd is None else [f"--budget={body.budget_usd:.12g}"]
    words += [] if body.max_time_seconds is None else [f"--max-time={body.max_time_seconds:.12g}s"]
    words += ["--no-sandbox"] if body.no_sandbox else []
    return [*words, "--", *body.tasks] if body.kind == "execute" else words


def _name_agent(body: StartBody) -> list[str]:
    """By its name only: a command line of one's own belongs into the settings."""
    known = [name for name in registry.list_extensions("agents") if name != "command"]
    if body.agent and body.agent not in known:
        raise UsageError(f"no agent {body.agent[:60]!r}", f"one of {', '.join(known)}")
    if body.resume and body.kind == "run" and (body.agent or body.model):
        raise UsageError("a run is resumed with the agent it has", "leave out agent and model")
    return [
        *([f"--agent={body.agent}"] if body.agent else []),
        *([f"--model={body.model}"] if body.model else []),
    ]


def _check_amounts(body: StartBody) -> None:
    numbers = {
        "max_iterations": body.max_iterations,
        "budget_usd": body.budget_usd,
        "max_time_seconds": body.max_time_seconds,
        "jobs": body.jobs,
    }
    for name, number in numbers.items():
        if number is not None and not 0 < number < 1e9:
            raise UsageError(f"{name} is not a number above 0", "leave it out, or give one")
    if len(body.prompt.encode("utf-8", "replace")) > MAX_PROMPT_BYTES or "\0" in f"{body.prompt}{body.model}":
        raise UsageError(f"the prompt has more than {MAX_PROMPT_BYTES} bytes", "put it into a file and name the file")
    for name in (*body.tasks, *filter(None, [body.resume if body.kind == "run" else ""])):
        if problem := find_name_problem("task" if name in body.tasks else "run", name):
            raise UsageError(problem, "see `ralph status`")


def _read_end(log: str) -> str:
    try:
        with open(log, "rb") as file:
            return sanitize(file.read()[-MAX_SHOWN_BYTES:].decode("utf-8", "replace")).strip()
    except OSError:
        return ""
