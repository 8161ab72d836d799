"""Use case: run a check once, to see whether it can run here and what it says."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralph.app.processes import open_interruptible_processes
from ralph.app.suggested_checks import SuggestedGuardrail, list_suggestions
from ralph.app.wiring import build_gate_variables
from ralph.core.text.check_output import find_why_it_cannot_run, summarize_output
from ralph.model.command import Command
from ralph.model.ports import Processes
from ralph.process.output import Excerpt
from ralph.process.shell import build_shell_argv, find_program

TRIAL_SECONDS = 60.0  # a check that takes longer is worth having all the same; nobody waits for it here
MODULE_SECONDS = 10.0
OUTPUT_BYTES = 1 << 18


class CheckTrial(Struct, frozen=True, kw_only=True):
    """What came of running a check once."""

    command: str
    verdict: Literal["passes", "fails", "cannot run", "slow"]
    summary: str = ""
    seconds: float = 0.0

    @property
    def is_usable(self) -> bool:
        return self.verdict != "cannot run"


def try_check(command: str, folder: str, *, variables: Mapping[str, str], processes: Processes) -> CheckTrial:
    """As a guardrail would run it; what it left running is ended."""
    output = Excerpt(OUTPUT_BYTES, OUTPUT_BYTES)
    environment = build_gate_variables(variables, {})
    argv = build_shell_argv(command, environment)
    asked = Command(argv=argv, environment=environment, cwd=folder, merged=True, timeout=TRIAL_SECONDS)
    exited = processes.run(asked, output.write, output.write)
    text = output.text()
    if exited.ending == "not_started":
        return CheckTrial(command=command, verdict="cannot run", summary=exited.error)
    if exited.ending != "exited":
        return CheckTrial(command=command, verdict="slow", seconds=exited.seconds)
    if why := find_why_it_cannot_run(exited.code, text):
        return CheckTrial(command=command, verdict="cannot run", summary=why, seconds=exited.seconds)
    verdict: Literal["passes", "fails"] = "passes" if exited.code == 0 else "fails"
    summary = summarize_output(text) or ("" if exited.code == 0 else f"exit code {exited.code}")
    return CheckTrial(command=command, verdict=verdict, summary=summary, seconds=exited.seconds)


def has_module(python: str, module: str, *, folder: str, variables: Mapping[str, str], processes: Processes) -> bool:
    """Whether that Python finds it; true where nobody can tell."""
    program = find_program(python, variables, folder)
    if program is None or not all(part.isidentifier() for part in module.split(".")):
        return True
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module.split('.')[0]!r}) is None)"
    asked = Command(
        argv=(program, "-c", code), environment=build_gate_variables(variables, {}), cwd=folder, timeout=MODULE_SECONDS
    )
    exited = processes.run(asked, len, len)
    return not (exited.ending == "exited" and exited.code == 1)


def try_suggested_checks(
    folder: str, variables: Mapping[str, str], on_begin: Callable[[str], object] = str
) -> Iterator[CheckTrial]:
    """What this repository suggests, each run once; `on_begin` hears which is about to run. Ctrl-C ends it at once."""
    if suggestions := list_suggestions(folder):
        with open_interruptible_processes() as processes:
            yield from try_suggestions(suggestions, folder, variables=variables, processes=processes, on_begin=on_begin)


def try_suggestions(
    suggestions: Iterable[SuggestedGuardrail],
    folder: str,
    *,
    variables: Mapping[str, str],
    processes: Processes,
    on_begin: Callable[[str], object] = str,
) -> Iterator[CheckTrial]:
    """Each suggestion tried in turn, until there is a usable one for its purpose."""
    found: set[str] = set()
    for suggestion in suggestions:
        if suggestion.purpose in found:
            continue
        on_begin(suggestion.command)
        trial = try_check(suggestion.command, folder, variables=variables, processes=processes)
        if trial.is_usable:
            found.add(suggestion.purpose)
        yield trial


def format_trial(trial: CheckTrial) -> str:
    """`make test: passes (12 passed, 0.4 s)`"""
    match trial.verdict:
        case "cannot run":
            return f"{trial.command}: cannot run here: {trial.summary}"
        case "slow":
            return f"{trial.command}: still running after {trial.seconds:.0f} s, stopped"
        case verdict:
            detail = ", ".join(part for part in (trial.summary, f"{trial.seconds:.1f} s") if part)
            return f"{trial.command}: {verdict} ({detail})"
