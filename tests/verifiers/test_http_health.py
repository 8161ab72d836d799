"""A URL that must answer."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from ralph.model.errors import ConfigError
from ralph.model.verdict import Verdict
from ralph.verifiers.http_health import build
from support.claimed import make_claim, make_tools


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = int(self.path.partition("?")[0].rpartition("/")[2] or 200)
        self.send_response(status)
        self.send_header("Location", "/200")
        self.end_headers()
        self.wfile.write(f"all is well at {self.path}".encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def verdict(url: str, **config: Any) -> Verdict:
    return build({"url": url, **config}, make_tools()).verify(make_claim())


def test_the_right_answer_passes(site: str) -> None:
    found = verdict(f"{site}/200")
    assert (found.method, found.verified, found.reason) == ("http_health", True, f"{site}/200 answered 200")
    assert verdict(site).verified
    assert verdict(f"{site}/404?x=1", status=404).verified
    assert verdict(f"{site}/200?q=7", output_contains="well at /200?q=7").verified


def test_another_answer_fails(site: str) -> None:
    assert verdict(f"{site}/503").reason == f"{site}/503 answered 503, expected 200"
    assert verdict(f"{site}/302").reason == f"{site}/302 answered 302, expected 200"  # not followed
    assert verdict(f"{site}/200", output_contains="ill").reason == "Output doesn't contain: ill"


def test_nobody_there_fails_with_the_reason() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        found = verdict(url)
    assert not found.verified
    assert found.reason.startswith(f"{url} does not answer: ")
    assert "refused" in found.reason


def drip(line: socket.socket) -> int:
    for _ in range(15):
        line.send(b"H")
        time.sleep(0.1)
    return 15


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda line: time.sleep(1.5),
        drip,
        lambda line: line.send(b"HTTP/1.0 200 OK\r\n\r\n") and drip(line),
        lambda line: line.send(b"no http at all\r\n\r\n"),
        lambda line: line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort"),
    ],
    ids=["silent", "dripping", "endless", "gibberish", "cut"],
)
def test_a_bad_server_fails_in_time(behaviour: Callable[[socket.socket], object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                try:
                    line.recv(1000)
                    behaviour(line)
                except OSError:
                    pass  # the gate has hung up

        thread = threading.Thread(target=serve)
        thread.start()
        began = time.monotonic()
        found = verdict(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=0.5, output_contains="well")
        assert not found.verified
        assert time.monotonic() - began < 1.4
        thread.join()


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:80", "ftp://x/", "http://", "http://x:99999/", "http://x/a b", "file:///etc/passwd"]
)
def test_a_url_has_to_be_one(url: str) -> None:
    with pytest.raises(ConfigError, match=r"url .*for http_health verification"):
        build({"url": url}, make_tools())
