"""Makes the answers about runs: lists, a run's page, its diff, its log and what its checks printed."""

import os
import stat
import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ralph.app.board.iteration_strip import build_strip
from ralph.app.board.run_lists import RunFilter, TitledRun, list_titled_runs, load_run_start
from ralph.app.control.notes import list_notes
from ralph.app.paths import Paths
from ralph.app.runs.kept_files import diff_run
from ralph.app.runs.receipt import Receipt, build_receipt
from ralph.app.runs.recovery import find_run_liveness
from ralph.app.runs.status import find_run
from ralph.core.text.plain import sanitize
from ralph.core.text.secrets import redact
from ralph.faces.check_words import shorten_agent
from ralph.faces.views.shapes import (
    ChangedFile,
    DiffAnswer,
    NoteView,
    OutputAnswer,
    OutputFile,
    RunAnswer,
    RunsAnswer,
    RunView,
)
from ralph.model.errors import NoSuchRun
from ralph.model.runs import RunRecord

MAX_SHOWN_DIFF_CHARS = 1 << 20
MAX_OUTPUT_BYTES = 1 << 18
OUTPUT_SUFFIX = ".log"


def list_runs(paths: Paths, wanted: RunFilter) -> RunsAnswer:
    found, more = list_titled_runs(paths, wanted)
    return RunsAnswer(runs=[build_run_view(each) for each in found], more=more)


def build_run_view(each: TitledRun) -> RunView:
    run, active = each.record, each.record.ended_at is None
    return RunView(
        id=run.id,
        kind=run.kind,
        agent=shorten_agent(run.agent),
        task=run.task,
        title=each.title,
        active=active,
        alive=_tell_liveness(run) if active else None,
        iteration=run.iteration,
        limit=run.limit,
        doing=run.doing if active else "",
        outcome=run.outcome or "",
        why=run.why or "",
        started_at=run.started_at,
        ended_at=run.ended_at,
        seconds=run.elapsed,
        changed_at=run.changed_at,
        cost_usd=run.cost_usd,
        parent=run.parent or "",
        pid=run.pid if active else 0,
        folder=run.folder,
        paused_by=run.paused_by,
        question=run.question,
    )


def build_run_answer(paths: Paths, name: str, variables: Mapping[str, str]) -> RunAnswer:
    """All of one run, by its id or the beginning of it."""
    receipt, record = build_receipt(paths, name, variables, time.time()), find_run(paths, name)
    titled, _ = list_titled_runs(paths, RunFilter(limit=1, before=record.started_at + 1e-6, kind=record.kind))
    title = next((each.title for each in titled if each.record.id == record.id), record.task)
    start = load_run_start(paths, record.id)
    request = {"prompt_file": start.prompt_file, "tasks": start.tasks, "jobs": start.jobs, "target": start.target}
    return RunAnswer(
        run=_add_strip(build_run_view(TitledRun(record=record, title=title)), receipt),
        prompt=redact(start.prompt or ""),
        request={key: value for key, value in request.items() if value},
        usage=receipt.usage,
        limits=receipt.limits,
        earlier_cost_usd=receipt.earlier_cost_usd,
        before=receipt.before,
        iterations=receipt.iterations,
        snapshots=receipt.snapshots,
        outputs=list_outputs(paths, record.id),
        proof=receipt.proof,
        unread=receipt.unread,
        notes=list_note_views(paths, record.id),
    )


def list_note_views(paths: Paths, name: str) -> list[NoteView]:
    """What people told a run or a task, in their order."""
    return [
        NoteView(
            at=each.at,
            author=each.note.by,
            text=each.note.text,
            kind="answer" if each.note.question else "note",
            heard=bool(each.heard_by),
        )
        for each in list_notes(paths, name)
    ]


def build_diff_answer(
    paths: Paths, name: str, between: tuple[int, int] | None, variables: Mapping[str, str]
) -> DiffAnswer:
    text = diff_run(paths, name, between, variables)
    is_one = between is not None and between[1] - between[0] == 1
    return DiffAnswer(
        run=find_run(paths, name).id,
        iteration=between[1] if between and is_one else None,
        text=sanitize(text[:MAX_SHOWN_DIFF_CHARS]),
        truncated=len(text) > MAX_SHOWN_DIFF_CHARS,
        files=list_changed_files(text),
    )


def list_changed_files(diff: str) -> list[ChangedFile]:
    """With how many lines were added and removed. Lines of a hunk are told from heads by the hunk's own count."""
    found: list[tuple[str, int, int]] = []
    left = (0, 0)  # lines of this hunk that are still to come: old, new
    for line in diff.splitlines():
        if left > (0, 0) and line[:1] in (" ", "+", "-"):
            path, added, removed = found[-1]
            found[-1] = (path, added + (line[0] == "+"), removed + (line[0] == "-"))
            left = (left[0] - (line[0] != "+"), left[1] - (line[0] != "-"))
        elif line.startswith("diff --git "):
            found.append((_read_git_path(line), 0, 0))
            left = (0, 0)
        elif line.startswith("@@ ") and found:
            left = _read_hunk_size(line)
    return [ChangedFile(path=sanitize(path), added=added, removed=removed) for path, added, removed in found]


def list_outputs(paths: Paths, run: str) -> Sequence[OutputFile]:
    try:
        entries = sorted(os.scandir(paths.run_dir(run)), key=lambda entry: entry.name)
    except OSError:
        return ()
    return [
        OutputFile(name=entry.name, size=entry.stat(follow_symlinks=False).st_size)
        for entry in entries
        if entry.name.endswith(OUTPUT_SUFFIX) and entry.is_file(follow_symlinks=False)
    ]


def read_output(paths: Paths, name: str, file_name: str) -> OutputAnswer:
    """The end of it. Only a file of the run's own folder, never what a link points to."""
    run = find_run(paths, name).id
    try:
        handle = os.open(os.path.join(paths.run_dir(run), file_name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise _explain_missing_output(run, file_name) from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not file_name.endswith(OUTPUT_SUFFIX):
            raise _explain_missing_output(run, file_name)
        file.seek(max(0, found.st_size - MAX_OUTPUT_BYTES))
        data = file.read(MAX_OUTPUT_BYTES)
    return OutputAnswer(
        name=file_name,
        size=found.st_size,
        text=redact(sanitize(data.decode("utf-8", "replace"))),
        truncated=found.st_size > MAX_OUTPUT_BYTES,
    )


def _explain_missing_output(run: str, file_name: str) -> NoSuchRun:
    return NoSuchRun(f"run {run} has no file {file_name}", "its files are listed in `outputs` of the run")


def _add_strip(view: RunView, receipt: Receipt) -> RunView:
    return replace(view, strip=build_strip(receipt.iterations, is_active=view.active, outcome=receipt.outcome))


def _tell_liveness(run: RunRecord) -> bool | None:
    return {"alive": True, "dead": False, "unknown": None}[find_run_liveness(run)]


def _read_git_path(line: str) -> str:
    """Of `diff --git a/x b/x`; a renamed one by its new name."""
    return line.rpartition(" b/")[2] if " b/" in line else line.removeprefix("diff --git ")


def _read_hunk_size(line: str) -> tuple[int, int]:
    """Of `@@ -1,3 +1,4 @@`."""
    try:
        old, new = (part.partition(",") for part in line.split(" ")[1:3])
        return int(old[2] or 1), int(new[2] or 1)
    except ValueError:
        return 0, 0
