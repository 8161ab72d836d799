"""An HTTP proxy on a socket in the file system that connects to named hosts and to no other."""

import os
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv6Address, ip_address

MAX_HEAD_BYTES = 1 << 16
CONNECT_TIMEOUT_SECONDS = 30.0
PROXY_BLOCK_BYTES = 1 << 16
MAX_PROXY_CONNECTIONS = 256  # at once: whoever opens more waits, and ralph itself does not run out of threads
SOCKET_NAME = "proxy"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")  # a name or an address, with nothing in it for others to misread
_METADATA_ADDRESSES = ("fd00:ec2::254", "100.100.100.200")  # of clouds, where they are not link-local
_REFUSAL_TEXT = "ralph's sandbox does not allow {}: add it to sandbox.network, or leave that at full\n"


class NetworkProxy:
    """Serves from a thread until it is closed. Names are looked up here: who asks needs no DNS."""

    def __init__(self, folder: str, hosts: Sequence[str]) -> None:
        self._hosts = tuple(hosts)
        self._server = _listen(folder)
        self._free = threading.BoundedSemaphore(MAX_PROXY_CONNECTIONS)
        self._thread = threading.Thread(target=self._serve, name="network proxy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(1.0)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self._free.acquire()
            threading.Thread(target=self._serve_one, args=(client,), daemon=True).start()

    def _serve_one(self, client: socket.socket) -> None:
        try:
            self._answer(client)
        finally:
            self._free.release()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError, ValueError):
            head, rest = _read_head(client)
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            host, port = split_target(method, target)
            if not _HOST.fullmatch(host) or not _is_plain(head):
                _refuse(client, "400 Bad Request", "ralph's sandbox cannot make sense of this request\n")
                return
            if not is_allowed(host, port, self._hosts):
                _refuse(client, "403 Forbidden", _REFUSAL_TEXT.format(f"{host}:{port}"))
                return
            try:
                server = _connect(host, port)
            except OSError as error:
                _refuse(client, "502 Bad Gateway", f"cannot reach {host}:{port}: {error}\n")
                return
            with server:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    server.sendall(rest)
                else:
                    server.sendall(to_origin_form(head, target) + rest)
                _pump_both(client, server)


def is_allowed(host: str, port: int, hosts: Sequence[str]) -> bool:
    """`name`, `name:port` or `*.name`, which means its subdomains."""
    host = host.lower().rstrip(".")
    return any(_matches(host, port, pattern.lower()) for pattern in hosts)


def list_loopback_ports(hosts: Sequence[str]) -> list[int]:
    """The ports of this machine's own loopback that are allowed by number."""
    split = (split_address(host) for host in hosts)
    return [port for name, port in split if name in LOOPBACK_NAMES and port]


def split_address(text: str) -> tuple[str, int]:
    """`name:port`, `[::1]:port` or a name, whose port is 0."""
    if text.startswith("["):
        name, _, port = text[1:].partition("]")
        return name, int(port.removeprefix(":") or 0)
    name, colon, port = text.rpartition(":")
    if not colon or ":" in name or not port.isdecimal():
        return text, 0
    return name, int(port)


def split_target(method: str, target: str) -> tuple[str, int]:
    """Where a request wants to go. ValueError: it does not say."""
    if method == "CONNECT":
        host, port = split_address(target)
        return host, port or 443
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http" or not rest:
        raise ValueError(target)
    host, port = split_address(rest.partition("/")[0].partition("?")[0].rpartition("@")[2])
    return host, port or 80


def _matches(host: str, port: int, pattern: str) -> bool:
    name, wanted = split_address(pattern)
    if wanted and wanted != port:
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name or {host, name} <= set(LOOPBACK_NAMES)


def _listen(folder: str) -> socket.socket:
    """Through the open folder: a socket's path may have no more than a hundred bytes."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, SOCKET_NAME))
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        place = f"/proc/self/fd/{handle}" if os.path.isdir("/proc/self/fd") else folder
        server.bind(f"{place}/{SOCKET_NAME}")
    finally:
        os.close(handle)
    server.listen(64)
    return server


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    client.settimeout(CONNECT_TIMEOUT_SECONDS)
    data = b""
    while b"\r\n\r\n" not in data:
        block = client.recv(PROXY_BLOCK_BYTES)
        if not block or len(data) > MAX_HEAD_BYTES:
            raise ValueError("no request")
        data += block
    client.settimeout(None)
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _connect(host: str, port: int) -> socket.socket:
    """A name of the network that means this machine or its neighbours is a trick; whoever means them names them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    problem: OSError = OSError("no address")
    for family, kind, protocol, _, address in found:
        text = str(address[0]).partition("%")[0]
        if is_near(text) and host not in LOOPBACK_NAMES and host != text:
            continue
        server = socket.socket(family, kind, protocol)
        server.settimeout(CONNECT_TIMEOUT_SECONDS)
        try:
            server.connect(address)
        except OSError as error:
            server.close()
            problem = error
        else:
            server.settimeout(None)
            return server
    raise problem


def is_near(address: str) -> bool:
    """Whether it is this machine's own, or what only its neighbours have: services there ask for no password."""
    number = ip_address(address)
    if isinstance(number, IPv6Address):
        number = number.ipv4_mapped or number
    return number.is_loopback or number.is_link_local or number.is_unspecified or str(number) in _METADATA_ADDRESSES


def _is_plain(head: bytes) -> bool:
    """Whether lines end where all servers agree that they do."""
    lines = head.split(b"\r\n")
    return not any(b"\n" in line or b"\r" in line or line.startswith((b" ", b"\t")) for line in lines)


def to_origin_form(head: bytes, target: str) -> bytes:
    """The request as the server itself wants it, once: another on the same connection could be for another host. And so
    could the field that names it: many hosts may answer at one address."""
    first, _, fields = head.partition(b"\r\n")
    path = target.partition("://")[2]
    host = path.partition("/")[0].partition("?")[0].rpartition("@")[2]
    origin = path[path.find("/") :] if "/" in path else "/"
    kept = [
        line
        for line in fields.split(b"\r\n")
        if line and not line.lower().startswith((b"proxy-", b"connection:", b"keep-alive:", b"host:", b"host "))
    ]
    words = first.split(b" ")
    return b"\r\n".join(
        (
            b" ".join((words[0], origin.encode("latin-1"), words[2])),
            b"Host: " + host.encode("latin-1"),
            *kept,
            b"Connection: close",
            b"",
            b"",
        )
    )


def _refuse(client: socket.socket, status: str, text: str) -> None:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client.sendall(head.encode() + body)


def _pump_both(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=_pump, args=(other, one), daemon=True)
    back.start()
    _pump(one, other)
    back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(PROXY_BLOCK_BYTES):
            sink.sendall(block)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
