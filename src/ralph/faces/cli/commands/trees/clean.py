"""`ralph clean`: what old runs left on disk, removed."""

import os

import click

from ralph.app.cleanup.cleaning import (
    DEFAULT_KEEP_DAYS,
    CleaningPlan,
    add_worktrees,
    clean_up,
    plan_cleaning,
    plan_removal_of_all,
    remove_all,
)
from ralph.app.paths import find_project_paths
from ralph.core.text.quantities import pluralize
from ralph.faces.cli.options.consent import require_consent
from ralph.faces.cli.options.durations import DurationParam


@click.command()
@click.option(
    "--older",
    type=DurationParam(),
    default=f"{DEFAULT_KEEP_DAYS}d",
    show_default=True,
    help="Only runs older than this.",
)
@click.option("--all", "everything", is_flag=True, help="Everything ralph keeps of this repository, whatever its age.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def command(older: float, everything: bool, dry_run: bool, yes: bool) -> None:
    """Remove runs that ended long ago: their folders, records, check logs and snapshots; and work trees of tasks that
    are gone.

    Active and interrupted runs and runs of unfinished tasks are kept; so are settings, commits, and work trees with
    uncommitted changes. --all forgets the repository: tasks, history and
    snapshots."""
    paths = find_project_paths(os.getcwd())
    if everything:
        plan = plan_removal_of_all(paths, os.environ)
    else:
        plan = add_worktrees(plan_cleaning(paths, older, os.environ), paths, older, os.environ)
    click.echo(_describe(plan), nl=False)
    if plan.is_empty or dry_run or not (plan.only_packs or require_consent("Remove this permanently?", yes)):
        return
    if everything:
        remove_all(plan, paths, os.environ)
    else:
        clean_up(plan, paths, os.environ)
    click.echo("Packed." if plan.only_packs else f"Removed {_format_size(plan.size)}.")


def _describe(plan: CleaningPlan) -> str:
    kept = "".join(f"Kept: {tree.folder}, because {tree.problem}.\n" for tree in plan.worktrees if tree.problem)
    if plan.is_empty:
        return f"{kept}Nothing to clean up.\n"
    parts = (
        (plan.runs, "run", "folder and record"),
        (plan.folders, "run folder", "without a record"),
        (plan.logs, "log", "in .ralph/"),
        (plan.snapshots, "run", "snapshots"),
        (plan.removable_worktrees, "work tree", "of tasks and runs that are gone"),
    )
    lines = [f"  {pluralize(len(found), what)} ({note})\n" for found, what, note in parts if found]
    lines += [f"  {folder}\n" for folder in plan.everything]
    removed = f"To remove, {_format_size(plan.size)}:\n{''.join(lines)}" if lines else ""
    packed = f"To pack: {plan.loose} small files of snapshots\n" if plan.loose else ""
    return f"{kept}{removed}{packed}"


def _format_size(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"
