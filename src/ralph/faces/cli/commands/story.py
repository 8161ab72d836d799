"""`ralph story`: stories, each written by one context and approved by another."""

import os
from contextlib import suppress

import click
import msgspec
from msgspec.structs import replace

from ralph.app.agents.choice import anchor_agents, ensure_agent
from ralph.app.paths import describe_settings_choice, find_paths, find_project_paths
from ralph.app.plugin_files import find_plugin_folder
from ralph.app.story.files import archive_stories, check_story_file, create_story_files
from ralph.app.story.loop import (
    StoryRequest,
    add_story_flags,
    apply_story_settings,
    find_stories,
    locate_stories,
    read_verify_commands,
    run_stories,
    wants_everything,
)
from ralph.app.story.report import StoryReport, build_story_report
from ralph.config.sources import load_settings
from ralph.core.text.plain import truncate_cells
from ralph.core.text.quantities import format_duration, format_money
from ralph.faces.cli.live.resume_hint import print_resume_hint
from ralph.faces.cli.live.watching import watch_run
from ralph.faces.cli.options.agent import add_agent_options
from ralph.faces.cli.options.amounts import CountParam
from ralph.faces.cli.options.board_option import add_board_option
from ralph.faces.cli.options.detach import add_detach_option
from ralph.faces.cli.options.limits import budget_option, idle_timeout_option, max_time_option, timeout_option
from ralph.faces.cli.options.loop_flags import collect_loop_flags
from ralph.faces.cli.options.output_flags import (
    EVENTS_JSON_HELP,
    CommandT,
    add_json_option,
    add_plain_option,
    add_verbose_option,
)
from ralph.faces.cli.options.sandbox import add_sandbox_options, settle_sandbox
from ralph.faces.cli.options.settings_consent import accept_settings_option, settle_settings_changes
from ralph.faces.cli.pages.story import render_story_page
from ralph.faces.cli.terminal.columns import align_columns
from ralph.model.errors import ConfigError, UsageError
from ralph.model.story import StoryRules

_DIR_OPTIONS = (
    click.option("-d", "--project-dir", help="The project.  [default: here, else the nearest folder with its files]"),
    click.option("--ralph-dir", default="ralph", show_default=True, help="The folder with the loop's files."),
)


def _add_dir_options(function: CommandT) -> CommandT:
    for option in reversed(_DIR_OPTIONS):
        function = option(function)
    return function


STORY_EXAMPLES = """\b
Examples:
  ralph story init          create ralph/prd.md and ralph/tasks.json
  ralph story check         check the list
  ralph story run -n 30     implement, review, fix
  ralph story report        what each story took
"""
STORY_RUN_EXAMPLES = """\b
Examples:
  ralph story run -n 30
  ralph story run --budget 10 --max-time 8h
"""


@click.group(epilog=STORY_EXAMPLES)
def command() -> None:
    """Work through a list of stories; each is approved by a fresh context that did not write it."""


