"""`ralph web` as a program: it listens, says how to get in, obeys signals, and ends at once."""

import asyncio
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from ipaddress import ip_address
from threading import Thread

import uvicorn
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.faces.web.access import LOGIN_PATH, MAX_REQUEST_HEAD_BYTES, AccessControl
from ralph.faces.web.access_tokens import AccessTokens, read_token_file
from ralph.faces.web.connection import KEEP_ALIVE_SECONDS, MAX_WEB_CONNECTIONS, BoundedConnection
from ralph.faces.web.context import WebContext
from ralph.faces.web.repositories import Repositories
from ralph.faces.web.routes import build_app
from ralph.model.errors import MachineError, UsageError

DEFAULT_PORT = 7420
LOOPBACK = "127.0.0.1"
SHUTDOWN_SECONDS = 1
SECOND_SIGNAL_EXIT_CODE = 130


class WebOptions(Struct, frozen=True, kw_only=True):
    """What was asked for on the command line."""

    host: str = ""  # empty: this machine only
    port: int | None = None  # None: the usual one, or any if that is taken
    token_file: str = ""
    opens_browser: bool = False
    shows_all: bool = False
    by: str = ""  # who acts


class ServerMessages:
    """The link goes to stdout, first and alone on its line; everything else to stderr."""

    def __init__(self, place: str, tell: Callable[[str], object], tell_aside: Callable[[str], object]) -> None:
        self._place, self._tell, self._tell_aside = place, tell, tell_aside

    def announce_start(self, link: str, is_interactive: bool) -> None:
        self._tell(link)
        more = "Enter prints another, " if is_interactive else ""
        self._tell_aside(f"Serving {self._place}. The link works once; {more}Ctrl-C stops the server. Runs continue.")

    def print_link(self, link: str) -> None:
        self._tell(link)

    def announce_end(self) -> None:
        self._tell_aside("Stopped. Runs continue; see `ralph status`.")


class QuietServer(uvicorn.Server):
    """Signals are ours to handle."""

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()


def serve_web(options: WebOptions, paths: Paths, variables: Mapping[str, str], messages: ServerMessages) -> int:
    """Until someone stops it; the exit code."""
    if not is_loopback(options.host) and not options.token_file:
        raise UsageError(
            f"--host {options.host} opens ralph to other machines, and needs a token",
            "add --token-file FILE; or leave out --host, and use `ssh -L 7420:127.0.0.1:7420 THIS-MACHINE`",
        )
    tokens = AccessTokens(read_token_file(options.token_file) if options.token_file else "")
    listener = open_listener(options.host or LOOPBACK, options.port)
    base = f"http://{name_host(options.host, listener)}"
    context = WebContext(
        Repositories(paths, variables, shows_all=options.shows_all),
        tokens,
        variables=variables,
        by=options.by,
        build_link=lambda token: f"{base}{LOGIN_PATH}?t={token}",
    )
    names = () if is_loopback(options.host) else (options.host.lower(), socket.gethostname().lower())
    asyncio.run(_serve_until_stopped(build_server(context, names), context, listener, options, messages=messages))
    messages.announce_end()
    return 0


def build_server(context: WebContext, names: Sequence[str] = ()) -> QuietServer:
    """`names`: what people may call this machine by, besides its address."""
    config = uvicorn.Config(
        AccessControl(build_app(context), context.tokens, names),
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        limit_concurrency=MAX_WEB_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_REQUEST_HEAD_BYTES,
    )
    return QuietServer(config)


async def serve_context(server: QuietServer, context: WebContext, listener: socket.socket) -> None:
    """Until `should_exit` is set and the context is closed."""
    context.feed.start(asyncio.get_running_loop())
    await server.serve(sockets=[listener])


async def _serve_until_stopped(
    server: QuietServer, context: WebContext, listener: socket.socket, options: WebOptions, *, messages: ServerMessages
) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if server.should_exit:
            os._exit(SECOND_SIGNAL_EXIT_CODE)  # asked twice: it hangs somewhere
        server.should_exit = True
        context.close()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    link = context.issue_link()
    is_interactive = _listen_for_enter(loop, lambda: messages.print_link(context.issue_link()))
    messages.announce_start(link, is_interactive)
    if options.opens_browser:
        Thread(target=webbrowser.open, args=(context.issue_link(),), daemon=True).start()
    await serve_context(server, context, listener)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host in ("", "localhost"):
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def open_listener(host: str, port: int | None) -> socket.socket:
    """At that port; without one at the usual one, or at any when that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, DEFAULT_PORT if port is None else port), family=family)
    except OSError as error:
        if port is None:
            return open_listener(host, 0)
        what = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise MachineError(what, "`ralph web --port 0` takes a free port") from error


def name_host(host: str, listener: socket.socket) -> str:
    """What a browser calls us by: host and port."""
    address, port = listener.getsockname()[:2]
    name = host if host not in ("", "localhost") else address
    with suppress(ValueError):
        if ip_address(name).is_unspecified:
            name = _find_own_address()
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _find_own_address() -> str:
    """By which others reach this machine; nothing is sent to find it."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return LOOPBACK


def _listen_for_enter(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> bool:
    """Whether there is a terminal to type on. In the background nothing is read from it."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    handle = sys.stdin.fileno()
    signal.signal(signal.SIGTTIN, signal.SIG_IGN)

    def read() -> None:
        try:
            typed = os.read(handle, 1024)
        except OSError:
            typed = b""
        if not typed:
            loop.remove_reader(handle)
        elif b"\n" in typed:
            act()

    loop.add_reader(handle, read)
    return True
