"""`ralph run`: the prompt loop."""

import os
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ralph.faces.cli.options.amounts import CountParam, DollarsParam
from ralph.faces.cli.options.durations import DurationParam
from ralph.model.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ralph.app.paths import Paths
    from ralph.app.run.loop import RunRequest
    from ralph.config.schema import Settings
    from ralph.model.loop import Stop
    from ralph.model.runs import RunRecord

_SETTINGS_KEYS = {  # flag → settings key
    "maximum_iterations": "maximumIterations",
    "completion_response": "completionResponse",
    "stream_agent_output": "streamAgentOutput",
    "max_time": "maxTimeSeconds",
    "budget": "budgetUsd",
    "timeout": "agent.timeoutSeconds",
    "idle_timeout": "agent.idleTimeoutSeconds",
    "color": "display.color",
    "glyphs": "display.glyphs",
}
_LIMIT_FIELDS = {
    "maximumIterations": "maximum_iterations",
    "maxTimeSeconds": "max_time_seconds",
    "budgetUsd": "budget_usd",
}
_RESUME_HINTS = {"exhausted": ", with a higher -m or --max-time", "over_budget": ", with a higher --budget"}
_DISPLAY_KEYS = {"streamAgentOutput", "display.color", "display.glyphs"}


def _complete_resumable(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from ralph.faces.cli.options.run_names import complete_resumable_run  # only a shell asks

    return complete_resumable_run(context, parameter, incomplete)


@click.command()
@click.option("-p", "--prompt", help="What the agent shall do.")
@click.option(
    "-f",
    "--prompt-file",
    type=click.Path(),
    metavar="FILE",
    help="A file with the prompt, read again each time; - for stdin.",
)
@click.option(
    "-m",
    "-n",
    "--maximum-iterations",
    "--max-iterations",
    type=CountParam(),
    help="Stop after so many iterations.  [default: 10]",
)
@click.option(
    "-c", "--completion-response", metavar="TEXT", help="What <response>…</response> says when done.  [default: DONE]"
)
@click.option(
    "--until",
    multiple=True,
    metavar="SIGNAL",
    help="What claims completion: response, promise, file:PATH; may be repeated.  [default: response]",
)
@click.option(
    "--stream-agent-output/--no-stream-agent-output", default=None, help="Show what the agent does.  [default: show]"
)
@click.option("--max-time", type=DurationParam(), help="Start no agent after so long: 90s, 15m, 8h.")
@click.option("--budget", type=DollarsParam(), metavar="USD", help="Start no agent once so much is spent.")
@click.option("--agent", metavar="COMMAND", help="An agent of `ralph agents`, or any command.")
@click.option("--timeout", type=DurationParam(), help="End an agent that runs longer than this.")
@click.option("--idle-timeout", type=DurationParam(), help="End an agent that prints nothing for so long.")
@click.option("--baseline", is_flag=True, help="Run the guardrails before the first agent too.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[RUN]",
    shell_complete=_complete_resumable,
    help="Go on with a run that was stopped or killed; the last one without RUN.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be run, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print events as lines of JSON.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]))
@click.option("--glyphs", type=click.Choice(["auto", "emoji", "unicode", "ascii"]))
@click.option("-V", "--verbose", is_flag=True, help="Tell everything that is done, on stderr.")
@click.pass_context
def command(
    context: click.Context,
    /,
    prompt: str | None,
    prompt_file: str | None,
    resume: str | None,
    until: tuple[str, ...],
    baseline: bool,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    agent: str | None,
    **flags: object,
) -> int:
    """Run an agent on a prompt, each time with fresh context, until it says it is done and every guardrail passes.

    Exit code: 0 completed, 1 stopped without completion, 2 bad usage or settings, 130 interrupted.
    """
    from ralph.app import paths as places
    from ralph.app.agents import choice
    from ralph.app.run import loop as run
    from ralph.config.sources import load_settings
    from ralph.faces.cli.live.watching import watch_run

    given = {_SETTINGS_KEYS[name]: value for name, value in flags.items() if value is not None}
    if until:
        given["until"] = list(until)
    here = places.find_paths(os.getcwd())
    text = _read_prompt(prompt, prompt_file, resume)
    loaded = load_settings(here.folder, os.environ, given)
    if resume is not None:
        _refuse_changes({**given, **({"--baseline": True} if baseline else {})}, agent)
        if dry_run:
            record, request = run.load_resumable_run(resume, lambda old: _with_limits(old, given), here)
            return _print_plan(request, here, loaded.warnings, record)
        with watch_run(loaded.settings, as_json=as_json, verbose=verbose, warnings=loaded.warnings) as callbacks:
            stop = run.resume_run(
                resume,
                lambda old: _with_limits(old, given),
                paths=here,
                variables=os.environ,
                guardian=context.obj,
                callbacks=callbacks,
            )
        return _report_end(stop, quiet=as_json or not os.path.exists(here.database))
    settings, notice = choice.ensure_agent(choice.override_agent(loaded.settings, agent), here, os.environ)
    request = run.RunRequest(
        settings=settings, prompt=text, prompt_file=None if text is not None else prompt_file, baseline=baseline
    )
    warnings = (*loaded.warnings, *places.find_ignored_settings(here), *notice)
    if dry_run:
        return _print_plan(request, here, warnings)
    notes = _describe_settings(settings, loaded.files) if verbose else ()
    with watch_run(settings, as_json=as_json, verbose=verbose, warnings=warnings, notes=notes) as callbacks:
        stop = run.start_run(request, here, variables=os.environ, guardian=context.obj, callbacks=callbacks)
    return _report_end(stop, quiet=as_json or not os.path.exists(here.database))


def _print_plan(
    request: "RunRequest", here: "Paths", warnings: Sequence[str], earlier: "RunRecord | None" = None
) -> int:
    from msgspec.structs import replace

    from ralph.app.run.dry_run import describe_dry_run

    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    there = replace(here, folder=earlier.folder) if earlier else here
    click.echo(describe_dry_run(request, there, os.environ, earlier))
    return 0


def _report_end(stop: "Stop", *, quiet: bool) -> int:
    """Its exit code, and a word on how to go on, where that can help."""
    from ralph.faces.cli.terminal.output import Output

    if stop.outcome.value != "completed" and not stop.lasting and not quiet:
        onward = _RESUME_HINTS.get(stop.outcome.value, "")
        Output.for_stream(sys.stderr)(f"  → `ralph run --resume` goes on{onward}\n")
    return stop.outcome.exit_code


def _read_prompt(prompt: str | None, prompt_file: str | None, resume: str | None) -> str | None:
    """The prompt's text; None when it is to be read from a file, or is known from an earlier life."""
    if resume is not None:
        if prompt is not None or prompt_file is not None:
            raise UsageError("--resume goes on with the prompt the run has", "leave out -p and -f")
        return None
    if (prompt is None) == (prompt_file is None):
        raise UsageError(
            "give exactly one of --prompt (-p) and --prompt-file (-f)", 'for example: ralph run -p "Fix it"'
        )
    if prompt_file is not None and prompt_file != "-":
        if not _is_read_once(prompt_file):
            return None
        with open(prompt_file, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    else:
        text = prompt if prompt is not None else sys.stdin.read()
    if not text.strip():
        raise UsageError("the prompt is empty", "say what the agent shall do")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_read_once(path: str) -> bool:
    """Whether it cannot be read again for each iteration: /dev/stdin, `<(command)`, a pipe."""
    try:
        return path.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/")) or stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _refuse_changes(given: dict[str, object], agent: str | None) -> None:
    other = [key for key in given if key not in _LIMIT_FIELDS and key not in _DISPLAY_KEYS]
    if other := [*other, *(["agent"] if agent else [])]:
        raise UsageError(
            f"--resume goes on with the run's own settings; {', '.join(other)} cannot be changed",
            "only the limits can: -m, --max-time, --budget",
        )


def _with_limits(settings: "Settings", given: dict[str, object]) -> "Settings":
    from msgspec.structs import replace

    return replace(settings, **{_LIMIT_FIELDS[key]: value for key, value in given.items() if key in _LIMIT_FIELDS})


def _describe_settings(settings: "Settings", files: tuple[str, ...]) -> tuple[str, ...]:
    import msgspec

    from ralph.config.redaction import redact_settings

    merged = msgspec.json.encode(redact_settings(settings)).decode()
    return (*(f"Loading settings from {name}" for name in files), f"Settings: {merged}")
