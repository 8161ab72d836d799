"""`ralph story`: stories, each written by one context and approved by another."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ralph.faces.cli.options.amounts import CountParam, DollarsParam
from ralph.faces.cli.options.durations import DurationParam

if TYPE_CHECKING:
    from ralph.app.story.report import StoryReport

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])
_DIR_OPTIONS = (
    click.option("-d", "--project-dir", default=".", help="The project.  [default: here]"),
    click.option("--ralph-dir", default="ralph", show_default=True, help="The folder with the loop's files."),
)


def _add_dir_options(function: _CommandT) -> _CommandT:
    for option in reversed(_DIR_OPTIONS):
        function = option(function)
    return function


@click.group()
def command() -> None:
    """Work through a list of stories; each is approved by a fresh context that did not write it."""


@command.command("init")
@click.option("--name", default="", help="The feature; the branch will be ralph/NAME.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@_add_dir_options
def init_story_command(project_dir: str, ralph_dir: str, name: str, force: bool) -> None:
    """Lay out ralph/: prd.md, tasks.json, progress.txt and prompt.md."""
    from ralph.app.story.files import create_story_files as lay_out
    from ralph.app.story.loop import locate_stories

    place = locate_stories(project_dir, ralph_dir)
    for line in lay_out(place, name, force=force):
        click.echo(line)
    click.echo("\nNext: write what is wanted into prd.md, list the stories in tasks.json (or let /ralph-plan do both),")
    click.echo("commit, then: ralph story run")


@command.command("run")
@click.option("-n", "--max-iterations", type=CountParam(), default=15, show_default=True)
@click.option("-m", "--model", default="", help="The model, as the agent calls it: opus, sonnet, …")
@click.option("--agent", metavar="COMMAND", help="The agent to run; the configured or detected one without it.")
@click.option(
    "--sandbox/--no-sandbox", default=None, help="Run the agent in a sandbox, or directly.  [default: directly]"
)
@click.option("--skip-review", is_flag=True, help="No review cycle: implementing sets passes=true.")
@click.option("--review-cap", type=CountParam(), default=5, show_default=True, help="Reviews a story at most.")
@click.option("--max-time", type=DurationParam(), help="Start no agent after so long.")
@click.option("--budget", type=DollarsParam(), metavar="USD", help="Start no agent once so much is spent.")
@click.option("--timeout", type=DurationParam(), help="End an agent that runs longer than this.")
@click.option("--idle-timeout", type=DurationParam(), help="End an agent that prints nothing for so long.")
@click.option("--as-is", is_flag=True, help="Take tasks.json as it stands, even if a cut-off iteration changed it.")
@click.option("--json", "as_json", is_flag=True, help="Print events as lines of JSON.")
@click.option("-V", "--verbose", is_flag=True, help="Tell everything that is done, on stderr.")
@_add_dir_options
@click.pass_context
def run_stories_command(
    context: click.Context,
    /,
    project_dir: str,
    ralph_dir: str,
    max_iterations: int,
    model: str,
    agent: str | None,
    sandbox: bool | None,
    skip_review: bool,
    review_cap: int,
    max_time: float | None,
    budget: float | None,
    timeout: float | None,
    idle_timeout: float | None,
    as_is: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Implement, review, fix and review again, until every story is approved.

    Exit code: 0 all approved, 1 stopped before that, 2 bad usage or files, 3 every story waits, 130 interrupted.
    """
    from ralph.app import paths as places
    from ralph.app.agents import choice
    from ralph.app.setup.plugin import find_plugin_folder
    from ralph.app.story import loop as story
    from ralph.config.sources import load_settings
    from ralph.faces.cli.live.watching import watch_run
    from ralph.model.errors import ConfigError, MachineError
    from ralph.model.story import StoryRules

    if sandbox:
        raise MachineError("no sandbox is available on this machine", "run with --no-sandbox")
    place = story.locate_stories(project_dir, ralph_dir)
    given = {"agent.timeoutSeconds": timeout, "agent.idleTimeoutSeconds": idle_timeout}
    loaded = load_settings(place.project, os.environ, {key: value for key, value in given.items() if value is not None})
    here = places.find_paths(place.project)
    settings, notice = choice.ensure_agent(choice.override_agent(loaded.settings, agent), here, os.environ)
    request = story.StoryRequest(
        place=place,
        agent=story.add_story_flags(settings.agent, model, find_plugin_folder()),
        rules=StoryRules(review_cap, skip_review),
        max_iterations=max_iterations,
        max_time=max_time,
        budget_usd=budget,
        patience=settings.patience,
        as_is=as_is,
        snapshots=settings.snapshots,
    )
    estimate = story.estimate_iterations(place, here, skip_review, max_iterations)
    warnings = (*loaded.warnings, *notice, *([estimate] if estimate else []))
    with watch_run(settings, as_json=as_json, verbose=verbose, warnings=warnings) as callbacks:
        stop = story.run_stories(request, here, variables=os.environ, guardian=context.obj, callbacks=callbacks)
    if not as_json:
        from ralph.app.story.report import build_story_report

        with suppress(ConfigError):  # a list that cannot be read has been told of
            click.echo(render_story_table(build_story_report(place, here)))
    return stop.outcome.exit_code


@command.command("check")
@click.option("--skip-review", is_flag=True)
@click.option("--review-cap", type=CountParam(), default=5, show_default=True)
@_add_dir_options
def check_stories_command(project_dir: str, ralph_dir: str, skip_review: bool, review_cap: int) -> int:
    """Check tasks.json: its form, its rules, its dependencies."""
    from ralph.app.story.files import check_story_file as examine
    from ralph.app.story.loop import locate_stories

    problems, warnings = examine(locate_stories(project_dir, ralph_dir), review_cap, skip_review)
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
def archive_stories_command(project_dir: str, ralph_dir: str, label: str) -> int:
    """Put a finished loop into ralph-archive/, lay out fresh files, commit."""
    from ralph.app.story.files import archive_stories as put_away
    from ralph.app.story.loop import locate_stories

    done = put_away(locate_stories(project_dir, ralph_dir), label, os.environ)
    click.echo(f"Archived {done.done} of {done.total} stories in {done.folder}")
    click.echo(f"Committed {done.commit}" if done.commit else f"Not committed: {done.problem}", err=not done.commit)
    return 0 if done.commit else 1


@command.command("report")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page that needs nothing else.")
@_add_dir_options
def report_stories_command(project_dir: str, ralph_dir: str, as_json: bool, html_file: str | None) -> None:
    """Show reviews, iterations, time and cost of each story."""
    from ralph.app import paths as places
    from ralph.app.story.loop import locate_stories, read_verify_commands
    from ralph.app.story.report import build_story_report

    place = locate_stories(project_dir, ralph_dir)
    read_verify_commands(place)
    found = build_story_report(place, places.find_paths(place.project))
    if html_file:
        from ralph.faces.cli.pages.story import render_story_page
        from ralph.model.errors import UsageError

        try:
            with open(html_file, "w", encoding="utf-8") as file:
                file.write(render_story_page(found))
        except OSError as error:
            raise UsageError(f"cannot write {html_file}: {error.strerror}", "give another place with --html") from error
        click.echo(f"Written to {html_file}")
    elif as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        click.echo(render_story_table(found))


def render_story_table(report: "StoryReport") -> str:
    from ralph.core.text.plain import count_cells, truncate_cells
    from ralph.core.text.quantities import format_duration, format_money

    head = ("story", "title", "status", "reviews", "iterations", "time", "cost")
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
    widths = [max(count_cells(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell + " " * (width - count_cells(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )
