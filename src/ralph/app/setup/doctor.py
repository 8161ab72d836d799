"""Use case: look at everything a run needs, before it needs it. Changes nothing."""

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralph.app import paths as places
from ralph.app import registry
from ralph.app.agents import detect
from ralph.app.guardrails import check_guardrail
from ralph.app.setup.check_trial import CheckTrial, format_trial
from ralph.app.setup.gitignore import find_missing_ignores
from ralph.app.suggested_checks import read_npm_scripts
from ralph.config.schema import SHELL_KIND, Guardrail, Settings, split_flags
from ralph.config.sources import LoadedSettings, load_settings
from ralph.core.reporting.trace_context import is_tracing_wanted
from ralph.model.errors import ConfigError, RalphError
from ralph.model.sandbox import SandboxKind, SandboxProbe
from ralph.process.shell import SHELL_WORDS, find_program

MIN_PYTHON = (3, 11)
LOW_DISK_BYTES, MIN_DISK_BYTES = 1_000_000_000, 100_000_000
START_OVER_HINT = "fix it, or start over: ralph init --force"
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class DoctorFinding(Struct, frozen=True):
    """One thing looked at, and the next command to type where it is not well."""

    verdict: Literal["OK", "WARN", "FAIL"]
    what: str
    next: str = ""


class DoctorContext(Struct, frozen=True, kw_only=True):
    """Where we are, and how to ask what needs asking."""

    folder: str
    started_in: str = ""  # where the user is; empty: in that folder
    environment: Mapping[str, str]
    encoding: str = "utf-8"  # of the terminal
    platform: str = sys.platform
    python: tuple[int, int] = sys.version_info[:2]
    version_of: Callable[[str], str] = lambda program: ""  # what the agent says of itself
    active_run: Callable[[], str] = lambda: ""  # the run that goes on here
    free_bytes: Callable[[str], int] = lambda folder: shutil.disk_usage(folder).free
    has_module: Callable[[str, str], bool] = lambda python, module: True  # asked of that very Python
    try_check: Callable[[str], CheckTrial] | None = None  # runs a check once, where that is wanted
    has_extra: Callable[[str], bool] = lambda module: importlib.util.find_spec(module) is not None  # of our own Python
    sandboxes: Callable[[], Mapping[SandboxKind, SandboxProbe]] = dict  # which there are, and how to get others


def run_checks(context: DoctorContext) -> tuple[DoctorFinding, ...]:
    """Everything, in the order one would mend it."""
    loaded, complaints = _check_settings(context)
    settings = loaded.settings if loaded else Settings()
    return (
        _check_python(context),
        _check_platform(context),
        _check_git(context),
        *complaints,
        _check_agent(context, settings),
        *_check_judge(context, settings),
        *_check_sandboxes(context, settings),
        *_check_scm(context, settings),
        *(_check_guardrails(context, settings) if loaded else ()),
        *_check_extras(context, settings),
        *_check_folders(context),
        _check_disk_space(context),
        *_check_gitignore(context),
        _check_active_run(context),
        _check_encoding(context),
    )


def _check_sandboxes(context: DoctorContext, settings: Settings) -> Iterator[DoctorFinding]:
    """Those that work in one line; how to get one, where there is none, or not the one settings name."""
    found = context.sandboxes()
    if not found:
        return
    working = [kind for kind, probe in found.items() if probe.is_available]
    named = settings.sandbox.kind
    if named and named in found and named not in working:
        missing = next(probe for kind, probe in found.items() if kind == named)
        yield DoctorFinding("FAIL", f"sandbox {named}: {missing.problem}", missing.hint)
    elif working:
        yield DoctorFinding("OK", f"sandboxes: {', '.join(working)}; `ralph sandbox test` tries them")
    else:
        kind = "seatbelt" if context.platform == "darwin" else "bubblewrap"
        probe = next(probe for name, probe in found.items() if name == kind)
        yield DoctorFinding("WARN", f"no sandbox works here: {kind}: {probe.problem}", probe.hint)


def _check_python(context: DoctorContext) -> DoctorFinding:
    version = ".".join(map(str, context.python))
    if context.python < MIN_PYTHON:
        return DoctorFinding("FAIL", f"Python {version} is too old: ralph needs 3.11", "uv python install 3.13")
    return DoctorFinding("OK", f"Python {version}")


def _check_platform(context: DoctorContext) -> DoctorFinding:
    if context.platform == "win32":
        return DoctorFinding("WARN", "Windows: an agent's children cannot be ended reliably; use WSL2", "wsl --install")
    return DoctorFinding("OK", f"platform {context.platform}")


