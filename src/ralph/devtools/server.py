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

from ralph.agents._script import Fault, Run
from ralph.devtools import anthropic, gemini, openai_chat, openai_responses
from ralph.devtools.conversation import Answer, Break, Call, Event, Failure, NewId, Pause, Piece, Question, Raw
from ralph.devtools.playing import Playing, checked

HOST = "127.0.0.1"
SECRETS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie"})
MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
Log = Callable[[Mapping[str, object]], object]


class Api(Struct, frozen=True):
    """How one service is spoken to."""

    question: Callable[[Mapping[str, Any], Mapping[str, str]], Question]
    whole: Callable[[Question, Answer, NewId], object]
    stream: Callable[[Question, Answer, NewId], Iterator[Piece]]
    error: Callable[[Failure], object]


GEMINI = Api(gemini.question, gemini.whole, gemini.stream, gemini.error)
APIS = {  # by the end of the path
    "/messages": Api(anthropic.question, anthropic.whole, anthropic.stream, anthropic.error),
    "/responses": Api(
        openai_responses.question, openai_responses.whole, openai_responses.stream, openai_responses.error
    ),
    "/chat/completions": Api(openai_chat.question, openai_chat.whole, openai_chat.stream, openai_chat.error),
    ":streamGenerateContent": GEMINI,
    ":generateContent": GEMINI,
}
COUNTS = {"/messages/count_tokens": anthropic.COUNTED, ":countTokens": gemini.COUNTED}


class ModelServer:
    """Listens from the start, answers between `start` and `close`."""

    def __init__(self, runs: Sequence[Run], port: int = 0, log: Log = len) -> None:
        checked(runs)
        self._http = _Http((HOST, port), _Requests)
        self._http.playing = Playing(runs)
        self._http.log = log
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self._http.server_address[1]}"

    def start(self) -> None:
        """Answer, beside whoever called."""
        self._thread.start()

    def wait_for_the_last_word(self) -> None:
        """Until the last run had it."""
        self._http.over.wait()

    def wait(self) -> None:
        """Until it is closed."""
        self._http.closing.wait()

    def close(self) -> None:
        """Hang up."""
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    playing: Playing
    log: Log

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        """Our own log tells more."""

    def do_HEAD(self) -> None:
        """Claude looks whether anyone is there."""
        self._note()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Which models there are."""
        self._note()
        found = self._path.endswith("/models")
        self._send(MODELS if found else _not_found(self._path), 200 if found else 404)

    def do_POST(self) -> None:
        """A question."""
        body = self._body()
        path = self._path
        if counted := next((told for end, told in COUNTS.items() if path.endswith(end)), None):
            self._note(body)
            return self._send(counted)
        api = next((api for end, api in APIS.items() if path.endswith(end)), None)
        if api is None:
            self._note(body)
            return self._send(_not_found(path), 404)
        return self._answer(api, body)

    def _answer(self, api: Api, body: Mapping[str, Any]) -> None:
        try:
            asked = api.question(body, {name.lower(): value for name, value in self.headers.items()})
        except (AttributeError, KeyError, TypeError) as wrong:
            self._note(body)
            return self._send(api.error(Failure(400, f"not what this API is asked: {wrong!r}")), 400)
        if self._path.endswith(":streamGenerateContent"):
            asked = replace(asked, streams=True)
        try:
            run, answer = self.server.playing.answer(asked)
        except Fault as wrong:
            run, answer = 0, Answer((Failure(400, f"the script: {wrong}"),))
        self._note(body, session=asked.session, run=run, tools=sorted(asked.tools), answer=_told(answer))
        if failure := answer.failure:
            self._pause(answer)
            self._send(api.error(failure), failure.status, _limits(failure))
        elif asked.streams:
            self._stream(api.stream(asked, answer, _new_id))
        else:
            self._pause(answer)
            self._send(api.whole(asked, answer, _new_id), broken=any(isinstance(p, Break) for p in answer.parts))
        if self.server.playing.over:
            self.server.over.set()
        return None

    # -- sending -----------------------------------------------------------------------------------
    def _send(
        self, told: object, status: int = 200, headers: Mapping[str, str] | None = None, broken: bool = False
    ) -> None:
        data = json.dumps(told).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if broken else data)
        self.close_connection = self.close_connection or broken

    def _stream(self, pieces: Iterator[Piece]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            match piece:
                case Pause(seconds):
                    self.server.closing.wait(seconds)
                case Raw(text):
                    self._chunk(text.encode("utf-8", "surrogateescape"))
                case Break():
                    self.close_connection = True
                    return  # without the chunk that tells the end
                case Event(data, name):
                    head = f"event: {name}\n" if name else ""
                    text = data if isinstance(data, str) else json.dumps(data)
                    self._chunk(f"{head}data: {text}\n\n".encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _pause(self, answer: Answer) -> None:
        self.server.closing.wait(sum(part.seconds for part in answer.parts if isinstance(part, Pause)))

    # -- receiving ---------------------------------------------------------------------------------
    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _body(self) -> Mapping[str, Any]:
        data = self._chunks() if "chunked" in self.headers.get("transfer-encoding", "") else self._sized()
        try:
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            body = json.loads(data or b"{}")
        except (ValueError, OSError):
            body = None
        return body if isinstance(body, dict) else {"unreadable": data[:2000].decode("utf-8", "replace")}

    def _sized(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _chunks(self) -> bytes:
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _note(self, body: Mapping[str, Any] | None = None, **more: object) -> None:
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in SECRETS}
        asked = {"at": time.time(), "method": self.command, "path": self.path, "headers": headers}
        self.server.log({**asked, **more, "body": body})


def _limits(failure: Failure) -> dict[str, str]:
    """How services tell when to come back."""
    headers = {}
    if failure.retry_after is not None:
        headers["retry-after"] = f"{failure.retry_after:g}"
    if failure.reset_at is not None:
        headers["anthropic-ratelimit-unified-status"] = "rejected"
        headers["anthropic-ratelimit-unified-reset"] = f"{failure.reset_at:.0f}"
        headers["anthropic-ratelimit-unified-representative-claim"] = "five_hour"
    return headers


def _told(answer: Answer) -> list[str]:
    """An answer in words, for the log."""
    return [
        f"error {part.status}" if isinstance(part, Failure) else part.tool if isinstance(part, Call) else _name(part)
        for part in answer.parts
    ]


def _name(part: object) -> str:
    return type(part).__name__.lower()


def _not_found(path: str) -> object:
    return {"type": "error", "error": {"type": "not_found_error", "message": f"the scripted model has no {path}"}}


def _new_id(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex[:20]}"
