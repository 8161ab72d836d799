"""One request through its route: read, done in a thread, answered as JSON; errors with the right status."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ralph.app.paths import Paths, refuse_missing_folder
from ralph.app.runs.agent_connections import refuse_agent_connection
from ralph.core.text.secrets import redact
from ralph.faces.views.encoding import encode_json
from ralph.faces.views.shapes import ErrorAnswer, ErrorDetail
from ralph.model.errors import RalphError, UsageError

if TYPE_CHECKING:
    from ralph.faces.web.context import WebContext

MAX_REQUEST_BYTES = 1 << 20
BODY_SECONDS = 10.0
MAX_WAIT_SECONDS = 300.0
POLL_SECONDS = 0.5
_ResultT = TypeVar("_ResultT")
_BodyT = TypeVar("_BodyT")
STATUS_BY_CODE: Mapping[str, int] = {
    "no_such_run": 404,
    "no_such_task": 404,
    "no_such_spec": 404,
    "no_such_repository": 404,
    "illegal_move": 409,
    "not_running": 409,
    "busy": 409,
    "not_started": 409,
    "inside_agent": 403,
    "no_answer": 504,
    "environment": 503,
    "state_gone": 503,
    "corrupt_state": 503,
    "error": 500,
    "internal": 500,
    "too_large": 413,
    "timeout": 408,
}
DEFAULT_ERROR_STATUS = 400


class TooLarge(RalphError):
    """A body nobody needs."""

    code = "too_large"


class TooSlow(RalphError):
    """A body that does not come."""

    code = "timeout"


class ApiCall(Struct, frozen=True, kw_only=True):
    """A request, as a use case needs it."""

    context: "WebContext"
    key: str  # of the repository
    paths: Paths
    names: Mapping[str, str]  # from the path
    query: Mapping[str, str]
    body: bytes = b""

    def read_body(self, type_: type[_BodyT]) -> _BodyT:
        """UsageError: it is not of that type."""
        try:
            return msgspec.json.decode(self.body or b"{}", type=type_)
        except msgspec.ValidationError as error:
            raise UsageError(f"the body does not fit: {error}", "see /api/v1/openapi.json") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"the body is not JSON: {error}", "send one JSON object") from error

    def read_number(self, name: str, default: float, most: float) -> float:
        """From the query, 0 to `most`."""
        text = self.query.get(name, "")
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise UsageError(f"{name}={text[:40]} is not a number of 0 or more", "see /api/v1/openapi.json")
        return min(value, most)


class Endpoint(Struct, frozen=True, kw_only=True):
    """One route: what it does, and what its documentation says."""

    method: str
    path: str  # below /api/v1/
    summary: str
    handle: Callable[[ApiCall], object]
    answer: type
    body: type | None = None
    query: Sequence[tuple[str, str]] = ()
    is_pending: Callable[[ApiCall], bool] | None = None  # for `?wait=`: whether there is still something to wait for


async def run_in_thread(work: Callable[[], _ResultT]) -> _ResultT:
    """A daemon's: whoever ends the server need not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_ResultT] = loop.create_future()

    def settle(result: _ResultT | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # without an error there is a result

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as problem:  # noqa: BLE001  # it is raised where the answer is made
            error = problem
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the server has ended meanwhile

    threading.Thread(target=run, daemon=True).start()
    return await done


async def answer_call(endpoint: Endpoint, request: Request, context: "WebContext") -> Response:
    """The route's answer, or what went wrong."""
    try:
        call = await _read_call(endpoint, request, context)
        await _wait_while_pending(endpoint, call, request)
        async with context.workers:
            if endpoint.method != "GET":
                await run_in_thread(lambda: _refuse_agents(request, context))
            answer = await run_in_thread(lambda: endpoint.handle(call))
        return Response(encode_json(answer), media_type="application/json")
    except ClientDisconnect:
        return Response(status_code=400)
    except RalphError as error:
        return build_error_response(error)
    except Exception as error:  # noqa: BLE001  # the last line of defence: a bug is told, and the server lives on
        return build_error_response(_wrap_bug(error))


def build_error_response(error: RalphError) -> Response:
    detail = ErrorDetail(code=error.code, message=redact(error.message), hint=redact(error.hint))
    status = STATUS_BY_CODE.get(error.code, DEFAULT_ERROR_STATUS)
    return Response(encode_json(ErrorAnswer(detail)), status, media_type="application/json")


def _refuse_agents(request: Request, context: "WebContext") -> None:
    client, server = request.scope.get("client"), request.scope.get("server")
    if client and server:
        refuse_agent_connection(tuple(client[:2]), tuple(server[:2]), context.repositories.here, context.variables)


async def _read_call(endpoint: Endpoint, request: Request, context: "WebContext") -> ApiCall:
    query = dict(request.query_params)
    key = query.get("repository", "") or context.repositories.key
    paths = await run_in_thread(lambda: context.repositories.find(key))
    body = await _read_body(request) if endpoint.method != "GET" else b""
    if endpoint.method != "GET":
        refuse_missing_folder(paths)  # else what is written would bring a deleted folder back
    return ApiCall(context=context, key=key, paths=paths, names=request.path_params, query=query, body=body)


async def _read_body(request: Request) -> bytes:
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > MAX_REQUEST_BYTES:
        raise TooLarge(f"the body has more than {MAX_REQUEST_BYTES} bytes", "send less")
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MAX_REQUEST_BYTES:
                    raise TooLarge(f"the body has more than {MAX_REQUEST_BYTES} bytes", "send less")
                parts.append(part)
    except TimeoutError:
        raise TooSlow(f"the body did not come within {BODY_SECONDS:g} s", "send it at once") from None
    return b"".join(parts)


async def _wait_while_pending(endpoint: Endpoint, call: ApiCall, request: Request) -> None:
    pending = endpoint.is_pending
    wait = call.read_number("wait", 0.0, MAX_WAIT_SECONDS)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait
    while pending is not None and loop.time() < deadline and not call.context.is_closing:
        async with call.context.workers:  # only while it looks: many may wait for long
            if not await run_in_thread(lambda: pending(call)):
                return
        await asyncio.sleep(min(POLL_SECONDS, max(0.0, deadline - loop.time())))
        if await request.is_disconnected():
            raise ClientDisconnect


def _wrap_bug(error: Exception) -> RalphError:
    bug = RalphError(f"internal error: {type(error).__name__}: {error}", "this is a bug in ralph: please report it")
    bug.code = "internal"
    return bug
