"""Measures `ralph web` under load: 1,000 tasks, 50 changes a second, none, one and 20 tabs.

python bench/web.py [--ralph SCRIPT] [--seconds N]: a table of processor and memory, with their targets.
"""

import argparse
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from ralph.app.paths import find_paths
from ralph.app.stores import open_stores
from ralph.engine.event_log import EventLog
from ralph.model.board import IterationBegun, Spec
from ralph.model.events import Said, ToolStarted
from ralph.model.runs import NewRun, RunOwner
from ralph.model.spec import Task
from ralph.process.identity import identify_process

TASKS, WORKERS = 1000, 20
EVENTS_PER_SECOND = 50  # half of them changes of tasks, half lines of agents
MAX_CPU_PERCENT, MAX_MEMORY_MB = 10.0, 64.0


class Figures(NamedTuple):
    """What the server took while it was watched."""

    cpu_percent: float
    memory_mb: float
    received_kb: float  # by all tabs together, a second


class Load:
    """Tasks that are worked on: a thread that writes as `ralph execute` would."""

    def __init__(self, folder: Path) -> None:
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        self.paths = find_paths(str(folder))
        self._stop = threading.Event()
        self._owner = subprocess.Popen(["sleep", "1000"])
        self._begin_work()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _begin_work(self) -> None:
        identity = identify_process(self._owner.pid)  # not ours: who descends from a run gets no server
        assert identity is not None
        owner = RunOwner(
            pid=identity.pid, ticks=identity.ticks, boot=identity.boot, guardian=identity.pid, guardian_ticks=0
        )
        with open_stores(self.paths) as stores:
            tasks = [Task(f"T-{n:04}", "bench", f"Task number {n} of the bench, with a title") for n in range(TASKS)]
            stores.tasks.add_new(tasks, [Spec(id="bench", title="Bench")])
            for number in range(WORKERS):
                run = f"20261101-100000-{number:04x}"
                assert stores.tasks.claim(run, [f"T-{number:04}"]) is not None
                new = NewRun(
                    id=run,
                    kind="execute",
                    folder=self.paths.folder,
                    agent="claude",
                    request=b'{"jobs":%d}' % WORKERS,
                    owner=owner,
                    started_at=time.time(),
                    task=f"T-{number:04}",
                )
                stores.runs.begin(new)
                os.makedirs(self.paths.run_dir(run), exist_ok=True)

    def _work(self) -> None:
        logs = [EventLog(self.paths.run_dir(f"20261101-100000-{number:04x}")) for number in range(WORKERS)]
        with open_stores(self.paths) as stores:
            began, number = time.monotonic(), 0
            while not self._stop.wait(max(0.0, began + number / EVENTS_PER_SECOND - time.monotonic())):
                number += 1
                worker = number % WORKERS
                if number % 2:
                    begun = IterationBegun(
                        task=f"T-{worker:04}",
                        stage="coder",
                        iteration=number % 15 + 1,
                        max_iterations=15,
                        completion_promise="X",
                        at=time.time(),
                    )
                    stores.tasks.apply([begun], f"bench-{number}")
                else:
                    events = (
                        Said(f"line {number} of what an agent says"),
                        ToolStarted(id="1", name="Bash", summary="ls"),
                    )
                    logs[worker](time.time(), 1, events[: 1 + number % 4 // 2])

    def stop(self) -> None:
        assert self._thread.is_alive(), "the load ended early"
        self._stop.set()
        self._thread.join()
        self._owner.kill()
        self._owner.wait()


class Tabs:
    """Connections that read all they get."""

    def __init__(self, host: str, port: int, token: str, count: int) -> None:
        self.received = 0
        self._selector = selectors.DefaultSelector()
        head = f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        for _ in range(count):
            tab = socket.create_connection((host, port))
            tab.sendall(head.encode())
            self._selector.register(tab, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._is_closed = False
        self._thread.start()

    def _read(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(0.1) if self._selector.get_map() else ():
                tab = key.fileobj
                assert isinstance(tab, socket.socket)
                data = tab.recv(1 << 16)
                assert data, "a tab was dropped"
                self.received += len(data)

    def close(self) -> None:
        self._is_closed = True
        self._thread.join()
        for key in [*self._selector.get_map().values()]:
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()


def measure(pid: int, tabs: Tabs, seconds: float) -> Figures:
    time.sleep(2)  # the first board is a burst
    before, received = read_cpu(pid), tabs.received
    time.sleep(seconds)
    used = read_cpu(pid) - before
    return Figures(100 * used / seconds, read_memory(pid), (tabs.received - received) / seconds / 1000)


def read_cpu(pid: int) -> float:
    """Seconds of processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_memory(pid: int) -> float:
    """What it holds now, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS:"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ralph", default=str(Path(sys.executable).with_name("ralph")))
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        load, token_file = Load(Path(scratch, "repo")), Path(scratch, "token")
        words = [given.ralph, "web", "--port", "0", "--token-file", str(token_file)]
        server = subprocess.Popen(words, cwd=load.paths.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert server.stdout is not None
        address = server.stdout.readline().decode().removeprefix("http://").partition("/")[0]
        host, _, port = address.partition(":")
        print("| tabs | processor | memory | sent | to reach |\n|---|---|---|---|---|")
        for count in (0, 1, 20):
            tabs = Tabs(host, int(port), token_file.read_text().strip(), count)
            found = measure(server.pid, tabs, given.seconds)
            tabs.close()
            good = found.cpu_percent <= MAX_CPU_PERCENT and found.memory_mb <= MAX_MEMORY_MB
            print(
                f"| {count} | {found.cpu_percent:.1f} % of a core | {found.memory_mb:.0f} MB"
                f" | {found.received_kb:.0f} kB/s"
                f" | ≤ {MAX_CPU_PERCENT:.0f} %, ≤ {MAX_MEMORY_MB:.0f} MB: {'OK' if good else 'MISSED'} |",
                flush=True,
            )
        server.terminate()
        server.wait()
        load.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
