"""A collector of spans on this machine: OTLP over HTTP."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class SpanCollector:
    """Keeps every span it gets."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resource: dict[str, str] = {}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
                for group in request.resource_spans:
                    collector.resource = {each.key: each.value.string_value for each in group.resource.attributes}
                    collector.spans += [span for scope in group.scope_spans for span in scope.spans]
                self.send_response(200 if self.path == "/v1/traces" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def find(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def read_attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


@contextmanager
def collect_spans() -> Iterator[SpanCollector]:
    made = SpanCollector()
    try:
        yield made
    finally:
        made.close()


@contextmanager
def refuse_to_answer() -> Iterator[str]:
    """The address of a service that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