@command.command("init")
@click.option("--name", default="", help="The feature; creates branch ralph/NAME and switches to it.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@_add_dir_options
def init_story_command(project_dir: str | None, ralph_dir: str, name: str, force: bool) -> None:
    """Create prd.md, tasks.json, progress.txt and prompt.md in ralph/."""
    place = locate_stories(project_dir or ".", ralph_dir)
    for line in create_story_files(place, name, os.environ, force=force):
        click.echo(line)
    click.echo("\nNext: describe the feature in prd.md, list its stories in tasks.json (or let /ralph-plan do both),")
    click.echo("commit, then: ralph story run")


@command.command("run", epilog=STORY_RUN_EXAMPLES)
@click.option("-n", "--max-iterations", type=CountParam(), default=15, show_default=True, help="Maximum iterations.")
@click.option("-m", "--model", default="", help="The model, as the agent calls it: opus, sonnet, …")
@add_agent_options(model=False)
@add_sandbox_options
@add_board_option
@add_detach_option("--detach")
@click.option("--skip-review", is_flag=True, help="No review cycle: implementing sets passes=true.")
@click.option("--review-cap", type=CountParam(), default=5, show_default=True, help="Maximum reviews of a story.")
@max_time_option
@budget_option
@timeout_option
@idle_timeout_option
@click.option("--branch", default="", metavar="NAME", help="The branch to work on.  [default: as tasks.json says]")
@click.option("--as-is", is_flag=True, help="Use tasks.json as is, even if an interrupted iteration changed it.")
@accept_settings_option
@add_json_option(EVENTS_JSON_HELP)
@add_plain_option
@add_verbose_option()
@_add_dir_options
@click.pass_context
def run_stories_command(
    context: click.Context,
    /,
    project_dir: str | None,
    ralph_dir: str,
    max_iterations: int,
    model: str,
    skip_review: bool,
    review_cap: int,
    max_time: float | None,
    budget: float | None,
    as_is: bool,
    branch: str,
    **shared: object,
) -> int:
    """Implement, review and fix until every story is approved.

    Exit code: 0 all approved, 1 stopped before that, 2 bad usage or files, 3 every story waits, 130 interrupted.
    """
    flags = collect_loop_flags({**shared, "model": None})  # the model is one of the flags a story loop adds
    place = find_stories(project_dir, ralph_dir)
    paths = find_paths(place.project)
    chosen = replace(find_project_paths(place.project), started_in=os.getcwd())
    loaded = load_settings(chosen.folder, os.environ, flags.list_settings(), seen_from=chosen.started_in)
    configured = loaded.settings if chosen.folder == place.project else anchor_agents(loaded.settings, chosen.folder)
    settings, notice = ensure_agent(flags.choose_agent(configured, chosen), paths, os.environ)
    plugin = find_plugin_folder()
    settings, isolation = settle_sandbox(
        settings, as_json=flags.as_json, wants_everything=wants_everything(settings.agent)
    )
    request = StoryRequest(
        place=place,
        agent=add_story_flags(settings.agent, model, plugin),
        rules=StoryRules(review_cap, skip_review),
        max_iterations=max_iterations,
        max_time=max_time,
        budget_usd=budget,
        as_is=as_is,
        branch=branch,
        isolation=isolation,
        plugin=plugin,
    )
    request = apply_story_settings(request, settings)
    described = describe_settings_choice(chosen, loaded.files, works_in=place.project)
    changed = settle_settings_changes(chosen, accepted=flags.accept_settings, as_json=flags.as_json)
    warnings = (*changed, *described, *loaded.warnings, *notice)
    with watch_run(
        settings, as_json=flags.as_json, verbose=flags.verbose, warnings=warnings, kind="story", paths=paths
    ) as callbacks:
        stop = run_stories(request, paths, variables=os.environ, guardian=context.obj, callbacks=callbacks)
    if not flags.as_json:
        with suppress(ConfigError):  # a list that cannot be read has been told of
            click.echo(render_story_table(build_story_report(place, paths)))
        print_resume_hint(stop, limit_option="-n", unblock="change the list or its dependencies")
    return stop.outcome.exit_code


@command.command("check")
@click.option("--skip-review", is_flag=True, help="Check the list for a loop without reviews.")
@click.option("--review-cap", type=CountParam(), default=5, show_default=True, help="Maximum reviews of a story.")
@_add_dir_options
def check_stories_command(project_dir: str | None, ralph_dir: str, skip_review: bool, review_cap: int) -> int:
    """Check tasks.json: its form, its rules, its dependencies."""
    problems, warnings = check_story_file(find_stories(project_dir, ralph_dir), review_cap, skip_review)
    for line in problems:
        click.echo(f"FAIL  {line}")
    for line in warnings:
        click.echo(f"WARN  {line}")
    if not problems:
        click.echo("OK    tasks.json")
    return 2 if problems else 0


@command.command("archive")
@click.option("--label", default="", help="The archive's name.  [default: the branch]")
@_add_dir_options
def archive_stories_command(project_dir: str | None, ralph_dir: str, label: str) -> int:
    """Archive a finished loop. Its files go to ralph-archive/, fresh ones are created, all is committed."""
    archive = archive_stories(find_stories(project_dir, ralph_dir), label, os.environ)
    click.echo(f"Archived {archive.done} of {archive.total} stories in {archive.folder}")
    if not archive.commit:
        click.echo(f"Not committed: {archive.problem}", err=True)
        return 1
    click.echo(f"Committed {archive.commit}")
    return 0


@command.command("report")
@add_json_option()
@click.option("--html", "html_file", metavar="FILE", help="Write a self-contained page.")
@_add_dir_options
def report_stories_command(project_dir: str | None, ralph_dir: str, as_json: bool, html_file: str | None) -> None:
    """Show reviews, iterations, time and cost of each story."""
    place = find_stories(project_dir, ralph_dir)
    read_verify_commands(place)
    report = build_story_report(place, find_paths(place.project))
    if html_file:
        try:
            with open(html_file, "w", encoding="utf-8") as file:
                file.write(render_story_page(report))
        except OSError as error:
            raise UsageError(f"cannot write {html_file}: {error.strerror}", "give another place with --html") from error
        click.echo(f"Written to {html_file}")
    elif as_json:
        click.echo(msgspec.json.encode(report))
    else:
        click.echo(render_story_table(report))


def render_story_table(report: StoryReport) -> str:
    headings = ("story", "title", "status", "reviews", "iterations", "time", "cost")
    rows = [
        (
            truncate_cells(line.id, 12, "…"),
            truncate_cells(line.title, 36, "…"),
            line.status,
            str(line.reviews),
            str(line.iterations),
            format_duration(line.seconds),
            format_money(line.cost_usd),
        )
        for line in report.stories
    ]
    return "\n".join(align_columns([headings, *rows]))
