"""Access control before every route, static files and event streams included: pure ASGI, refuses whatever is not ours.

A page from elsewhere has no way in: its name is not our Host (rebinding), its Origin is not ours, its browser says so
in Sec-Fetch-Site, it has no cookie (SameSite=Strict), and what it may send without asking first is not JSON.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from ralph.faces.views.shapes import ErrorAnswer, ErrorDetail
from ralph.faces.web.access_tokens import AccessTokens

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CSRF_HEADER = "X-Ralph-CSRF"
LOGIN_PATH = "/login"
API_PREFIX = "/api/"
OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
HTTP_PORT = 80
MAX_REQUEST_HEAD_BYTES = 16 << 10
_READING, _WRITING = ("GET", "HEAD"), ("POST", "PATCH")
_SAME_SITES = ("same-origin", "none")
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
LOGIN_HINT = "open the link that `ralph web` printed; each works once, Enter in its terminal prints another"


class Refusal(Struct, frozen=True, kw_only=True):
    """Why a request is not let in."""

    status: int
    code: str
    message: str
    hint: str = ""


class RequestHead(Struct, frozen=True, kw_only=True):
    """As much of a request as the gate judges."""

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    server: tuple[str, int]  # the address of ours that it came to

    def list_values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


class AccessControl:
    """Wraps an application. `names`: what people may call this machine by, besides its address."""

    def __init__(self, app: Application, tokens: AccessTokens, names: Sequence[str] = ()) -> None:
        self._app, self._tokens, self._names = app, tokens, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no other protocol is served
        head = _read_head(scope)
        refusal = judge_form(scope) or judge_place(head, self._names) or judge_path(head, scope.get("raw_path", b""))
        if refusal is None and head.path == LOGIN_PATH:
            await self._log_in(head, scope, send)
            return
        refusal = refusal or judge_identity(head, self._tokens)
        if refusal is not None:
            await send_refusal(refusal, head.path, send)
            return
        await self._app(scope, receive, _add_security_headers(send))

    async def _log_in(self, head: RequestHead, scope: Scope, send: Send) -> None:
        """A prefetch, or a HEAD, uses no link up."""
        asked = parse_qs(scope["query_string"].decode("ascii", "replace"), max_num_fields=8)
        looked_ahead = any(head.list_values("sec-purpose") + head.list_values("purpose"))
        if head.method != "GET" or looked_ahead or not self._tokens.redeem(asked.get("t", [""])[0]):
            refusal = Refusal(
                status=401, code="login", message="This link was already used, or is not valid.", hint=LOGIN_HINT
            )
            await send_refusal(refusal, head.path, send)
            return
        cookie = f"{name_cookie(head.server[1])}={self._tokens.session}; HttpOnly; SameSite=Strict; Path=/"
        where = f"/#csrf={self._tokens.csrf}"  # what stands behind # is sent to no server, and ours alone by port
        headers = {**SECURITY_HEADERS, "location": where, "set-cookie": cookie, "content-length": "0"}
        await send({"type": "http.response.start", "status": 303, "headers": _encode_headers(headers)})
        await send({"type": "http.response.body", "body": b""})


def judge_form(scope: Scope) -> Refusal | None:
    """What comes in one piece is not bounded by who reads it; of two lengths each reader may believe another."""
    size = len(scope.get("raw_path", b"")) + len(scope["query_string"])
    if size + sum(len(key) + len(value) for key, value in scope["headers"]) > MAX_REQUEST_HEAD_BYTES:
        return Refusal(status=431, code="head_size", message="The request headers are too long.")
    if {b"content-length", b"transfer-encoding"} <= {key for key, _ in scope["headers"]}:
        return Refusal(status=400, code="length", message="The request has two lengths.")
    if scope["http_version"] not in ("1.0", "1.1"):
        return Refusal(status=505, code="version", message="Only HTTP/1.1 is served.")
    return None


def judge_place(head: RequestHead, names: Sequence[str]) -> Refusal | None:
    """Whether it was sent to us, by a page of ours or by no page."""
    hosts = head.list_values("host")
    if len(hosts) != 1 or hosts[0].lower() not in list_allowed_hosts(head.server, names):
        return Refusal(status=421, code="host", message="This server does not answer to that name.")
    origins = head.list_values("origin")
    if len(origins) > 1 or (origins and origins[0].lower() != f"http://{hosts[0].lower()}"):
        return Refusal(status=403, code="origin", message="Requests from other sites are refused.")
    if any(site.lower() not in _SAME_SITES for site in head.list_values("sec-fetch-site")):
        return Refusal(status=403, code="origin", message="Requests from other sites are refused.")
    if head.method not in (*_READING, *_WRITING):
        return Refusal(status=405, code="method", message=f"{head.method} is not served.")
    return None


def judge_path(head: RequestHead, raw: bytes) -> Refusal | None:
    """Paths are plain: no way up, no second slash, nothing that means a slash or an end to someone."""
    plain = head.path.startswith("/") and "//" not in head.path and "\\" not in head.path
    parts = head.path.split("/")
    if plain and b"%" not in raw and head.path.isprintable() and not {".", ".."}.intersection(parts):
        return None
    return Refusal(status=400, code="path", message="There is no such path.")


def judge_identity(head: RequestHead, tokens: AccessTokens) -> Refusal | None:
    """Whether it shows a key that holds; for a write, also that it comes from our page, as JSON."""
    given = head.list_values("authorization")
    by_bearer = len(given) == 1 and _is_bearer(given[0], tokens)
    if given and not by_bearer:
        return Refusal(status=401, code="token", message="That token is not valid.", hint="see --token-file")
    if not given and not any(map(tokens.is_session, _list_cookies(head))):
        return Refusal(status=401, code="login", message="You are not logged in.", hint=LOGIN_HINT)
    if head.method in _READING:
        return None
    types = [value.partition(";")[0].strip().lower() for value in head.list_values("content-type")]
    if types != ["application/json"]:
        hint = "send it as Content-Type: application/json"
        return Refusal(status=415, code="content_type", message="Only JSON is accepted.", hint=hint)
    csrf = head.list_values(CSRF_HEADER.lower())
    if not by_bearer and (not head.list_values("origin") or len(csrf) != 1 or not tokens.is_csrf(csrf[0])):
        message = "This page is read-only: its key is missing or from an earlier server."
        return Refusal(status=403, code="csrf", message=message, hint=LOGIN_HINT)
    return None


def list_allowed_hosts(server: tuple[str, int], names: Sequence[str]) -> set[str]:
    """What Host may say: the address the request came to, or a name it is known by, always with the port."""
    address, port = server
    is_loopback = address.startswith("127.") or address == "::1"
    own = OWN_NAMES if is_loopback else ()
    found = {f"[{address}]" if ":" in address else address, *own, *(name.lower() for name in names)}
    return {f"{name}:{port}" for name in found} | (found if port == HTTP_PORT else set())


def name_cookie(port: int) -> str:
    """Cookies of one host are shared by all its ports: two servers must not log each other out."""
    return f"ralph_{port}"


async def send_refusal(refusal: Refusal, path: str, send: Send) -> None:
    """As JSON for the API, as a line of text for people."""
    if path.startswith(API_PREFIX):
        detail = ErrorDetail(code=refusal.code, message=refusal.message, hint=refusal.hint)
        kind, body = "application/json", msgspec.json.encode(ErrorAnswer(detail))
    else:
        hint = f"\n{refusal.hint[:1].upper()}{refusal.hint[1:]}." if refusal.hint else ""
        kind, body = "text/plain; charset=utf-8", f"ralph: {refusal.message}{hint}\n".encode()
    headers = {**SECURITY_HEADERS, "content-type": kind, "content-length": str(len(body))}
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refusal.status == 405:
        headers["allow"] = ", ".join((*_READING, *_WRITING))
    await send({"type": "http.response.start", "status": refusal.status, "headers": _encode_headers(headers)})
    await send({"type": "http.response.body", "body": body})


def _read_head(scope: Scope) -> RequestHead:
    headers = [(key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in scope["headers"]]
    return RequestHead(method=scope["method"], path=scope["path"], headers=headers, server=tuple(scope["server"][:2]))


def _is_bearer(value: str, tokens: AccessTokens) -> bool:
    scheme, _, token = value.partition(" ")
    return scheme.lower() == "bearer" and tokens.is_bearer(token.strip())


def _list_cookies(head: RequestHead) -> list[str]:
    """All of our name: another program on this host may have set one, too."""
    pairs = [part.strip().partition("=") for line in head.list_values("cookie") for part in line.split(";")]
    return [value for key, _, value in pairs if key == name_cookie(head.server[1])]


def _add_security_headers(send: Send) -> Send:
    async def send_guarded(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            given = {bytes(key).lower() for key, _ in message.get("headers", ())}
            ours = [pair for pair in _encode_headers(SECURITY_HEADERS) if pair[0] not in given]
            message = {**message, "headers": [*message.get("headers", ()), *ours]}
        await send(message)

    return send_guarded


def _encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(key.encode("ascii"), value.encode("latin-1")) for key, value in headers.items()]
