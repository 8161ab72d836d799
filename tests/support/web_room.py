"""A web server in this process, and requests as raw bytes over a real socket."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.faces.web.access_tokens import AccessTokens
from ralph.faces.web.context import WebContext
from ralph.faces.web.repositories import Repositories
from ralph.faces.web.server import build_server, open_listener, serve_context

BEARER = "a-token-of-a-test-0123456789"


class RawAnswer(Struct, frozen=True, kw_only=True):
    """What came back, as far as it was read; status 0: nothing, and the connection was closed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WebFixture:
    """Until it is closed."""

    def __init__(self, paths: Paths, *, shows_all: bool = False) -> None:
        self.tokens = AccessTokens(BEARER)
        self._listener = open_listener("127.0.0.1", 0)
        self.port: int = self._listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        variables: dict[str, str] = {}
        self.context: WebContext
        self._ready = threading.Event()
        self._repositories = Repositories(paths, variables, shows_all=shows_all)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.context = WebContext(
            self._repositories,
            self.tokens,
            variables={"PATH": "/usr/bin:/bin"},
            by="tester (web)",
            build_link=lambda token: f"http://{self.host}/login?t={token}",
        )
        self._server = build_server(self.context)
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(0, self._ready.set)
        await serve_context(self._server, self.context, self._listener)

    def close(self) -> float:
        """How long that took."""
        began = time.monotonic()
        if not self._thread.is_alive():
            return 0.0

        def stop() -> None:
            self._server.should_exit = True
            self.context.close()

        self._loop.call_soon_threadsafe(stop)
        self._thread.join(10)
        assert not self._thread.is_alive()
        return time.monotonic() - began

    # -- requests -----------------------------------------------------------------------------------
    def send_raw(self, data: bytes, timeout: float = 10.0) -> RawAnswer:
        """One request, as it is; the answer up to its end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as client:
            client.sendall(data)
            return read_answer(client)

    def ask(self, method: str, path: str, *lines: str, body: bytes = b"", host: str | None = None) -> RawAnswer:
        """With the right Host unless told; all else stands in the lines."""
        length = [f"Content-Length: {len(body)}"] if body or method in ("POST", "PATCH") else []
        head = [f"{method} {path} HTTP/1.1", f"Host: {host or self.host}", "Connection: close", *length, *lines]
        return self.send_raw("\r\n".join([*head, "", ""]).encode("latin-1") + body)

    def get(self, path: str) -> RawAnswer:
        """As another program."""
        return self.ask("GET", path, f"Authorization: Bearer {BEARER}")

    def post(self, path: str, body: object, method: str = "POST") -> RawAnswer:
        lines = (f"Authorization: Bearer {BEARER}", "Content-Type: application/json")
        return self.ask(method, path, *lines, body=json.dumps(body).encode())

    @property
    def cookie(self) -> str:
        """A browser's, as a line of a head."""
        return f"Cookie: ralph_{self.port}={self.tokens.session}"

    @contextmanager
    def stream(self, *lines: str, query: str = "") -> Iterator["EventReader"]:
        """The events, as they come."""
        head = [f"GET /api/v1/events{query} HTTP/1.1", f"Host: {self.host}", f"Authorization: Bearer {BEARER}", *lines]
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.sendall("\r\n".join([*head, "", ""]).encode())
            yield EventReader(client)


class EventReader:
    """Server-sent events out of a chunked answer."""

    def __init__(self, client: socket.socket) -> None:
        self._file = client.makefile("rb")
        while self._file.readline().strip():
            pass
        self._text = b""
        self.last_id = ""

    def read(self) -> tuple[str, Any]:
        """The next one: its name, and its data."""
        while b"\n\n" not in self._text:
            size = int(self._file.readline().strip() or b"0", 16)
            if not size:
                return "", None
            self._text += self._file.read(size)
            self._file.readline()
        block, _, self._text = self._text.partition(b"\n\n")
        fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if not line.startswith(":"))
        if "event" not in fields:
            return self.read()
        self.last_id = fields["id"]
        return fields["event"], json.loads(fields["data"])

    def read_until(self, event: str) -> Any:
        while True:
            name, data = self.read()
            assert name, "the stream ended"
            if name == event:
                return data


def read_answer(client: socket.socket) -> RawAnswer:
    data = b""
    try:
        while part := client.recv(65536):
            data += part
    except (ConnectionResetError, TimeoutError):
        pass
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}
    return RawAnswer(status=int(first.split(" ")[1]) if first else 0, headers=headers, body=body)
