"""Which process is at the other end of a connection within this machine."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

_TABLES = {socket.AF_INET: "/proc/net/tcp", socket.AF_INET6: "/proc/net/tcp6"}


def find_peer_processes(client: tuple[str, int], server: tuple[str, int]) -> list[int]:
    """Those that hold the client's end; none where the system does not tell, or they are on another machine."""
    inodes = {f"socket:[{inode}]" for inode in _find_inodes(client, server)}
    return [pid for pid in _list_pids() if inodes and _holds_any(pid, inodes)]


def read_variable(pid: int, name: str) -> str:
    """Of the environment a process was started with; empty where it has none, or is not ours to ask."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            found = file.read().split(b"\0")
    except OSError:
        return ""
    prefix = f"{name}=".encode()
    return next((line[len(prefix) :].decode("utf-8", "replace") for line in found if line.startswith(prefix)), "")


def _find_inodes(client: tuple[str, int], server: tuple[str, int]) -> Iterator[str]:
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    try:
        wanted = [_format_address(family, client), _format_address(family, server)]
        with open(_TABLES[family], encoding="ascii") as file:
            rows = file.read().splitlines()[1:]
    except OSError:
        return
    for row in rows:
        fields = row.split()
        if fields[1:3] == wanted:
            yield fields[9]


def _format_address(family: int, address: tuple[str, int]) -> str:
    """As the kernel prints it: words of 32 bits in this machine's order."""
    packed = socket.inet_pton(family, address[0])
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"


def _list_pids() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _holds_any(pid: int, links: set[str]) -> bool:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}") in links:
                    return True
    return False
