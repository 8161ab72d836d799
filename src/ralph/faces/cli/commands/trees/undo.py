"""`ralph undo`: what a run changed, undone."""

import os

import click

from ralph.app.cleanup.undo import UndoPlan, plan_undo, undo_run
from ralph.app.paths import find_project_paths
from ralph.core.text.quantities import pluralize
from ralph.faces.cli.options.consent import require_consent
from ralph.faces.cli.options.run_names import complete_any_run
from ralph.faces.cli.terminal.files import list_files


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("--to", type=click.IntRange(min=0), metavar="N", help="Go back to the state after iteration N.")
@click.option("--dry-run", is_flag=True, help="Show what would be done.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def command(run: str, to: int | None, dry_run: bool, yes: bool) -> None:
    """Undo what RUN (or the last run) changed. Commits are reverted by a new commit; in the work tree of a
    run or a task, the branch is reset instead.

    Files that were changed since the run are not touched. The current files are kept as a snapshot first, so an undo
    can be undone."""
    paths = find_project_paths(os.getcwd())
    plan = plan_undo(paths, run, to, os.environ)
    click.echo(_describe(plan), nl=False)
    if plan.is_empty or dry_run or not require_consent("Undo this?", yes):
        return
    done = undo_run(paths, plan.run, to, os.environ)
    click.echo(f"Undone: the files are as they were {done.plan.title}.")
    if done.revert_commit:
        click.echo(f"Commit {done.revert_commit[:12]} reverts what the run committed.")
    click.echo(f"To undo this: ralph undo {done.name}")


def _describe(plan: UndoPlan) -> str:
    if plan.is_empty:
        text = f"Nothing to undo: no file of run {plan.run} is as the run left it.\n" if plan.kept else ""
        same = f"Nothing to undo: the files that run {plan.run} changed are as they were {plan.title}.\n"
        return (text or same) + _describe_kept(plan)
    lines = [f"Run {plan.run}, in {plan.root}: back to the state {plan.title}\n"]
    lines += list_files("restore", plan.restored)
    lines += list_files("delete", plan.removed)
    if plan.reverted and plan.reverted.branch:
        lines.append(f"  reset    {plan.reverted.branch} to {plan.reverted.start[:12]}\n")
    elif plan.reverted:
        lines.append(f"  revert   {pluralize(plan.reverted.count, 'commit')} up to {plan.reverted.end[:12]}\n")
    return "".join(lines) + _describe_kept(plan)


def _describe_kept(plan: UndoPlan) -> str:
    problem = f"Note: {plan.problem}\n" if plan.problem else ""
    return "".join(list_files("keep", plan.kept, " (changed since the run)")) + problem
