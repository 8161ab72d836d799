"""`ralph recover`: files that were lost after a run, brought back."""

import os

import click

from ralph.app.cleanup.recover import RecoveryPlan, plan_recovery, recover_files
from ralph.app.paths import find_project_paths
from ralph.faces.cli.options.consent import require_consent
from ralph.faces.cli.options.run_names import complete_any_run
from ralph.faces.cli.terminal.files import list_files
from ralph.faces.proof_words import COMMIT_HASH_CHARS


@click.command()
@click.argument("run", default="", shell_complete=complete_any_run)
@click.option("--dry-run", is_flag=True, help="Show what would be done.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def command(run: str, dry_run: bool, yes: bool) -> None:
    """Recover files that RUN (or the last run) left and that were lost since: by `git reset --hard`,
    `git checkout .`, `git clean -fdx`, or with a deleted work tree.

    Missing and reset files are restored from the run's last snapshot; files that were changed since are not touched.
    Files that git ignores are in no snapshot."""
    paths = find_project_paths(os.getcwd())
    plan = plan_recovery(paths, run, os.environ)
    click.echo(_describe(plan), nl=False)
    if not (plan.paths or plan.is_gone) or dry_run or not require_consent("Restore these?", yes):
        return
    before = recover_files(plan, paths, os.environ)
    click.echo(f"Restored in {plan.folder}.")
    if before:
        click.echo(f"To undo: ralph restore {before[:COMMIT_HASH_CHARS]}")


def _describe(plan: RecoveryPlan) -> str:
    lines = []
    if plan.is_gone:
        lines.append(f"{plan.folder} is gone: all files of run {plan.run} can be restored there.\n")
    elif not plan.paths:
        lines.append(f"Nothing is lost: every file that run {plan.run} left is there.\n")
    else:
        lines.append(f"Files of run {plan.run}, as they were {plan.title}:\n")
    lines += list_files("restore", plan.missing, " (is gone)")
    lines += list_files("restore", plan.reset, " (was reset)")
    lines += list_files("keep", plan.others, " (changed since the run)")
    if plan.others:
        lines.append(f"To restore those too: ralph restore {plan.commit[:COMMIT_HASH_CHARS]}\n")
    if plan.lost_commit:
        short = plan.lost_commit[:COMMIT_HASH_CHARS]
        lines.append(f"Commit {short} is not on this branch any more. To bring it back: git merge {short}\n")
    return "".join(lines)
