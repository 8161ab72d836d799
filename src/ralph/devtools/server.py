"""The scripted model server: four APIs on 127.0.0.1, one script, every request kept."""

import gzip
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._script import ScriptError, ScriptRun
from ralph.devtools import anthropic, gemini, openai_chat, openai_responses
from ralph.devtools.conversation import (
    Disconnect,
    IdFactory,
    ModelReply,
    ModelRequest,
    Pause,
    RawText,
    ServiceError,
    StreamEvent,
    StreamPiece,
    ToolCall,
)
from ralph.devtools.playing import ScriptPlayback, check_script

SERVER_HOST = "127.0.0.1"
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie"})
MODELS_REPLY = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
RequestLog = Callable[[Mapping[str, object]], object]


class Api(Struct, frozen=True, kw_only=True):
    """How one service is spoken to."""

    parse_request: Callable[[Mapping[str, Any], Mapping[str, str]], ModelRequest]
    render_reply: Callable[[ModelRequest, ModelReply, IdFactory], object]
    stream_reply: Callable[[ModelRequest, ModelReply, IdFactory], Iterator[StreamPiece]]
    render_error: Callable[[ServiceError], object]


GEMINI_API = Api(
    parse_request=gemini.parse_gemini_request,
    render_reply=gemini.render_gemini_reply,
    stream_reply=gemini.stream_gemini_reply,
    render_error=gemini.render_gemini_error,
)
APIS = {  # by the end of the path
    "/messages": Api(
        parse_request=anthropic.parse_anthropic_request,
        render_reply=anthropic.render_anthropic_reply,
        stream_reply=anthropic.stream_anthropic_reply,
        render_error=anthropic.render_anthropic_error,
    ),
    "/responses": Api(
        parse_request=openai_responses.parse_responses_request,
        render_reply=openai_responses.render_responses_reply,
        stream_reply=openai_responses.stream_responses_reply,
        render_error=openai_responses.render_openai_error,
    ),
    "/chat/completions": Api(
        parse_request=openai_chat.parse_chat_request,
        render_reply=openai_chat.render_chat_reply,
        stream_reply=openai_chat.stream_chat_reply,
        render_error=openai_chat.render_openai_error,
    ),
    ":streamGenerateContent": GEMINI_API,
    ":generateContent": GEMINI_API,
}
TOKEN_COUNTS = {"/messages/count_tokens": anthropic.ANTHROPIC_TOKEN_COUNT, ":countTokens": gemini.GEMINI_TOKEN_COUNT}


