"""The GET routes but for the board and its events: each reads once, in a thread of its own."""

from datetime import datetime

from ralph._version import VERSION
from ralph.app import registry
from ralph.app.board.run_lists import MAX_LISTED_RUNS, RunFilter
from ralph.app.board.specs import list_specs
from ralph.app.runs.spending import GROUPINGS, list_all_expenses, list_expenses, parse_since
from ralph.app.runs.status import find_run
from ralph.config.schema import Settings
from ralph.config.sources import load_settings
from ralph.faces.views.cost_shapes import build_costs_answer, build_stories_answer
from ralph.faces.views.log_shapes import MAX_LINES_ANSWERED, build_log_answer
from ralph.faces.views.run_shapes import build_diff_answer, build_run_answer, list_runs, read_output
from ralph.faces.views.search import search_everything
from ralph.faces.views.shapes import (
    CostsAnswer,
    DiffAnswer,
    LogAnswer,
    OutputAnswer,
    RepositoriesAnswer,
    RunAnswer,
    RunsAnswer,
    SearchAnswer,
    SessionAnswer,
    StoriesAnswer,
    TaskAnswer,
)
from ralph.faces.views.task_shapes import build_task_answer, read_card
from ralph.faces.web.access import CSRF_HEADER
from ralph.faces.web.actions import ACTIONS
from ralph.faces.web.answers import ApiCall
from ralph.model.errors import RalphError, UsageError

DEFAULT_LOG_LINES, DEFAULT_RUNS, MAX_ITERATION = 500, 50, 9999
UNFINISHED_TONES = ("running", "ready", "waiting")


def read_session(call: ApiCall) -> SessionAnswer:
    settings = _load_settings(call)
    return SessionAnswer(
        version=VERSION,
        repository=call.key,
        root=call.paths.root,
        all_repositories=call.context.repositories.shows_all,
        csrf_header=CSRF_HEADER,
        actions=tuple(ACTIONS),
        agents=[name for name in registry.list_extensions("agents") if name != "command"],
        default_agent=settings.agent.command,
        specs=[spec.id for spec, _ in list_specs(call.paths)],
    )


def read_repositories(call: ApiCall) -> RepositoriesAnswer:
    return call.context.repositories.describe()


def read_runs(call: ApiCall) -> RunsAnswer:
    before = call.read_number("before", 0.0, float("inf"))
    wanted = RunFilter(
        limit=max(1, int(call.read_number("limit", DEFAULT_RUNS, MAX_LISTED_RUNS))),
        before=before or None,
        kind=call.query.get("kind", ""),
        task=call.query.get("task", ""),
        active={"": None, "0": False, "1": True}.get(call.query.get("active", "")),
    )
    return list_runs(call.paths, wanted)


def read_run(call: ApiCall) -> RunAnswer:
    return build_run_answer(call.paths, call.names["run"], call.context.variables)


def is_run_unfinished(call: ApiCall) -> bool:
    return find_run(call.paths, call.names["run"]).ended_at is None


def read_diff(call: ApiCall) -> DiffAnswer:
    iteration, older, newer = (int(call.read_number(name, 0, MAX_ITERATION)) for name in ("iteration", "from", "to"))
    if iteration:
        between: tuple[int, int] | None = (iteration - 1, iteration)
    elif "to" in call.query:
        between = (older, newer)
    else:
        between = None
    if between is not None and between[0] >= between[1]:
        raise UsageError("`from` is not before `to`", "ask for ?iteration=N, or ?from=N&to=M with N before M")
    return build_diff_answer(call.paths, call.names["run"], between, call.context.variables)


def read_run_log(call: ApiCall) -> LogAnswer:
    after = call.query.get("after")
    return build_log_answer(
        call.paths,
        call.names["run"],
        after=int(call.read_number("after", 0, 1e12)) if after else None,
        limit=max(1, int(call.read_number("limit", DEFAULT_LOG_LINES, MAX_LINES_ANSWERED))),
        words=call.query.get("q", "").casefold().split(),
    )


def read_run_output(call: ApiCall) -> OutputAnswer:
    return read_output(call.paths, call.names["run"], call.names["name"])


def read_task(call: ApiCall) -> TaskAnswer:
    return build_task_answer(call.paths, call.names["task"], _load_settings(call))


def is_task_unfinished(call: ApiCall) -> bool:
    return read_card(call.paths, call.names["task"]).tone in UNFINISHED_TONES


def read_stories(call: ApiCall) -> StoriesAnswer:
    return build_stories_answer(call.paths)


def read_costs(call: ApiCall) -> CostsAnswer:
    since, asked = call.query.get("since") or "30d", call.query.get("by") or "day"
    by = next((name for name in GROUPINGS if name == asked), None)
    if by is None:
        raise UsageError(f"by={asked[:40]} is not a grouping", f"one of {', '.join(GROUPINGS)}")
    begin = parse_since(since, datetime.now().astimezone())
    everywhere = call.context.repositories.shows_all and "repository" not in call.query
    expenses = (
        list_all_expenses(call.context.variables, call.paths, begin) if everywhere else list_expenses(call.paths, begin)
    )
    return build_costs_answer(expenses, by, since)


def read_search(call: ApiCall) -> SearchAnswer:
    return search_everything(call.paths, call.query.get("q", ""))


def _load_settings(call: ApiCall) -> Settings:
    """What cannot be read is told by `ralph config check`; to look, the defaults do."""
    try:
        return load_settings(call.paths.folder, call.context.variables, seen_from=call.paths.started_in).settings
    except RalphError:
        return Settings()
