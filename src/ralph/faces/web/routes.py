"""All routes of the server: the API's as a table, and those beside it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import get_args

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ralph.app.control.launching import StartBody
from ralph.faces.views.encoding import encode_json
from ralph.faces.views.shapes import (
    BoardAnswer,
    CostsAnswer,
    DiffAnswer,
    DoneAnswer,
    LinkAnswer,
    LogAnswer,
    OutputAnswer,
    RepositoriesAnswer,
    RunAnswer,
    RunsAnswer,
    SearchAnswer,
    SessionAnswer,
    StartAnswer,
    StoriesAnswer,
    TaskAnswer,
)
from ralph.faces.web import actions, launch, reading
from ralph.faces.web.answers import (
    MAX_WAIT_SECONDS,
    ApiCall,
    Endpoint,
    answer_call,
    build_error_response,
    run_in_thread,
)
from ralph.faces.web.context import WebContext
from ralph.faces.web.events import EventStream
from ralph.faces.web.feed import FEED_SECONDS
from ralph.faces.web.metrics import CONTENT_TYPE, render_metrics
from ralph.faces.web.openapi import API_ROOT, build_openapi
from ralph.model.errors import RalphError

STATIC_FOLDER = os.path.join(os.path.dirname(__file__), "static")
INDEX_FILE = "index.html"
_WAIT_RUN = ("wait", "Answer only when the run has ended, or after so many seconds.")
_WAIT_TASK = ("wait", "Answer only when the task is done, blocked, cancelled or failed, or after so many seconds.")
_WAIT_BOARD = ("wait", "Answer only when the board is another than `after`, or after so many seconds.")


def _answer_by_feed(call: ApiCall) -> object:
    raise AssertionError(call)  # the board is the feed's: see `_board`


BOARD_ENDPOINT = Endpoint(
    method="GET",
    path="board",
    summary="The board: tasks, active runs, the latest lines",
    handle=_answer_by_feed,
    answer=BoardAnswer,
    query=(_WAIT_BOARD, ("after", "The version of the board that is known.")),
)
READ_ENDPOINTS = (
    Endpoint(
        method="GET",
        path="session",
        summary="What a page has to know first",
        handle=reading.read_session,
        answer=SessionAnswer,
    ),
    Endpoint(
        method="GET",
        path="repositories",
        summary="The repositories this server shows",
        handle=reading.read_repositories,
        answer=RepositoriesAnswer,
    ),
    Endpoint(
        method="GET",
        path="runs",
        summary="Runs of all loops, the newest first",
        handle=reading.read_runs,
        answer=RunsAnswer,
        query=(
            ("limit", "How many; 50 unless told."),
            ("before", "Only those that started before that unix time."),
            ("kind", "Only run, execute, story or supervise."),
            ("task", "Only those of that task."),
            ("active", "1: only active ones; 0: only ended ones."),
        ),
    ),
    Endpoint(
        method="GET",
        path="runs/{run}",
        summary="All of one run: iterations, checks, cost, snapshots, proof",
        handle=reading.read_run,
        answer=RunAnswer,
        query=(_WAIT_RUN,),
        is_pending=reading.is_run_unfinished,
    ),
    Endpoint(
        method="GET",
        path="runs/{run}/diff",
        summary="What a run, or some of its iterations, changed",
        handle=reading.read_diff,
        answer=DiffAnswer,
        query=(
            ("iteration", "Only what that iteration changed."),
            ("from", "From the state after that iteration; 0: the start."),
            ("to", "To the state after that iteration."),
        ),
    ),
    Endpoint(
        method="GET",
        path="runs/{run}/log",
        summary="What a run said and did, line by line",
        handle=reading.read_run_log,
        answer=LogAnswer,
        query=(
            ("after", "`next` of the last answer; without it, the last lines."),
            ("limit", "How many; 500 unless told."),
            ("q", "Only lines with all of these words."),
        ),
    ),
    Endpoint(
        method="GET",
        path="runs/{run}/outputs/{name}",
        summary="What a check or an agent printed",
        handle=reading.read_run_output,
        answer=OutputAnswer,
    ),
    Endpoint(
        method="GET",
        path="tasks/{task}",
        summary="All of one task",
        handle=reading.read_task,
        answer=TaskAnswer,
        query=(_WAIT_TASK,),
        is_pending=reading.is_task_unfinished,
    ),
    Endpoint(
        method="GET",
        path="stories",
        summary="The stories of this project",
        handle=reading.read_stories,
        answer=StoriesAnswer,
    ),
    Endpoint(
        method="GET",
        path="costs",
        summary="What agents cost, over time and by group",
        handle=reading.read_costs,
        answer=CostsAnswer,
        query=(
            ("since", "today, yesterday, 7d, 24h, 2w, a date, or all; 30d unless told."),
            ("by", "day, task, agent, model, run or repository."),
        ),
    ),
    Endpoint(
        method="GET",
        path="search",
        summary="Tasks, runs and log lines with all of the words",
        handle=reading.read_search,
        answer=SearchAnswer,
        query=(("q", "The words."),),
    ),
)
WRITE_ENDPOINTS = (
    Endpoint(
        method="POST",
        path="runs",
        summary="Start a loop; it outlives this server",
        handle=launch.start_new_run,
        answer=StartAnswer,
        body=StartBody,
    ),
    Endpoint(
        method="POST",
        path="tasks",
        summary="Create a task, described as in YAML",
        handle=actions.create_new_task,
        answer=DoneAnswer,
        body=dict[str, object],
    ),
    Endpoint(
        method="PATCH",
        path="tasks/{task}",
        summary="Change a task: title, priority, dependencies, status …",
        handle=actions.change_task,
        answer=DoneAnswer,
        body=actions.TaskEditBody,
    ),
    Endpoint(
        method="POST",
        path="links",
        summary="Another one-time link, for another browser",
        handle=actions.issue_link,
        answer=LinkAnswer,
        body=actions.EmptyBody,
    ),
    Endpoint(
        method="POST",
        path="executes/stop",
        summary="End a whole `ralph execute`, gently or now",
        handle=actions.end_execute,
        answer=DoneAnswer,
        body=actions.StopBody,
    ),
    Endpoint(
        method="POST",
        path="executes/pause",
        summary="Start no more agents of any task of a `ralph execute`",
        handle=actions.pause_all,
        answer=DoneAnswer,
        body=actions.PauseBody,
    ),
    Endpoint(
        method="POST",
        path="executes/resume",
        summary="Let agents of its tasks start again",
        handle=actions.resume_all,
        answer=DoneAnswer,
        body=actions.EmptyBody,
    ),
    *(
        Endpoint(
            method="POST",
            path=f"{kind}s/{{{kind}}}/{name}",
            summary=action.summary.format(kind=kind),
            handle=actions.bind_action(kind, action),
            answer=DoneAnswer,
            body=action.body,
        )
        for kind in get_args(actions.SteeredKind)
        for name, action in actions.ACTIONS.items()
    ),
)
ENDPOINTS = (BOARD_ENDPOINT, *READ_ENDPOINTS, *WRITE_ENDPOINTS)


def build_app(context: WebContext) -> Starlette:
    """Without its gate."""
    api = [_build_route(each, context) for each in (*READ_ENDPOINTS, *WRITE_ENDPOINTS)]
    beside = [
        Route(f"{API_ROOT}/board", _bind(_answer_board, context)),
        Route(f"{API_ROOT}/events", _bind(_answer_events, context)),
        Route(f"{API_ROOT}/openapi.json", _bind(_answer_openapi, context)),
        Route("/metrics", _bind(_answer_metrics, context)),
        Route("/", _bind(_answer_index, context)),
        Mount("/static", StaticFiles(directory=STATIC_FOLDER, check_dir=False)),
    ]
    return Starlette(routes=[*api, *beside])


Handler = Callable[[Request, WebContext], Awaitable[Response | EventStream]]


def _bind(handler: Handler, context: WebContext) -> Callable[[Request], Awaitable[Response | EventStream]]:
    async def handle(request: Request) -> Response | EventStream:
        try:
            return await handler(request, context)
        except RalphError as error:
            return build_error_response(error)

    return handle


def _build_route(endpoint: Endpoint, context: WebContext) -> Route:
    async def handle(request: Request) -> Response:
        return await answer_call(endpoint, request, context)

    return Route(f"{API_ROOT}/{endpoint.path}", handle, methods=[endpoint.method])


async def _answer_board(request: Request, context: WebContext) -> Response:
    key = request.query_params.get("repository") or context.repositories.key
    paths = await run_in_thread(lambda: context.repositories.find(key))
    call = ApiCall(context=context, key=key, paths=paths, names={}, query=dict(request.query_params))
    after = call.query.get("after", "")
    deadline = asyncio.get_running_loop().time() + call.read_number("wait", 0.0, MAX_WAIT_SECONDS)
    while True:
        board = await context.feed.read_board(key, paths)
        is_late = asyncio.get_running_loop().time() >= deadline or context.is_closing
        if board.version != after or is_late:
            return Response(encode_json(board), media_type="application/json")
        await asyncio.sleep(FEED_SECONDS)


async def _answer_events(request: Request, context: WebContext) -> EventStream:
    key = request.query_params.get("repository") or context.repositories.key
    paths = await run_in_thread(lambda: context.repositories.find(key))
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return EventStream(context.feed, key, paths, after)


async def _answer_openapi(request: Request, context: WebContext) -> Response:
    return Response(encode_json(build_openapi(ENDPOINTS)), media_type="application/json")


async def _answer_metrics(request: Request, context: WebContext) -> Response:
    text = await run_in_thread(lambda: render_metrics(context.repositories.list_places()))
    return Response(text, media_type=CONTENT_TYPE)


async def _answer_index(request: Request, context: WebContext) -> Response:
    try:
        with open(os.path.join(STATIC_FOLDER, INDEX_FILE), encoding="utf-8") as file:
            return Response(file.read(), media_type="text/html; charset=utf-8")
    except OSError:
        return Response("ralph: the page is not in this installation; the API is at /api/v1\n", 404)