def _check_git(context: DoctorContext) -> DoctorFinding:
    program = find_program("git", context.environment, context.folder)
    if program is None:
        return DoctorFinding("WARN", "git not found: what an agent breaks cannot be undone", "install git")
    if not places.find_paths(context.folder).in_git:
        return DoctorFinding("WARN", "not in a git repository: no history, only snapshots for `ralph undo`", "git init")
    return DoctorFinding("OK", f"git {program}, in a repository")


def _check_settings(context: DoctorContext) -> tuple[LoadedSettings | None, list[DoctorFinding]]:
    try:
        loaded = load_settings(context.folder, context.environment, seen_from=context.started_in)
    except ConfigError as error:
        return None, [DoctorFinding("FAIL", error.message, error.hint or START_OVER_HINT)]
    findings = [DoctorFinding("WARN", warning, "ralph config schema") for warning in loaded.warnings]
    if foreign := places.find_project_paths(context.started_in or context.folder).foreign_settings:
        words = f"{foreign} belongs to another user and is ignored in this directory"
        findings.append(DoctorFinding("WARN", words, f"ls -l {shlex.quote(foreign)}"))
    if loaded.files:
        return loaded, [DoctorFinding("OK", f"settings {', '.join(loaded.files)}"), *findings]
    return loaded, [DoctorFinding("WARN", "no settings: detected agent and defaults are used", "ralph init"), *findings]


def _check_agent(context: DoctorContext, settings: Settings) -> DoctorFinding:
    command = settings.agent.command
    if "scripted" in (command, settings.agent.adapter):
        return DoctorFinding("OK", "agent scripted")
    if not command:
        found = detect.detect_agent(context.environment, context.folder)
        if found is None:
            known = ", ".join(detect.list_detectable_agents())
            return DoctorFinding("FAIL", f"no agent on PATH: none of {known}", detect.suggest_installation())
        command = found.name
    try:
        registry.load_extension("agents", settings.agent.adapter or registry.resolve_adapter(split_flags([command])[0]))
    except RalphError as error:
        return DoctorFinding("FAIL", error.message, error.hint)
    program = _find_program(command, context) or _find_program(split_flags([command])[0], context)
    if program is None:
        return DoctorFinding("FAIL", f"agent {command} not found on PATH", "install it, or set another: ralph init")
    return DoctorFinding("OK", " ".join(filter(None, ["agent", program, context.version_of(program)])))


def _check_judge(context: DoctorContext, settings: Settings) -> Iterator[DoctorFinding]:
    wanted = settings.specflow.judge
    if wanted is None:
        return
    program = _find_program(wanted.agent, context) or _find_program(split_flags([wanted.agent])[0], context)
    if program or wanted.agent == "scripted":
        yield DoctorFinding("OK", f"judge {program or wanted.agent}")
    else:
        lost = f"judge {wanted.agent} not found on PATH: tasks that need it are not started"
        yield DoctorFinding("FAIL", lost, "install it, or change judge in your settings: ralph config show --origin")


def _check_scm(context: DoctorContext, settings: Settings) -> Iterator[DoctorFinding]:
    if settings.scm is None or not settings.scm.tasks:
        return
    program = settings.scm.command.split()[0]
    if path := _find_program(program, context):
        yield DoctorFinding("OK", f"scm {path}: {', '.join(settings.scm.tasks)}")
    else:
        lost = f"scm.command {program} not found: nothing can be committed, so no run starts"
        yield DoctorFinding("FAIL", lost, "install it, or change scm in your settings: ralph config show --origin")


def _check_extras(context: DoctorContext, settings: Settings) -> Iterator[DoctorFinding]:
    """What settings or the environment ask for, and an extra of the package does."""
    wanted = {
        "notify": ("apprise", bool(settings.notify.apprise), "notify.apprise"),
        "otel": ("opentelemetry", is_tracing_wanted(context.environment), "OTEL_EXPORTER_OTLP_ENDPOINT"),
    }
    for extra, (module, is_wanted, who) in wanted.items():
        if is_wanted and not context.has_extra(module):
            what = f"{who} is set, but {module} is not installed, so nothing is sent"
            yield DoctorFinding("WARN", what, f"pip install 'ralph-verified[{extra}]'")


def _check_guardrails(context: DoctorContext, settings: Settings) -> Iterator[DoctorFinding]:
    if not settings.guardrails:
        yield DoctorFinding("WARN", "no guardrails: nothing checks what the agent claims", "ralph init")
    for guardrail in settings.guardrails:
        yield _check_guardrail(context, guardrail)


