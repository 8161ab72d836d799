"""`ralph run`: the prompt loop."""

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app.agents.choice import ensure_agent
from ralph.app.paths import Paths, describe_settings_choice, find_project_paths, resolve_typed_path
from ralph.app.run.dry_run import describe_dry_run
from ralph.app.run.loop import (
    RunRequest,
    load_resumable_run,
    plan_in_worktree,
    read_prompt,
    resume_run,
    resume_with,
    start_run,
)
from ralph.app.run_identity import make_run_id
from ralph.app.runs.waking import wake_waiting_run
from ralph.app.sandbox.choice import Isolation
from ralph.app.session import Callbacks
from ralph.app.stores import has_stores
from ralph.config.redaction import redact_settings
from ralph.config.schema import Settings
from ralph.config.sources import load_settings
from ralph.core.text.utf8 import refuse_undecoded
from ralph.faces.cli.live.watching import watch_run
from ralph.faces.cli.options.agent import add_agent_options, apply_agent_options
from ralph.faces.cli.options.amounts import CountParam
from ralph.faces.cli.options.board_option import add_board_option
from ralph.faces.cli.options.detach import DETACH_NAMES, add_detach_option
from ralph.faces.cli.options.known_names import complete_signal
from ralph.faces.cli.options.limits import budget_option, idle_timeout_option, max_time_option, timeout_option
from ralph.faces.cli.options.output_flags import (
    EVENTS_JSON_HELP,
    add_json_option,
    add_look_options,
    add_plain_option,
    add_verbose_option,
)
from ralph.faces.cli.options.run_names import complete_resumable_run
from ralph.faces.cli.options.sandbox import add_sandbox_options, choose_sandbox_kind, settle_sandbox
from ralph.faces.cli.options.settings_consent import accept_settings_option, settle_settings_changes
from ralph.faces.cli.options.text_file import TextFile, TextFileParam
from ralph.faces.cli.terminal.output import Output
from ralph.faces.cli.terminal.wrapping import fit_page
from ralph.model.errors import UsageError
from ralph.model.loop import Stop

if TYPE_CHECKING:
    from ralph.model.runs import RunRecord
    from ralph.process.spawner import GuardianHandle

_ALLOW_DIRTY_KEY = "scm.allowDirty"  # nobody asks a run that goes on
_SANDBOX_KEY = "sandbox.kind"
_SETTINGS_KEYS = {  # flag → settings key
    "maximum_iterations": "maximumIterations",
    "completion_response": "completionResponse",
    "tell_completion": "tellCompletion",
    "stream_agent_output": "streamAgentOutput",
    "max_time": "maxTimeSeconds",
    "budget": "budgetUsd",
    "timeout": "agent.timeoutSeconds",
    "idle_timeout": "agent.idleTimeoutSeconds",
    "color": "display.color",
    "glyphs": "display.glyphs",
    "plain": "display.plain",
    "allow_dirty": _ALLOW_DIRTY_KEY,
}
_LIMIT_FIELDS = {
    "maximumIterations": "maximum_iterations",
    "maxTimeSeconds": "max_time_seconds",
    "budgetUsd": "budget_usd",
}
_RESUME_HINTS = {"exhausted": " and a higher -m or --max-time", "over_budget": " and a higher --budget"}
_DAY_SETTING = "budgetUsdPerDay"
_DAY_HINT = f" tomorrow, or with a higher {_DAY_SETTING}"
_DISPLAY_KEYS = {"streamAgentOutput", "display.color", "display.glyphs", "display.plain"}


RUN_EXAMPLES = """\b
Examples:
  ralph run -p "Fix the failing tests"
  ralph run -f PROMPT.md -m 20 --budget 5 --max-time 8h
  ralph run -p "Upgrade dependencies" --worktree --detach
  ralph run --resume -m 30
"""


@click.command(epilog=RUN_EXAMPLES)
@click.option("-p", "--prompt", help="The prompt for the agent.")
@click.option(
    "-f",
    "--prompt-file",
    type=TextFileParam(),
    metavar="FILE",
    help="A file with the prompt, read again each time; - for stdin.",
)
@click.option(
    "-m",
    "-n",
    "--maximum-iterations",
    "--max-iterations",
    type=CountParam(),
    help="Maximum iterations.  [default: 10]",
)
@click.option(
    "-c", "--completion-response", metavar="TEXT", help="What <response>…</response> says when done.  [default: DONE]"
)
@click.option(
    "--until",
    multiple=True,
    metavar="SIGNAL",
    shell_complete=complete_signal,
    help="What claims completion: response, promise, file:PATH; may be repeated.  [default: response]",
)
@click.option(
    "--tell-completion/--no-tell-completion",
    default=None,
    help="Add how to claim completion to a prompt that does not say.  [default: add]",
)
@click.option(
    "--stream-agent-output/--no-stream-agent-output", default=None, help="Show what the agent does.  [default: show]"
)
@max_time_option
@budget_option
@add_agent_options()
@timeout_option
@idle_timeout_option
@click.option(
    "--allow-dirty",
    is_flag=True,
    default=None,
    help="With an SCM commit task, start despite uncommitted changes: they are committed as well.",
)
@click.option(
    "--worktree",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[NAME]",
    help="Work in a separate git work tree, on branch ralph/NAME; your checkout is not touched.",
)
@add_sandbox_options
@click.option("--baseline", is_flag=True, help="Run the guardrails before the first agent as well.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[RUN]",
    shell_complete=complete_resumable_run,
    help="Resume a run that was stopped or killed; by default the last one.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be run, and run nothing.")
