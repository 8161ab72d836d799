"""A URL that must answer."""

import socket
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers._options import parse_options

VERIFIES = "that a URL answers as it should"
HTTP_HEALTH_METHOD = "http_health"
MAX_BODY_BYTES = 1 << 20


class HttpHealthOptions(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As the task has them."""

    url: str = ""
    status: int = 200
    output_contains: str = ""
    timeout: Annotated[float, Meta(gt=0)] = 10.0


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    options = parse_options(HTTP_HEALTH_METHOD, HttpHealthOptions, config)
    if not options.url:
        raise ConfigError("No url specified for http_health verification", 'add "url": "http://127.0.0.1:8000/health"')
    try:
        parts = urlsplit(options.url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(ord(letter) <= ord(" ") for letter in options.url):
        raise ConfigError(f"Invalid url for http_health verification: {options.url!r}", "http://HOST[:PORT]/PATH")
    return HttpHealthVerifier(options)


class HttpHealthVerifier:
    """One GET; redirects are answers, not followed. It is over when the time is over, however slowly bytes drip."""

    def __init__(self, options: HttpHealthOptions) -> None:
        self._options = options

    def verify(self, claim: Claim) -> Verdict:
        options = self._options
        began = time.monotonic()
        try:
            status, body = _fetch(options)
        except (OSError, HTTPException, ValueError) as error:  # ValueError: what the server sent is no HTTP
            reason = f"{options.url} does not answer: {error or type(error).__name__}"
            return Verdict(method=HTTP_HEALTH_METHOD, verified=False, reason=reason, seconds=time.monotonic() - began)
        reason = _find_objection(options, status, body)
        seconds = time.monotonic() - began
        return Verdict(
            method=HTTP_HEALTH_METHOD,
            verified=not reason,
            reason=reason or f"{options.url} answered {status}",
            detail=body[:2000],
            seconds=seconds,
        )


def _fetch(options: HttpHealthOptions) -> tuple[int, str]:
    parts = urlsplit(options.url)
    assert parts.hostname  # checked when it was built
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=options.timeout)
    connection.connect()
    line: socket.socket = connection.sock
    alarm = threading.Timer(options.timeout, _shut_down_socket, (line,))
    alarm.start()
    try:
        connection.request("GET", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        response = connection.getresponse()
        body = response.read(MAX_BODY_BYTES) if options.output_contains else b""
        return response.status, body.decode("utf-8", "replace")
    finally:
        alarm.cancel()
        connection.close()


def _shut_down_socket(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is over already


def _find_objection(options: HttpHealthOptions, status: int, body: str) -> str:
    if status != options.status:
        return f"{options.url} answered {status}, expected {options.status}"
    if options.output_contains not in body:
        return f"Output doesn't contain: {options.output_contains}"
    return ""
