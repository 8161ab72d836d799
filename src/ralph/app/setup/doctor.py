"""Use case: look at everything a run needs, before it needs it. Looks only; changes and starts nothing."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralph.app import paths as places
from ralph.app.agents import detect
from ralph.config.schema import Settings, flag_words
from ralph.config.sources import Loaded, load
from ralph.model.errors import ConfigError, RalphError
from ralph.process.shell import find_program

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE, NO_SPACE = 1_000_000_000, 100_000_000
START_OVER = "mend it, or: ralph init --force"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL_WORDS = frozenset(
    "! . : [ [[ { case cd command eval exec export for if set source time trap until while".split()
)


class Finding(Struct, frozen=True):
    """One thing looked at, and the next command to type where it is not well."""

    verdict: Literal["OK", "WARN", "FAIL"]
    what: str
    next: str = ""


class Patient(Struct, frozen=True):
    """Where we are, and how to ask what needs asking."""

    folder: str
    environment: Mapping[str, str]
    encoding: str = "utf-8"  # of the terminal
    platform: str = sys.platform
    python: tuple[int, int] = sys.version_info[:2]
    version_of: Callable[[str], str] = lambda program: ""  # what the agent says of itself
    active_run: Callable[[], str] = lambda: ""  # the run that goes on here
    free_bytes: Callable[[str], int] = lambda folder: shutil.disk_usage(folder).free


def examined(patient: Patient) -> tuple[Finding, ...]:
    """Everything, in the order one would mend it."""
    loaded, complaints = _settings(patient)
    settings = loaded.settings if loaded else Settings()
    return (
        _python(patient),
        _platform(patient),
        _git(patient),
        *complaints,
        _agent(patient, settings),
        *_judge(patient, settings),
        *_scm(patient, settings),
        *(_guardrails(patient, settings) if loaded else ()),
        *_folders(patient),
        _space(patient),
        *_ignored(patient),
        _activity(patient),
        _encoding(patient),
    )


def _python(patient: Patient) -> Finding:
    version = ".".join(map(str, patient.python))
    if patient.python < OLDEST_PYTHON:
        return Finding("FAIL", f"Python {version} is too old: ralph needs 3.11", "uv python install 3.13")
    return Finding("OK", f"Python {version}")


def _platform(patient: Patient) -> Finding:
    if patient.platform == "win32":
        return Finding("WARN", "Windows: an agent's children cannot be ended reliably; use WSL2", "wsl --install")
    return Finding("OK", f"platform {patient.platform}")


def _git(patient: Patient) -> Finding:
    program = find_program("git", patient.environment, patient.folder)
    if program is None:
        return Finding("WARN", "git not found: what an agent breaks cannot be undone", "install git")
    if not places.find(patient.folder).in_git:
        return Finding("WARN", "not in a git repository: what an agent breaks cannot be undone", "git init")
    return Finding("OK", f"git {program}, in a repository")


def _settings(patient: Patient) -> tuple[Loaded | None, list[Finding]]:
    try:
        loaded = load(patient.folder, patient.environment)
    except ConfigError as error:
        return None, [Finding("FAIL", error.message, error.hint or START_OVER)]
    findings = [Finding("WARN", warning, "ralph config schema") for warning in loaded.warnings]
    here = places.find(patient.folder)
    findings += [Finding("WARN", warning, f"cd {shlex.quote(here.root)}") for warning in places.overlooked(here)]
    if loaded.files:
        return loaded, [Finding("OK", f"settings {', '.join(loaded.files)}"), *findings]
    return loaded, [Finding("WARN", "no settings: what is found and defaults are used", "ralph init"), *findings]


def _agent(patient: Patient, settings: Settings) -> Finding:
    command = settings.agent.command
    if "scripted" in (command, settings.agent.adapter):
        return Finding("OK", "agent scripted")
    if not command:
        found = detect.agent(patient.environment, patient.folder)
        if found is None:
            known = ", ".join(detect.AGENTS)
            return Finding("FAIL", f"no agent on PATH: none of {known}", "npm install -g @anthropic-ai/claude-code")
        command = found.name
    program = _found(command, patient) or _found(flag_words([command])[0], patient)
    if program is None:
        return Finding("FAIL", f"agent {command} not found on PATH", "install it, or set another: ralph init")
    return Finding("OK", " ".join(filter(None, ["agent", program, patient.version_of(program)])))


def _judge(patient: Patient, settings: Settings) -> Iterator[Finding]:
    wanted = settings.specflow.judge
    if wanted is None:
        return
    program = _found(wanted.agent, patient) or _found(flag_words([wanted.agent])[0], patient)
    if program or wanted.agent == "scripted":
        yield Finding("OK", f"judge {program or wanted.agent}")
    else:
        lost = f"judge {wanted.agent} not found on PATH: tasks that need it are not begun"
        yield Finding("FAIL", lost, "install it, or change judge in your settings: ralph config show --origin")


def _scm(patient: Patient, settings: Settings) -> Iterator[Finding]:
    if settings.scm is None or not settings.scm.tasks:
        return
    program = settings.scm.command.split()[0]
    if path := _found(program, patient):
        yield Finding("OK", f"scm {path}: {', '.join(settings.scm.tasks)}")
    else:
        lost = f"scm.command {program} not found: nothing can be committed, and no run is begun"
        yield Finding("FAIL", lost, "install it, or change scm in your settings: ralph config show --origin")


def _guardrails(patient: Patient, settings: Settings) -> Iterator[Finding]:
    if not settings.guardrails:
        yield Finding("WARN", "no guardrails: nothing checks what the agent claims", "ralph init")
    for guardrail in settings.guardrails:
        program = first_program(guardrail.command)
        if program and not _found(program, patient):
            lost = f"guardrail {guardrail.command!r} can never pass: {program} not found"
            yield Finding("FAIL", lost, f"install {program}, or change guardrails in .ralph/settings.json")
        else:
            yield Finding("OK", f"guardrail {guardrail.command}")


def first_program(command: str) -> str:
    """The program a shell command starts with; empty when only a shell could tell."""
    words = [word for word in flag_words([command]) if not _ASSIGNMENT.match(word)]
    first = words[0] if words else ""
    return "" if first in _SHELL_WORDS or re.search(r"[^\w@%+:,./-]", first) else first


def _found(program: str, patient: Patient) -> str | None:
    return find_program(program, patient.environment, patient.folder)


def _folders(patient: Patient) -> Iterator[Finding]:
    where = places.find(patient.folder)
    for name, path in (("settings and logs", where.notes), ("state", where.state)):
        if _can_write(path):
            yield Finding("OK", f"{name} in {path}")
        else:
            yield Finding("FAIL", f"{name}: {path} is no folder we can write to", f"ls -ld {path}")


def _can_write(path: str) -> bool:
    """Whether it is a folder to write into, or could become one."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def _space(patient: Patient) -> Finding:
    free = patient.free_bytes(patient.folder)
    what = f"{free / 1e9:.1f} GB of disk free"
    if free < LITTLE_SPACE:
        return Finding("FAIL" if free < NO_SPACE else "WARN", f"only {what}", f"df -h {patient.folder}")
    return Finding("OK", what)


def _ignored(patient: Patient) -> Iterator[Finding]:
    if not places.find(patient.folder).in_git:
        return
    if missing := detect.missing_ignores(patient.folder):
        lines = " ".join(f"'{line}'" for line in missing)
        yield Finding("WARN", f".gitignore lacks {' and '.join(missing)}", f"printf '%s\\n' {lines} >> .gitignore")
    else:
        yield Finding("OK", ".gitignore keeps our logs out")


def _activity(patient: Patient) -> Finding:
    try:
        run = patient.active_run()
    except RalphError as error:
        return Finding("FAIL", error.message, error.hint)
    if run:
        return Finding("WARN", f"run {run} is active here: another cannot start", "ralph status")
    return Finding("OK", "no other run here")


def _encoding(patient: Patient) -> Finding:
    if patient.encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig"):
        return Finding("OK", f"terminal encoding {patient.encoding}")
    return Finding("WARN", f"terminal encoding {patient.encoding}: signs may look odd", "export LC_ALL=C.UTF-8")