@add_board_option
@add_detach_option(*DETACH_NAMES)
@accept_settings_option
@add_json_option(EVENTS_JSON_HELP)
@add_look_options
@add_plain_option
@add_verbose_option()
@click.pass_context
def command(
    context: click.Context,
    /,
    prompt: str | None,
    prompt_file: TextFile | None,
    resume: str | None,
    worktree: str | None,
    until: tuple[str, ...],
    baseline: bool,
    dry_run: bool,
    accept_settings: bool,
    as_json: bool,
    verbose: bool,
    agent: str | None,
    model: str | None,
    allow: tuple[str, ...],
    sandbox: str | None,
    no_sandbox: bool,
    **flags: object,
) -> int:
    """Run an agent on a prompt, each time with fresh context, until it says it is done and every guardrail passes.

    Exit code: 0 completed, 1 stopped without completion, 2 bad usage or settings, 3 the agent asks something,
    130 interrupted.
    """
    given = {_SETTINGS_KEYS[name]: value for name, value in flags.items() if value is not None}
    if kind := choose_sandbox_kind(sandbox, no_sandbox):
        given[_SANDBOX_KEY] = kind
    paths = find_project_paths(os.getcwd())
    if until:
        given["until"] = [_resolve_signal(signal, paths) for signal in until]
    text = _read_given_prompt(prompt, prompt_file, resume)
    loaded = load_settings(paths.folder, os.environ, given, seen_from=paths.started_in)
    wanted = apply_agent_options(loaded.settings, paths, agent=agent, model=model, allow=allow)
    settings, notice = ensure_agent(wanted, paths, os.environ)
    settings, isolation = settle_sandbox(settings, as_json=as_json)
    prepared = PreparedRun(
        paths=paths,
        settings=settings,
        isolation=isolation,
        given=given,
        files=loaded.files,
        warnings=(*loaded.warnings, *notice),
        worktree=worktree,
        dry_run=dry_run,
        accept_settings=accept_settings,
        as_json=as_json,
        verbose=verbose,
        guardian=context.obj,
    )
    if resume is not None:
        _refuse_changes({**given, **({"--baseline": True} if baseline else {})})
        return _resume(prepared, resume)
    request = RunRequest(
        settings=settings,
        prompt=text,
        prompt_file=resolve_typed_path(prompt_file.name, paths) if prompt_file and text is None else None,
        baseline=baseline,
        tells_completion=settings.tell_completion,
        isolation=isolation,
    )
    return _start(prepared, request)


class PreparedRun(Struct, frozen=True, kw_only=True):
    """What a new run and one that goes on have alike: what was typed, and what settings make of it."""

    paths: Paths
    settings: Settings
    isolation: Isolation
    given: dict[str, object]  # settings that were typed
    files: tuple[str, ...]  # of settings
    warnings: tuple[str, ...]
    worktree: str | None
    dry_run: bool
    accept_settings: bool
    as_json: bool
    verbose: bool
    guardian: "GuardianHandle | None"

    @property
    def is_quiet(self) -> bool:
        return self.as_json or not has_stores(self.paths)

    def watch(self, chosen: Sequence[str], notes: Sequence[str] = ()) -> AbstractContextManager[Callbacks]:
        """Asks about settings that got weaker, then shows the run. `chosen`: which settings hold, in words."""
        changed = settle_settings_changes(self.paths, accepted=self.accept_settings, as_json=self.as_json)
        return watch_run(
            self.settings,
            as_json=self.as_json,
            verbose=self.verbose,
            warnings=(*changed, *chosen, *self.warnings),
            notes=notes,
            paths=self.paths,
        )


def _resume(prepared: PreparedRun, name: str) -> int:
    paths, settings = prepared.paths, prepared.settings
    limits = partial(_with_limits, given=prepared.given)
    chosen = describe_settings_choice(paths, prepared.files)
    if prepared.dry_run:
        record, request = load_resumable_run(name, limits, paths, prepared.worktree, variables=os.environ)
        return _print_plan(resume_with(request, settings), paths, (*chosen, *_label(prepared.warnings)), record)
    if woken := wake_waiting_run(paths, name):
        from ralph.faces.cli.pages.runs import render_runs_json  # pages of `ralph status`, 1 ms

        click.echo(render_runs_json([woken]) if prepared.as_json else f"Woke {woken.id}; follow it with: ralph logs -f")
        return 0
    with prepared.watch(chosen) as callbacks:
        stop = resume_run(
            name,
            limits,
            today=settings,
            isolation=prepared.isolation,
            paths=paths,
            variables=os.environ,
            guardian=prepared.guardian,
            callbacks=callbacks,
            worktree=prepared.worktree,
        )
    return _report_end(stop, name, quiet=prepared.is_quiet)


