"""Finds tasks, runs and log lines by words."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ralph.app.board.run_lists import RunFilter, TitledRun, list_titled_runs
from ralph.app.board.tasks import list_tasks_with_text
from ralph.app.paths import Paths
from ralph.core.text.plain import one_line
from ralph.faces.views.log_shapes import find_lines, has_words
from ralph.faces.views.shapes import SearchAnswer, SearchHit

MAX_HITS = 100
MAX_RUNS_MATCHED = 200
MAX_LOGS_SEARCHED = 20  # of the newest runs
MAX_LINES_OF_RUN = 10
MAX_TEXT_CELLS = 200


def search_everything(paths: Paths, query: str) -> SearchAnswer:
    """Tasks first, then runs, then what the newest runs said. No words find nothing."""
    words = query.casefold().split()
    found = list(islice(_find_hits(paths, words), MAX_HITS + 1)) if words else []
    return SearchAnswer(query=query, hits=found[:MAX_HITS], more=len(found) > MAX_HITS)


def _find_hits(paths: Paths, words: Sequence[str]) -> Iterator[SearchHit]:
    for task in list_tasks_with_text(paths):
        if has_words(f"{task.id} {task.title} {task.spec_id} {task.description}", words):
            yield SearchHit(kind="task", id=task.id, title=task.title, text=_quote(task.description, words))
    runs, _ = list_titled_runs(paths, RunFilter(limit=MAX_RUNS_MATCHED))
    for each in runs:
        if has_words(_describe_run(each), words):
            run = each.record
            yield SearchHit(
                kind="run", id=run.id, title=each.title, text=run.why or run.outcome or "", at=run.started_at
            )
    for each in runs[:MAX_LOGS_SEARCHED]:
        for line in find_lines(paths, each.record, words, MAX_LINES_OF_RUN):
            yield SearchHit(kind="line", id=each.record.id, title=each.title, text=line.text, at=line.at)


def _describe_run(each: TitledRun) -> str:
    run = each.record
    return " ".join((run.id, run.kind, run.agent, run.task, each.title, run.outcome or "running", run.why or ""))


def _quote(text: str, words: Sequence[str]) -> str:
    """The line the first of the words stands on."""
    lines = [line for line in text.splitlines() if any(word in line.casefold() for word in words)]
    return one_line(lines[0], MAX_TEXT_CELLS) if lines else ""