class ModelServer:
    """Listens from the start, answers between `start` and `close`."""

    def __init__(self, runs: Sequence[ScriptRun], port: int = 0, log: RequestLog = len) -> None:
        check_script(runs)
        self._http = _HttpServer((SERVER_HOST, port), _RequestHandler)
        self._http.playback = ScriptPlayback(runs)
        self._http.log = log
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://{SERVER_HOST}:{self._http.server_address[1]}"

    def start(self) -> None:
        """Answer, beside whoever called."""
        self._thread.start()

    def wait_until_played(self) -> None:
        self._http.over.wait()

    def wait(self) -> None:
        self._http.closing.wait()

    def close(self) -> None:
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    playback: ScriptPlayback
    log: RequestLog

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        """Claude looks whether anyone is there."""
        self._log_question()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._log_question()
        found = self._path.endswith("/models")
        self._send(MODELS_REPLY if found else _build_not_found(self._path), 200 if found else 404)

    def do_POST(self) -> None:
        body = self._read_body()
        path = self._path
        if counted := next((content for end, content in TOKEN_COUNTS.items() if path.endswith(end)), None):
            self._log_question(body)
            return self._send(counted)
        api = next((api for end, api in APIS.items() if path.endswith(end)), None)
        if api is None:
            self._log_question(body)
            return self._send(_build_not_found(path), 404)
        return self._answer_request(api, body)

    def _answer_request(self, api: Api, body: Mapping[str, Any]) -> None:
        try:
            asked = api.parse_request(body, {name.lower(): value for name, value in self.headers.items()})
        except (AttributeError, KeyError, TypeError) as wrong:
            self._log_question(body)
            return self._send(
                api.render_error(ServiceError(status=400, message=f"not what this API is asked: {wrong!r}")), 400
            )
        if self._path.endswith(":streamGenerateContent"):
            asked = replace(asked, streams=True)
        try:
            run, answer = self.server.playback.answer_request(asked)
        except ScriptError as wrong:
            run, answer = 0, ModelReply((ServiceError(status=400, message=f"the script: {wrong}"),))
        self._log_question(
            body, session=asked.session, run=run, tools=sorted(asked.tools), answer=_describe_reply(answer)
        )
        if failure := answer.failure:
            self._wait_out_pauses(answer)
            self._send(api.render_error(failure), failure.status, _build_limit_headers(failure))
        elif asked.streams:
            self._send_stream(api.stream_reply(asked, answer, _make_id))
        else:
            self._wait_out_pauses(answer)
            self._send(
                api.render_reply(asked, answer, _make_id), broken=any(isinstance(p, Disconnect) for p in answer.parts)
            )
        if self.server.playback.is_over:
            self.server.over.set()
        return None

    # -- sending -----------------------------------------------------------------------------------
    def _send(
        self, content: object, status: int = 200, headers: Mapping[str, str] | None = None, broken: bool = False
    ) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if broken else data)
        self.close_connection = self.close_connection or broken

    def _send_stream(self, pieces: Iterator[StreamPiece]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            match piece:
                case Pause(seconds):
                    self.server.closing.wait(seconds)
                case RawText(text):
                    self._send_chunk(text.encode("utf-8", "surrogateescape"))
                case Disconnect():
                    self.close_connection = True
                    return  # without the chunk that tells the end
                case StreamEvent(data, name):
                    head = f"event: {name}\n" if name else ""
                    text = data if isinstance(data, str) else json.dumps(data)
                    self._send_chunk(f"{head}data: {text}\n\n".encode())
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _wait_out_pauses(self, answer: ModelReply) -> None:
        self.server.closing.wait(sum(part.seconds for part in answer.parts if isinstance(part, Pause)))

    # -- receiving ---------------------------------------------------------------------------------
    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _read_body(self) -> Mapping[str, Any]:
        data = self._read_chunks() if "chunked" in self.headers.get("transfer-encoding", "") else self._read_sized()
        try:
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            body = json.loads(data or b"{}")
        except (ValueError, OSError):
            body = None
        return body if isinstance(body, dict) else {"unreadable": data[:2000].decode("utf-8", "replace")}

    def _read_sized(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _read_chunks(self) -> bytes:
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _log_question(self, body: Mapping[str, Any] | None = None, **more: object) -> None:
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in SECRET_HEADERS}
        asked = {"at": time.time(), "method": self.command, "path": self.path, "headers": headers}
        self.server.log({**asked, **more, "body": body})


def _build_limit_headers(failure: ServiceError) -> dict[str, str]:
    """How services tell when to come back."""
    headers = {}
    if failure.retry_after is not None:
        headers["retry-after"] = f"{failure.retry_after:g}"
    if failure.reset_at is not None:
        headers["anthropic-ratelimit-unified-status"] = "rejected"
        headers["anthropic-ratelimit-unified-reset"] = f"{failure.reset_at:.0f}"
        headers["anthropic-ratelimit-unified-representative-claim"] = "five_hour"
    return headers


def _describe_reply(answer: ModelReply) -> list[str]:
    """An answer in words, for the log."""
    return [
        f"error {part.status}"
        if isinstance(part, ServiceError)
        else part.tool
        if isinstance(part, ToolCall)
        else _get_part_name(part)
        for part in answer.parts
    ]


def _get_part_name(part: object) -> str:
    return type(part).__name__.lower()


def _build_not_found(path: str) -> object:
    return {"type": "error", "error": {"type": "not_found_error", "message": f"the scripted model has no {path}"}}


def _make_id(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex[:20]}"
