"""A URL that must answer."""

import socket
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Config, Tools, Verdict, Verifier
from ralph.verifiers._options import parsed

VERIFIES = "that a URL answers as it should"
NAME = "http_health"
BODY_LIMIT = 1 << 20


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    url: str = ""
    status: int = 200
    output_contains: str = ""
    timeout: Annotated[float, Meta(gt=0)] = 10.0


def build(config: Config, tools: Tools) -> Verifier:
    """`url` must be given."""
    options = parsed(NAME, Options, config)
    if not options.url:
        raise ConfigError("No url specified for http_health verification", 'add "url": "http://127.0.0.1:8000/health"')
    try:
        parts = urlsplit(options.url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(ord(letter) <= ord(" ") for letter in options.url):
        raise ConfigError(f"Invalid url for http_health verification: {options.url!r}", "http://HOST[:PORT]/PATH")
    return HttpHealth(options)


class HttpHealth:
    """One GET; redirects are answers, not followed. It is over when the time is over, however slowly bytes drip."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def verify(self, claim: Claim) -> Verdict:
        """Ask once."""
        options = self._options
        began = time.monotonic()
        try:
            status, body = _answer(options)
        except (OSError, HTTPException, ValueError) as error:  # ValueError: what the server sent is no HTTP
            reason = f"{options.url} does not answer: {error or type(error).__name__}"
            return Verdict(NAME, False, reason, seconds=time.monotonic() - began)
        reason = _objection(options, status, body)
        seconds = time.monotonic() - began
        return Verdict(NAME, not reason, reason or f"{options.url} answered {status}", body[:2000], seconds=seconds)


def _answer(options: Options) -> tuple[int, str]:
    parts = urlsplit(options.url)
    assert parts.hostname  # checked when it was built
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=options.timeout)
    connection.connect()
    line: socket.socket = connection.sock
    alarm = threading.Timer(options.timeout, _hang_up, (line,))
    alarm.start()
    try:
        connection.request("GET", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        response = connection.getresponse()
        body = response.read(BODY_LIMIT) if options.output_contains else b""
        return response.status, body.decode("utf-8", "replace")
    finally:
        alarm.cancel()
        connection.close()


def _hang_up(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is over already


def _objection(options: Options, status: int, body: str) -> str:
    if status != options.status:
        return f"{options.url} answered {status}, expected {options.status}"
    if options.output_contains not in body:
        return f"Output doesn't contain: {options.output_contains}"
    return ""
