"""Use case: what a run, or the last run of a task, changed, for who looks at its card."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.runs.kept_files import diff_run
from ralph.app.runs.receipt import Receipt, build_receipt
from ralph.model.errors import RalphError

_FILE_MARK = "diff --git "


class FileDiffStat(Struct, frozen=True):
    """A file, and how many lines came and went."""

    path: str
    added: int = 0
    removed: int = 0


class RunChanges(Struct, frozen=True, kw_only=True):
    """A diff, and which files it is about; else why there is none."""

    run: str
    diff: str = ""
    files: tuple[FileDiffStat, ...] = ()
    problem: str = ""


class RunDetails(Struct, frozen=True, kw_only=True):
    """All there is to tell about a run."""

    receipt: Receipt
    changes: RunChanges


def load_changes(paths: Paths, run: str, variables: Mapping[str, str]) -> RunChanges:
    """It asks git: not for a thread that has to draw."""
    try:
        diff = diff_run(paths, run, None, variables)
    except RalphError as error:
        return RunChanges(run=run, problem=error.message)
    return RunChanges(run=run, diff=diff, files=tuple(count_changed_lines(diff.splitlines())))


def load_run_details(paths: Paths, run: str, variables: Mapping[str, str], now: float) -> RunDetails:
    return RunDetails(receipt=build_receipt(paths, run, variables, now), changes=load_changes(paths, run, variables))


def count_changed_lines(diff: Sequence[str]) -> list[FileDiffStat]:
    """Of each file of a diff; its heading lines do not count."""
    found: list[FileDiffStat] = []
    is_heading = True
    for line in diff:
        if line.startswith(_FILE_MARK):
            found.append(FileDiffStat(line.rpartition(" b/")[2]))
            is_heading = True
        elif line.startswith("@@"):
            is_heading = False
        elif found and not is_heading and line[:1] in ("+", "-"):
            last, added = found[-1], line[0] == "+"
            found[-1] = FileDiffStat(last.path, last.added + added, last.removed + (not added))
    return found
