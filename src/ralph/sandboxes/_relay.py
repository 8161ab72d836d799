"""Run inside a sandbox: carries connections from its loopback to the proxy's socket, then starts the command.

`python -I -S relay.py SOCKET PROXY-PORT PORTS -- COMMAND…`; PORTS are those of the machine's loopback that are allowed,
each to be found at the same number here. Only the standard library: nothing else need be there.
"""

import os
import select
import socket
import sys
import threading

_BLOCK_BYTES = 1 << 16
_BACKLOG = 64


def _main() -> None:
    path, proxy_port, ports = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    command = sys.argv[sys.argv.index("--") + 1 :]
    servers = {_listen(proxy_port): b""}
    for port in map(int, filter(None, ports.split(","))):
        servers[_listen(port)] = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port
    if os.fork() == 0:
        _detach()
        _serve(servers, path)
    for server in servers:
        server.close()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        os._exit(127)


def _listen(port: int) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(_BACKLOG)
    return server


def _detach() -> None:
    """Whoever waits for the end of the command's output must not wait for us."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _serve(servers: dict[socket.socket, bytes], path: str) -> None:
    by_number = {server.fileno(): server for server in servers}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    while True:
        for number, _ in poll.poll():
            server = by_number[number]
            client, _ = server.accept()
            threading.Thread(target=_carry, args=(client, path, servers[server]), daemon=True).start()


def _carry(client: socket.socket, path: str, greeting: bytes) -> None:
    try:
        proxy = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        proxy.connect(path)
        if greeting:
            proxy.sendall(greeting)
            answer = b""
            while b"\r\n\r\n" not in answer:
                block = proxy.recv(_BLOCK_BYTES)
                if not block:
                    raise OSError
                answer += block
            if b" 200 " not in answer.split(b"\r\n", 1)[0]:
                raise OSError
            client.sendall(answer.partition(b"\r\n\r\n")[2])
        threading.Thread(target=_pump, args=(proxy, client), daemon=True).start()
        _pump(client, proxy)
    except OSError:
        client.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while block := source.recv(_BLOCK_BYTES):
            sink.sendall(block)
    except OSError:
        pass
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    _main()
