"""The proxy of a sandbox: named hosts, and no others."""

import socket
import threading
from pathlib import Path

import pytest

from ralph.process import network_proxy
from ralph.process.network_proxy import (
    NetworkProxy,
    is_allowed,
    is_near,
    list_loopback_ports,
    split_target,
    to_origin_form,
)


@pytest.mark.parametrize(
    ("host", "port", "hosts", "allowed"),
    [
        ("api.example.com", 443, ("api.example.com",), True),
        ("API.example.com.", 80, ("api.example.com",), True),
        ("evil-api.example.com", 443, ("api.example.com",), False),
        ("api.example.com.evil.com", 443, ("api.example.com",), False),
        ("a.example.com", 443, ("*.example.com",), True),
        ("example.com", 443, ("*.example.com",), False),
        ("evilexample.com", 443, ("*.example.com",), False),
        ("example.com", 22, ("example.com:443",), False),
        ("localhost", 5432, ("127.0.0.1:5432",), True),
        ("localhost", 5433, ("127.0.0.1:5432",), False),
        ("example.com", 443, (), False),
    ],
)
def test_a_host_is_allowed_by_its_whole_name(host: str, port: int, hosts: tuple[str, ...], allowed: bool) -> None:
    assert is_allowed(host, port, hosts) == allowed


def test_a_request_says_where_it_goes() -> None:
    assert split_target("CONNECT", "a.b:8443") == ("a.b", 8443)
    assert split_target("CONNECT", "[::1]:80") == ("::1", 80)
    assert split_target("GET", "http://user:word@a.b/path@c") == ("a.b", 80)
    assert list_loopback_ports(("a.b:1", "localhost:2", "127.0.0.1:3", "localhost")) == [2, 3]
    with pytest.raises(ValueError, match="ftp"):
        split_target("GET", "ftp://a.b/")


def test_what_is_allowed_is_carried_and_all_else_is_refused(tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def answer() -> None:
        for _ in range(2):
            client, _ = server.accept()
            with client:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\ngot " + client.recv(4096).split(b"\r\n")[0])

    threading.Thread(target=answer, daemon=True).start()
    folder = tmp_path / ("long" * 40)  # a socket's own path may have a hundred bytes
    folder.mkdir()
    proxy = NetworkProxy(str(folder), [f"127.0.0.1:{port}"])
    try:
        tunnel = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello"
        assert ask(folder, tunnel).endswith(b"got hello")
        assert ask(folder, f"GET http://127.0.0.1:{port}/x HTTP/1.1\r\nHost: a\r\n\r\n").endswith(
            b"got GET /x HTTP/1.1"
        )
        assert b"403" in ask(folder, f"CONNECT 127.0.0.1:{port + 1} HTTP/1.1\r\n\r\n")
        assert b"sandbox.network" in ask(folder, "GET http://example.com/ HTTP/1.1\r\n\r\n")
    finally:
        proxy.close()
        server.close()


def ask(folder: Path, request: str) -> bytes:
    import os

    handle = os.open(folder, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"/proc/self/fd/{handle}/proxy")
        os.close(handle)
        client.sendall(request.encode())
        client.shutdown(socket.SHUT_WR)
        said = b""
        while block := client.recv(4096):
            said += block
    return said


@pytest.mark.parametrize(
    ("address", "near"),
    [
        *((each, True) for each in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1")),
        *((each, True) for each in ("::ffff:127.0.0.1", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200")),
        *((each, False) for each in ("1.1.1.1", "10.1.2.3", "2606:4700::1111", "::ffff:1.1.1.1")),
    ],
)
def test_a_name_that_leads_to_this_machine_or_its_cloud_is_a_trick(address: str, near: bool) -> None:
    assert is_near(address) is near


def test_a_request_names_the_host_it_was_allowed_for() -> None:
    head = b"GET http://a.b:81/x?y HTTP/1.1\r\nHost: evil.c\r\nhost : evil.c\r\nAccept: */*\r\nConnection: keep-alive"
    assert to_origin_form(head, "http://a.b:81/x?y") == (
        b"GET /x?y HTTP/1.1\r\nHost: a.b:81\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "request_text",
    [
        "CONNECT evil.c#.example.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT ::1%x.example.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT evil.c/.example.com:443 HTTP/1.1\r\n\r\n",
        "GET http://www.example.com/ HTTP/1.1\r\nX: 1\nHost: evil.c\r\n\r\n",
        "GET http://www.example.com/ HTTP/1.1\r\nX: 1\r\n Host: evil.c\r\n\r\n",
    ],
)
def test_what_servers_could_read_in_two_ways_is_refused(tmp_path: Path, request_text: str) -> None:
    proxy = NetworkProxy(str(tmp_path), ["*.example.com"])
    try:
        assert ask(tmp_path, request_text).startswith(b"HTTP/1.1 400 ")
    finally:
        proxy.close()


def test_no_more_connections_are_served_at_once_than_ralph_can_bear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_proxy, "MAX_PROXY_CONNECTIONS", 2)
    proxy = NetworkProxy(str(tmp_path), [])
    idle = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    try:
        for each in idle:
            each.connect(str(tmp_path / "proxy"))
        late = threading.Thread(target=ask, args=(tmp_path, "CONNECT a.b:1 HTTP/1.1\r\n\r\n"), daemon=True)
        late.start()
        late.join(0.2)
        assert late.is_alive()
        idle[0].close()
        late.join(10)
        assert not late.is_alive()
    finally:
        idle[1].close()
        proxy.close()
