"""`ralph supervise`: restart an agent on a task until its DONE mark is there."""

import os

import click

from ralph.app.agents.choice import ensure_agent
from ralph.app.paths import describe_settings_choice, find_paths, find_project_paths
from ralph.app.supervise.loop import SuperviseRequest, apply_supervise_settings, locate_task, supervise_task
from ralph.config.sources import load_settings
from ralph.faces.cli.live.resume_hint import print_resume_hint
from ralph.faces.cli.live.watching import watch_run
from ralph.faces.cli.options.agent import add_agent_options
from ralph.faces.cli.options.amounts import CountParam
from ralph.faces.cli.options.detach import DETACH_NAMES, add_detach_option
from ralph.faces.cli.options.durations import DurationParam
from ralph.faces.cli.options.limits import budget_option, idle_timeout_option, max_time_option, timeout_option
from ralph.faces.cli.options.loop_flags import collect_loop_flags
from ralph.faces.cli.options.output_flags import EVENTS_JSON_HELP, add_json_option, add_plain_option, add_verbose_option
from ralph.faces.cli.options.sandbox import add_sandbox_options, settle_sandbox
from ralph.faces.cli.options.settings_consent import accept_settings_option, settle_settings_changes
from ralph.model.errors import UsageError

SUPERVISE_EXAMPLES = """\b
Examples:
  ralph supervise tasks/release
  ralph supervise tasks/release --max-restarts 20 --agent codex
  ralph supervise tasks/release -- my-agent --flag
"""


@click.command(epilog=SUPERVISE_EXAMPLES)
@click.argument("task_dir")
@click.argument("command_line", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@add_agent_options()
@click.option("--max-restarts", type=CountParam(0), default=100, show_default=True, help="Maximum agent runs.")
@click.option(
    "--restart-delay", type=DurationParam(zero=True), default="1", show_default=True, help="Delay between runs."
)
@click.option(
    "--wait-timeout",
    type=DurationParam(zero=True),
    default="300",
    show_default=True,
    help="How long to wait for child runs once DONE exists.",
)
@click.option(
    "--poll-interval",
    type=DurationParam(),
    default="1",
    show_default=True,
    help="How often to check children and dependencies.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="DONE counts only when this command passes; may be repeated. Also: supervise.checks in settings.",
)
@add_sandbox_options
@timeout_option
@idle_timeout_option
@max_time_option
@budget_option
@add_detach_option(*DETACH_NAMES)
@click.option("--project", default="", help="The project's name.  [default: the folder above the task]")
@click.option("--task", default="", help="The task's name.  [default: the task's folder]")
@accept_settings_option
@add_json_option(EVENTS_JSON_HELP)
@add_plain_option
@add_verbose_option()
@click.pass_context
def command(
    context: click.Context,
    /,
    task_dir: str,
    command_line: tuple[str, ...],
    max_restarts: int,
    restart_delay: float,
    wait_timeout: float,
    poll_interval: float,
    checks: tuple[str, ...],
    max_time: float | None,
    budget: float | None,
    project: str,
    task: str,
    **shared: object,
) -> int:
    """Start an agent on TASK_DIR/TASK.md and restart it until the file TASK_DIR/DONE exists.

    No exit code ends the loop, except 42 (wait, do not restart). The agent finds the folder in $TASK_FOLDER.

    Exit code: 0 done, 1 restarts used up, 2 bad usage or a fatal error, 3 waiting for a person, 130 interrupted.
    """
    flags = collect_loop_flags(shared)
    if flags.agent and command_line:
        raise UsageError("give --agent or a command after --, not both", "ralph supervise TASK_DIR -- my-agent --flag")
    place = locate_task(task_dir, project, task)
    paths = find_project_paths(os.getcwd())
    loaded = load_settings(paths.folder, os.environ, flags.list_settings(), seen_from=paths.started_in)
    settings, notice = loaded.settings, tuple[str, ...]()
    if not command_line:
        settings, notice = ensure_agent(flags.choose_agent(settings, paths), paths, os.environ)
    settings, isolation = settle_sandbox(settings, as_json=flags.as_json)
    request = SuperviseRequest(
        place=place,
        agent=settings.agent,
        words=command_line,
        folder=paths.started_in if command_line else paths.folder,
        max_restarts=max_restarts,
        restart_delay=restart_delay,
        wait_timeout=wait_timeout,
        poll_interval=poll_interval,
        max_time=max_time,
        budget_usd=budget,
        checks=tuple(check for check in checks if check.strip()),
        isolation=isolation,
    )
    request = apply_supervise_settings(request, settings)
    chosen = describe_settings_choice(paths, loaded.files, works_in=request.folder)
    changed = settle_settings_changes(paths, accepted=flags.accept_settings, as_json=flags.as_json)
    warnings = (*changed, *chosen, *loaded.warnings, *notice)
    home = find_paths(place.folder)
    with watch_run(
        settings, as_json=flags.as_json, verbose=flags.verbose, warnings=warnings, kind="supervise", paths=home
    ) as callbacks:
        stop = supervise_task(request, home, variables=os.environ, guardian=context.obj, callbacks=callbacks)
    if not flags.as_json:
        print_resume_hint(stop, limit_option="--max-restarts", unblock="answer in TASK.md or with `ralph bus post`")
    return stop.outcome.exit_code