def _check_guardrail(context: DoctorContext, guardrail: Guardrail) -> DoctorFinding:
    try:
        title = check_guardrail(guardrail)
    except RalphError as error:
        lost = f"guardrail {guardrail.label!r}: {error.message}"
        return DoctorFinding("FAIL", lost, error.hint or "change guardrails in .ralph/settings.json")
    if guardrail.kind != SHELL_KIND:
        return DoctorFinding("OK", f"guardrail {title}")
    if missing := find_missing_part(title, context):
        lost = f"guardrail {title!r} can never pass: {missing} not found"
        return DoctorFinding("FAIL", lost, f"install {missing}, or change guardrails in .ralph/settings.json")
    return (
        DoctorFinding("OK", f"guardrail {title}")
        if context.try_check is None
        else _judge_trial(context.try_check(title))
    )


def _judge_trial(trial: CheckTrial) -> DoctorFinding:
    """A red check is no fault of the set-up: it may be what the work is about."""
    if trial.is_usable:
        return DoctorFinding("OK", f"guardrail {format_trial(trial)}")
    return DoctorFinding("FAIL", f"guardrail {format_trial(trial)}", "install what it needs, or change guardrails")


def find_missing_part(command: str, context: DoctorContext) -> str:
    """The program, module or script a command cannot do without and that is not there; empty when all is."""
    program = extract_program(command)
    if program and not _find_program(program, context):
        return program
    words = [word for word in split_flags([command]) if not _ASSIGNMENT.match(word)]
    match words:
        case [python, "-m", module, *_] if _PYTHON.fullmatch(python) and not context.has_module(python, module):
            return f"the Python module {module}"
        case ["npm" | "pnpm" | "yarn" | "bun", "run", script, *_] if not _has_npm_script(context.folder, script):
            return f"the script {script!r} in package.json"
        case ["uv", "run", inner, *_] if not inner.startswith("-") and not _is_in_project(inner, context):
            return f"{inner} (in .venv or on PATH)"
        case _:
            return ""


def _has_npm_script(folder: str, script: str) -> bool:
    return script in read_npm_scripts(folder)


def _is_in_project(program: str, context: DoctorContext) -> bool:
    """What `uv run` would find, where an environment was made already; before that, nobody knows."""
    if not os.path.isdir(os.path.join(context.folder, ".venv")):
        return True
    return bool(_find_program(program, context) or _find_program(os.path.join(".venv", "bin", program), context))


def extract_program(command: str) -> str:
    """The program a shell command starts with; empty when only a shell could tell."""
    words = [word for word in split_flags([command]) if not _ASSIGNMENT.match(word)]
    first = words[0] if words else ""
    return "" if first in SHELL_WORDS or re.search(r"[^\w@%+:,./-]", first) else first


def _find_program(program: str, context: DoctorContext) -> str | None:
    return find_program(program, context.environment, context.folder)


def _check_folders(context: DoctorContext) -> Iterator[DoctorFinding]:
    where = places.find_paths(context.folder)
    for name, path in (("settings and logs", where.dot_ralph), ("state", where.state)):
        if _can_write(path):
            yield DoctorFinding("OK", f"{name} in {path}")
        else:
            yield DoctorFinding("FAIL", f"{name}: {path} is not a writable folder", f"ls -ld {path}")


def _can_write(path: str) -> bool:
    """Whether it is a folder to write into, or could become one."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def _check_disk_space(context: DoctorContext) -> DoctorFinding:
    free = context.free_bytes(context.folder)
    what = f"{free / 1e9:.1f} GB of disk free"
    if free < LOW_DISK_BYTES:
        return DoctorFinding("FAIL" if free < MIN_DISK_BYTES else "WARN", f"only {what}", f"df -h {context.folder}")
    return DoctorFinding("OK", what)


def _check_gitignore(context: DoctorContext) -> Iterator[DoctorFinding]:
    if not places.find_paths(context.folder).in_git:
        return
    if missing := find_missing_ignores(context.folder):
        lines = " ".join(f"'{line}'" for line in missing)
        file = os.path.relpath(os.path.join(context.folder, ".gitignore"), context.started_in or context.folder)
        yield DoctorFinding(
            "WARN", f".gitignore lacks {' and '.join(missing)}", f"printf '%s\\n' {lines} >> {shlex.quote(file)}"
        )
    else:
        yield DoctorFinding("OK", ".gitignore keeps ralph's logs out")


def _check_active_run(context: DoctorContext) -> DoctorFinding:
    try:
        run = context.active_run()
    except RalphError as error:
        return DoctorFinding("FAIL", error.message, error.hint)
    if run:
        return DoctorFinding("WARN", f"run {run} is active here: another cannot start", "ralph status")
    return DoctorFinding("OK", "no other run here")


def _check_encoding(context: DoctorContext) -> DoctorFinding:
    if context.encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig"):
        return DoctorFinding("OK", f"terminal encoding {context.encoding}")
    return DoctorFinding(
        "WARN", f"terminal encoding {context.encoding}: some symbols may not show", "export LC_ALL=C.UTF-8"
    )
