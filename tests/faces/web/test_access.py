"""What is let in, and what is not: raw requests over a real socket."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.faces.web import answers, connection
from ralph.faces.web.access import list_allowed_hosts
from support.board_room import BoardFixture
from support.web_room import BEARER, RawAnswer, WebFixture, read_answer

TOKEN = f"Authorization: Bearer {BEARER}"
JSON = "Content-Type: application/json"
BOARD = "/api/v1/board"
CANCEL = "/api/v1/tasks/TASK-001/cancel"
REBOUND = "evil.example"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebFixture]:
    room = BoardFixture(tmp_path_factory.mktemp("web"))
    room.put("Add a login")
    patch = pytest.MonkeyPatch()
    patch.setattr(connection, "HEAD_SECONDS", 0.3)
    patch.setattr(answers, "BODY_SECONDS", 0.3)
    server = WebFixture(room.places)
    yield server
    server.close()
    patch.undo()
    room.close()


Case = Callable[[WebFixture], RawAnswer]


def get(*lines: str, path: str = BOARD, host: str = "{host}") -> Case:
    return lambda web: web.ask("GET", path, *(fill(line, web) for line in lines), host=fill(host, web))


def post(*lines: str, path: str = CANCEL, body: bytes = b"{}") -> Case:
    return lambda web: web.ask("POST", path, *(fill(line, web) for line in lines), body=body)


def chunked(body: str, *lines: str, coding: str = "chunked") -> Case:
    head = ("POST {cancel} HTTP/1.1", "Host: {host}", TOKEN, JSON, f"Transfer-Encoding: {coding}", *lines)
    return lambda web: send_lines(web, *(line.replace("{cancel}", CANCEL) for line in head), body=body)


def send_lines(web: WebFixture, *lines: str, body: str = "") -> RawAnswer:
    head = "\r\n".join((*(fill(line, web) for line in lines), "Connection: close"))
    return web.send_raw(f"{head}\r\n\r\n{body}".encode())


def fill(line: str, web: WebFixture) -> str:
    values = {"host": web.host, "port": str(web.port), "cookie": web.cookie, "csrf": web.tokens.csrf}
    for name, value in values.items():
        line = line.replace(f"{{{name}}}", value)
    return line


ORIGIN, CSRF, COOKIE = "Origin: http://{host}", "X-Ralph-CSRF: {csrf}", "{cookie}"
REFUSED: dict[str, tuple[int, Case]] = {
    # who asks
    "no key": (401, get()),
    "a wrong token": (401, get("Authorization: Bearer not-the-token-at-all")),
    "half of the token": (401, get(f"Authorization: Bearer {BEARER[:-1]}")),
    "an empty token": (401, get("Authorization: Bearer ")),
    "the token as a password": (401, get(f"Authorization: Basic {BEARER}")),
    "two tokens": (401, get(TOKEN, TOKEN)),
    "a wrong token beside a right cookie": (401, get(COOKIE, "Authorization: Bearer nonsense")),
    "a wrong cookie": (401, get("Cookie: ralph_{port}=nonsense")),
    "the cookie of another port": (401, get("Cookie: ralph_1={csrf}")),
    "the token in the query": (401, get(path=f"{BOARD}?token={BEARER}")),
    "the page without a key": (401, get(path="/")),
    "static files without a key": (401, get(path="/static/theme.js")),
    "events without a key": (401, get(path="/api/v1/events")),
    "metrics without a key": (401, get(path="/metrics")),
    "the API's description without a key": (401, get(path="/api/v1/openapi.json")),
    # DNS rebinding
    "a name of someone else's": (421, get(TOKEN, host=f"{REBOUND}:{{port}}")),
    "a name without a port": (421, get(TOKEN, host=REBOUND)),
    "our name without a port": (421, get(TOKEN, host="127.0.0.1")),
    "our name at another port": (421, get(TOKEN, host="127.0.0.1:80")),
    "a name that begins like ours": (421, get(TOKEN, host=f"localhost.{REBOUND}:{{port}}")),
    "a name that ends like ours": (421, get(TOKEN, host=f"{REBOUND}.localhost:{{port}}")),
    "ours with a dot": (421, get(TOKEN, host="localhost.:{port}")),
    "all addresses": (421, get(TOKEN, host="0.0.0.0:{port}")),
    "another address of loopback": (421, get(TOKEN, host="127.0.0.2:{port}")),
    "a user before our name": (421, get(TOKEN, host=f"{REBOUND}@127.0.0.1:{{port}}")),
    "an empty Host": (421, get(TOKEN, host=" ")),
    # pages from elsewhere
    "another origin": (403, get(TOKEN, "Origin: https://evil.example")),
    "no origin at all, as a sandboxed frame says": (403, get(TOKEN, "Origin: null")),
    "our origin by TLS": (403, get(TOKEN, "Origin: https://{host}")),
    "the origin of another port": (403, get(TOKEN, "Origin: http://127.0.0.1:3000")),
    "our origin by another name": (403, get(TOKEN, "Origin: http://localhost:{port}")),
    "two origins": (403, get(TOKEN, ORIGIN, "Origin: https://evil.example")),
    "a cross-site request": (403, get(COOKIE, "Sec-Fetch-Site: cross-site")),
    "one of the same site, which all ports are": (403, get(COOKIE, "Sec-Fetch-Site: same-site")),
    "two answers to where it is from": (403, get(COOKIE, "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site")),
    "a preflight": (403, lambda web: web.ask("OPTIONS", CANCEL, "Origin: https://evil.example")),
    "a preflight without an origin": (405, lambda web: web.ask("OPTIONS", CANCEL, TOKEN)),
    # writes
    "a form": (415, post(COOKIE, ORIGIN, CSRF, "Content-Type: application/x-www-form-urlencoded")),
    "a form of text that looks like JSON": (415, post(COOKIE, ORIGIN, CSRF, "Content-Type: text/plain")),
    "a form with files": (415, post(COOKIE, ORIGIN, CSRF, "Content-Type: multipart/form-data; boundary=x")),
    "a write without a type": (415, post(TOKEN)),
    "two types": (415, post(TOKEN, JSON, "Content-Type: text/plain")),
    "a write without the secret of the page": (403, post(COOKIE, ORIGIN, JSON)),
    "a write with a secret that is none": (403, post(COOKIE, ORIGIN, JSON, "X-Ralph-CSRF: 1")),
    "a write with two secrets": (403, post(COOKIE, ORIGIN, JSON, CSRF, "X-Ralph-CSRF: x")),
    "a browser's write without an origin": (403, post(COOKIE, CSRF, JSON)),
    "a write from elsewhere with all keys": (403, post(COOKIE, CSRF, JSON, "Origin: https://evil.example")),
    "PUT": (405, lambda web: web.ask("PUT", CANCEL, TOKEN, JSON)),
    "DELETE": (405, lambda web: web.ask("DELETE", "/api/v1/tasks/TASK-001", TOKEN)),
    "TRACE": (405, lambda web: web.ask("TRACE", "/", TOKEN)),
    "a write to what is only read": (405, post(TOKEN, JSON, path=BOARD)),
    "a read of what is only written": (405, get(TOKEN, path=CANCEL)),
    "JSON that is none": (400, post(TOKEN, JSON, body=b"{")),
    "JSON with what nobody knows": (400, post(TOKEN, JSON, body=b'{"x": 1}')),
    "JSON a thousand levels deep": (400, post(TOKEN, JSON, body=b"[" * 5000)),
    "bytes that are no text": (400, post(TOKEN, JSON, body=b'{"\xff": 1}')),
    "a body that is announced with 10 MB": (
        413,
        lambda web: web.send_raw(
            f"POST {CANCEL} HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\n{JSON}\r\nConnection: close\r\n"
            "Content-Length: 10000000\r\n\r\n{".encode()
        ),
    ),
    # ways around
    "the way up from static files": (400, get(TOKEN, path="/static/../routes.py")),
    "the same, encoded": (400, get(TOKEN, path="/static/%2e%2e/routes.py")),
    "the same, encoded twice": (400, get(TOKEN, path="/static/%252e%252e/routes.py")),
    "the same by backslashes": (400, get(TOKEN, path="/static/..\\routes.py")),
    "an absolute path below static": (400, get(TOKEN, path="/static//etc/passwd")),
    "a run that is a way up": (400, get(TOKEN, path="/api/v1/runs/..")),
    "an output that is a way up": (400, get(TOKEN, path="/api/v1/runs/x/outputs/..%2fralph.db")),
    "an output with an end in the middle": (400, get(TOKEN, path="/api/v1/runs/x/outputs/a%00.log")),
    "a query of 20 kB": (431, get(TOKEN, path=f"/api/v1/search?q={'x' * 20_000}")),
    "the URL of another server": (400, get(TOKEN, path="http://evil.example/")),
    "a path that begins with two slashes": (400, get(TOKEN, path="//evil.example/")),
    # login
    "a login without a link": (401, get(path="/login")),
    "a login with a guess": (401, get(path="/login?t=AAAA")),
    "a login by POST": (401, lambda web: web.ask("POST", f"/login?t={web.tokens.issue_link_token()}", JSON)),
    "a login by HEAD": (401, lambda web: web.ask("HEAD", f"/login?t={web.tokens.issue_link_token()}")),
    "a login a browser only looked ahead at": (
        401,
        lambda web: web.ask("GET", f"/login?t={web.tokens.issue_link_token()}", "Sec-Purpose: prefetch"),
    ),
    "a login from another site": (
        403,
        lambda web: web.ask("GET", f"/login?t={web.tokens.issue_link_token()}", "Sec-Fetch-Site: cross-site"),
    ),
    "a login by another name": (
        421,
        lambda web: web.ask("GET", f"/login?t={web.tokens.issue_link_token()}", host=f"{REBOUND}:{web.port}"),
    ),
    # requests that are none
    "two Hosts": (400, get(TOKEN, f"Host: {REBOUND}")),
    "a head of 64 kB": (431, get(TOKEN, f"X-Long: {'x' * 65536}")),
    "no HTTP": (400, lambda web: web.send_raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n")),
    "a length that is none": (400, lambda web: web.send_raw(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n")),
    "two lengths": (
        400,
        lambda web: web.send_raw(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    ),
    "an old protocol without a Host": (421, lambda web: web.send_raw(b"GET / HTTP/1.0\r\n\r\n")),
    "the same with a key": (421, lambda web: web.send_raw(f"GET {BOARD} HTTP/1.0\r\n{TOKEN}\r\n\r\n".encode())),
    "a protocol of another day": (505, lambda web: send_lines(web, f"GET {BOARD} HTTP/3.0", "Host: {host}", TOKEN)),
    "the preface of HTTP/2": (505, lambda web: web.send_raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
    "a whole URL, though it is ours": (400, get(TOKEN, path="http://{host}/api/v1/board")),
    "a way through to another server": (405, lambda web: web.ask("CONNECT", "evil.example:443", TOKEN)),
    "what all of the server can": (405, lambda web: web.ask("OPTIONS", "*", TOKEN)),
    "a name with a space before its colon": (
        400,
        lambda web: send_lines(web, "GET / HTTP/1.1", "Host : {host}", TOKEN),
    ),
    "a header with an end in the middle": (400, get(TOKEN, "X-Odd: a\0b")),
    "two names in one Host": (421, get(TOKEN, host="{host}, evil.example")),
    "our address as a number": (421, get(TOKEN, host="2130706433:{port}")),
    "our address in short": (421, get(TOKEN, host="127.1:{port}")),
    "our port with a zero before it": (421, get(TOKEN, host="127.0.0.1:0{port}")),
    "our name handed on by a proxy": (421, get(TOKEN, "X-Forwarded-Host: {host}", host=REBOUND)),
    "a write that says it is a read": (405, get(TOKEN, "X-HTTP-Method-Override: POST", path=CANCEL)),
    "an unknown word about where it is from": (403, get(TOKEN, "Sec-Fetch-Site: elsewhere")),
    "a WebSocket without a key": (401, get("Connection: Upgrade", "Upgrade: websocket", path="/api/v1/events")),
    "HTTP/2 by upgrade without a key": (401, get("Connection: Upgrade", "Upgrade: h2c", path="/")),
    "cookies of 20 kB": (431, get(f"Cookie: {'a=b; ' * 4000}")),
    "thousands of headers": (431, get(TOKEN, *(f"X-{number}: {number}" for number in range(3000)))),
    "the login in capitals": (401, get(path="/LOGIN?t=AAAA")),
    # bodies that end in two places, or nowhere
    "a length and chunks": (400, chunked("2\r\n{}\r\n0\r\n\r\n", "Content-Length: 4")),
    "chunks that are packed": (400, chunked("2\r\n{}\r\n0\r\n\r\n", coding="gzip, chunked")),
    "chunks and none": (400, chunked("2\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: identity")),
    "a chunk whose size is no number": (400, chunked("zz\r\n{}\r\n0\r\n\r\n")),
    "a chunk of less than nothing": (400, chunked("-2\r\n{}\r\n0\r\n\r\n")),
    "a chunk whose size fills a page": (400, chunked(f"{'f' * 4000}\r\n")),
}
LET_IN: dict[str, tuple[int, Case]] = {
    "another program with the token": (200, get(TOKEN)),
    "the same by the name localhost": (200, get(TOKEN, host="localhost:{port}")),
    "the same in capitals": (200, get(TOKEN, host="LOCALHOST:{port}")),
    "a page of ours with its cookie": (200, get(COOKIE, ORIGIN, "Sec-Fetch-Site: same-origin")),
    "an address that was typed": (200, get(COOKIE, "Sec-Fetch-Site: none", path="/")),
    "our cookie beside one of another program": (200, get("Cookie: ralph_{port}=x; theme=dark", COOKIE)),
    "a static file": (200, get(COOKIE, path="/static/theme.js")),
    "a static file that is not there": (404, get(COOKIE, path="/static/none.js")),
    "a write of our page": (409, post(COOKIE, ORIGIN, CSRF, JSON)),  # nobody works on it
    "a write with the token": (409, post(TOKEN, "Content-Type: application/json; charset=utf-8")),
    "a look by HEAD": (200, lambda web: web.ask("HEAD", BOARD, TOKEN)),
    "an unknown path": (404, get(TOKEN, path="/api/v2/board")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(web: WebFixture, name: str) -> None:
    status, send = REFUSED[name]
    answer = send(web)
    assert answer.status == status, answer.body
    assert b"TASK-001" not in answer.body
    assert "set-cookie" not in answer.headers
    assert not [header for header in answer.headers if header.startswith("access-control-")]


@pytest.mark.parametrize("name", LET_IN)
def test_let_in(web: WebFixture, name: str) -> None:
    status, send = LET_IN[name]
    answer = send(web)
    assert answer.status == status, answer.body
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "server" not in answer.headers


def test_a_link_logs_in_once_and_its_cookie_is_for_no_script_and_no_other_site(web: WebFixture) -> None:
    link = f"/login?t={web.tokens.issue_link_token()}"
    first, second = web.ask("GET", link), web.ask("GET", link)
    assert (first.status, second.status) == (303, 401)
    cookie, *attributes = first.headers["set-cookie"].split("; ")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert web.ask("GET", BOARD, f"Cookie: {cookie}").status == 200
    where, _, secret = first.headers["location"].partition("#csrf=")
    assert where == "/"
    written = web.ask(
        "POST", CANCEL, f"Cookie: {cookie}", JSON, f"Origin: http://{web.host}", f"X-Ralph-CSRF: {secret}"
    )
    assert written.status == 409
    assert written.json["error"]["code"] == "not_running"


def test_a_head_that_never_ends_is_cut_off_and_others_are_served_meanwhile(web: WebFixture) -> None:
    with socket.create_connection(("127.0.0.1", web.port), 10) as slow:
        slow.sendall(f"GET {BOARD} HTTP/1.1\r\nHost: {web.host}\r\nX-Slow: ".encode())
        assert web.get(BOARD).status == 200
        began = time.monotonic()
        assert read_answer(slow).status == 0
        assert time.monotonic() - began < 5


def test_a_second_head_that_never_ends_is_cut_off_as_well(web: WebFixture) -> None:
    with socket.create_connection(("127.0.0.1", web.port), 10) as slow:
        slow.sendall(f"HEAD {BOARD} HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\n\r\n".encode())
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        began = time.monotonic()
        assert read_answer(slow).status == 0
        assert time.monotonic() - began < 4


def test_a_body_that_does_not_come_is_not_waited_for(web: WebFixture) -> None:
    answer = web.send_raw(
        f"POST {CANCEL} HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\n{JSON}\r\nContent-Length: 9\r\n"
        "Connection: close\r\n\r\n{".encode()
    )
    assert answer.status == 408


def test_a_body_without_a_length_is_counted(web: WebFixture) -> None:
    head = f"POST {CANCEL} HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n"
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with socket.create_connection(("127.0.0.1", web.port), 10) as client:
        client.sendall(f"{head}Connection: close\r\n\r\n".encode())
        try:
            for _ in range(40):
                client.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert read_answer(client).status in (413, 0)


def test_what_host_may_say_depends_on_where_the_request_came_to() -> None:
    assert list_allowed_hosts(("127.0.0.1", 80), ()) >= {"localhost", "localhost:80", "[::1]:80"}
    lan = list_allowed_hosts(("192.168.1.5", 7420), ("Box",))
    assert lan == {"192.168.1.5:7420", "box:7420"}
    assert "[fe80::1]:7420" in list_allowed_hosts(("fe80::1", 7420), ())


def test_a_second_request_on_a_connection_needs_a_key_of_its_own(web: WebFixture) -> None:
    first = f"GET /api/v1/session HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\n\r\n"
    second = f"GET {BOARD} HTTP/1.1\r\nHost: {web.host}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", web.port), 10) as client:
        client.sendall((first + second).encode())
        said = b"".join(iter(lambda: client.recv(65536), b""))
    assert re.findall(rb"HTTP/1\.1 (\d+)", said) == [b"200", b"401"]
    assert b"TASK-001" not in said


def test_what_stands_in_the_body_of_a_read_is_no_request(web: WebFixture) -> None:
    hidden = f"POST /api/v1/links HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\n{JSON}\r\nContent-Length: 2\r\n\r\n{{}}"
    head = f"GET /api/v1/session HTTP/1.1\r\nHost: {web.host}\r\n{TOKEN}\r\nContent-Length: {len(hidden)}\r\n"
    answer = web.send_raw(f"{head}Connection: close\r\n\r\n{hidden}".encode())
    assert (answer.status, b"HTTP/1.1" in answer.body) == (200, False)


def test_events_are_no_websocket(web: WebFixture) -> None:
    with web.stream("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==") as tab:
        assert tab.read()[0] == "reset"


def test_an_answer_to_a_person_is_a_line_of_text(web: WebFixture, tmp_path: Path) -> None:
    answer = web.ask("GET", "/")
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"ralph web" in answer.body
    assert answer.headers["www-authenticate"] == "Bearer"
