"""Who is at the other end of a connection within this machine."""

import os
import socket
import subprocess
import sys

import pytest

from ralph.process.peers import find_peer_processes, read_variable

if sys.platform != "linux":
    pytest.skip("only Linux tells", allow_module_level=True)

CONNECT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_our_own_connection_is_ours(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"no {address} here")
    with listener, socket.create_connection(listener.getsockname()[:2]) as client:
        assert find_peer_processes(client.getsockname()[:2], listener.getsockname()[:2]) == [os.getpid()]
        port = listener.getsockname()[1]
        assert find_peer_processes((address, client.getsockname()[1] ^ 1), (address, port)) == []


def test_another_process_is_found_with_its_environment() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        child = subprocess.Popen([sys.executable, "-c", CONNECT, str(port)], env={"RALPH_RUN_ID": "r1"})
        accepted, client = listener.accept()
        with accepted:
            assert find_peer_processes(client, ("127.0.0.1", port)) == [child.pid]
            assert read_variable(child.pid, "RALPH_RUN_ID") == "r1"
            assert read_variable(child.pid, "RALPH_RUN") == ""
        child.wait(10)
    assert read_variable(child.pid, "RALPH_RUN_ID") == ""