def _start(prepared: PreparedRun, request: RunRequest) -> int:
    paths, run, typed_file = prepared.paths, make_run_id(), request.prompt_file
    if prepared.worktree is not None:
        request = plan_in_worktree(request, prepared.worktree or run, paths, os.environ)
    chosen = describe_settings_choice(paths, prepared.files, request.worktree.folder if request.worktree else "")
    refuse_undecoded(read_prompt(request), repr(typed_file) if typed_file else "the prompt")
    if prepared.dry_run:
        return _print_plan(request, paths, (*chosen, *_label(prepared.warnings)))
    notes = _describe_settings(prepared.settings, prepared.files) if prepared.verbose else ()
    with prepared.watch(chosen, notes) as callbacks:
        stop = start_run(request, paths, variables=os.environ, guardian=prepared.guardian, callbacks=callbacks, run=run)
    return _report_end(stop, run, quiet=prepared.is_quiet)


def _label(warnings: Sequence[str]) -> list[str]:
    return [f"warning: {warning}" for warning in warnings]


def _print_plan(request: RunRequest, paths: Paths, notes: Sequence[str], earlier: "RunRecord | None" = None) -> int:
    for note in notes:
        click.echo(note, err=True)
    run_paths = replace(paths, folder=earlier.folder) if earlier else paths
    click.echo(describe_dry_run(request, run_paths, os.environ, earlier))
    return 0


def _report_end(stop: Stop, run: str, *, quiet: bool) -> int:
    """Returns the exit code; prints how to resume where that can help."""
    if stop.outcome.value != "completed" and not stop.lasting and not quiet:
        onward = _choose_resume_hint(stop)
        hint = f"resume with `ralph run --resume`{onward}"
        if stop.question:
            name = f" {run}" if run else ""
            hint = f"answer with: ralph answer{name} TEXT; then: ralph resume{name}"
        Output.for_stream(sys.stderr)(fit_page(f"  → {hint}\n", sys.stderr))
    return stop.outcome.exit_code


def _choose_resume_hint(stop: Stop) -> str:
    """What has to be different then."""
    if _DAY_SETTING in stop.why:
        return _DAY_HINT
    if stop.outcome.value == "unusable" and "--allow " in stop.why:
        return " and the --allow above"
    return _RESUME_HINTS.get(stop.outcome.value, "")


def _read_given_prompt(prompt: str | None, prompt_file: TextFile | None, resume: str | None) -> str | None:
    """The prompt's text; None if each iteration reads the file, or if a resumed run has its own."""
    if resume is not None:
        if prompt is not None or prompt_file is not None:
            raise UsageError("--resume keeps the prompt of the run", "leave out -p and -f")
        return None
    if (prompt is None) == (prompt_file is None):
        raise UsageError(
            "give exactly one of --prompt (-p) and --prompt-file (-f)", 'for example: ralph run -p "Fix it"'
        )
    if prompt_file is None:
        text = prompt or ""
    elif prompt_file.is_stdin or _is_read_once(prompt_file.name):
        text = prompt_file.read_text()
    else:
        return None
    if not text.strip():
        raise UsageError("the prompt is empty", "provide a prompt with -p or -f")
    return text


def _resolve_signal(signal: str, paths: Paths) -> str:
    """A file that is to appear, as it was typed; settings mean their own folder."""
    kind, _, path = signal.partition(":")
    return f"{kind}:{resolve_typed_path(path, paths)}" if kind == "file" and path else signal


def _is_read_once(path: str) -> bool:
    """Whether it cannot be read again for each iteration: /dev/stdin, `<(command)`, a pipe."""
    try:
        return path.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/")) or stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _refuse_changes(given: dict[str, object]) -> None:
    kept = (*_LIMIT_FIELDS, *_DISPLAY_KEYS, _ALLOW_DIRTY_KEY, _SANDBOX_KEY)
    if other := [key for key in given if key not in kept and not key.startswith("agent.")]:
        raise UsageError(
            f"--resume keeps the run's prompt and guardrails; {', '.join(other)} cannot be changed",
            "limits (-m, --max-time, --budget) and the agent (--agent, --model, --allow, --timeout) can",
        )


def _with_limits(settings: Settings, given: dict[str, object]) -> Settings:
    return replace(settings, **{_LIMIT_FIELDS[key]: value for key, value in given.items() if key in _LIMIT_FIELDS})


def _describe_settings(settings: Settings, files: tuple[str, ...]) -> tuple[str, ...]:
    merged = msgspec.json.encode(redact_settings(settings)).decode()
    return (*(f"Loading settings from {name}" for name in files), f"Settings: {merged}")
