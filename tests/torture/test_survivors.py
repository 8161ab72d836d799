"""Nothing survives: hostile trees, random kills, held pipes, floods. RALPH_TORTURE says how often (make torture)."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.model.command import Command
from ralph.process.identity import identify_process
from ralph.process.output import BoundedLog, LineSplitter
from ralph.process.supervisor import Supervisor
from support.processes import find_processes_with, wait_until
from support.quiet_inbox import QuietInbox

TRIALS = int(os.environ.get("RALPH_TORTURE", "2"))
FLOOD = 10_000_000_000 if TRIALS > 10 else 200_000_000
HERE = Path(__file__).parent
TREE = 8  # evil.py itself and its seven kinds


@pytest.fixture
def token() -> Iterator[str]:
    made = f"evil-{uuid.uuid4().hex}"
    yield made
    for pid in find_processes_with(made):
        os.kill(pid, signal.SIGKILL)


def trial(token: str, what: str, way: str, whole: bool) -> None:
    """Grow a tree, end it one way, and see that nothing is left of it."""
    seconds = "0.8" if way == "stop" else "100"
    argv = [sys.executable, str(HERE / "harness.py"), token, what, seconds]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as harness:
        assert harness.stdout is not None
        guardian = int(harness.stdout.readline())
        if whole and what == "stay":
            assert wait_until(lambda: len(find_processes_with(token) - {harness.pid}) >= TREE, 30)
        else:
            time.sleep(random.uniform(0, 0.4))
        if way == "kill harness":
            harness.kill()
        elif way == "kill guardian":
            os.kill(guardian, signal.SIGKILL)
        harness.wait(timeout=60)
    assert wait_until(lambda: identify_process(guardian) is None, 30)
    assert not find_processes_with(token)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("whole", [True, False], ids=["tree complete", "at a random moment"])
@pytest.mark.parametrize("way", ["kill harness", "kill guardian"])
def test_a_kill_leaves_nothing(token: str, way: str, whole: bool) -> None:  # 003-10
    for _ in range(TRIALS):
        trial(token, "stay", way, whole)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("what", "way"), [("leave", "normal end"), ("stay", "stop")])
def test_an_ordinary_end_leaves_nothing(token: str, what: str, way: str) -> None:  # 003-10
    for _ in range(max(1, TRIALS // 2)):
        trial(token, what, way, whole=False)


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    inbox = QuietInbox()
    made = Supervisor(inbox)
    yield made
    made.close()
    inbox.close()


def test_a_held_pipe_never_hangs_us(supervisor: Supervisor, token: str) -> None:
    for holder in ("sleep 100", "trap '' TERM HUP; while :; do sleep 0.1; done"):
        script = f'setsid sh -c "{holder}" {token} & exit 0'
        exited = supervisor.run(
            Command(argv=("/bin/sh", "-c", script), environment=dict(os.environ), cwd="/"), len, len
        )
        assert exited.seconds < 2
        assert not find_processes_with(token)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", ["yes", "cat /dev/zero"], ids=["lines", "one endless line"])
def test_a_flood_stays_within_bounds(supervisor: Supervisor, tmp_path: Path, source: str) -> None:
    log, lines = BoundedLog(str(tmp_path / "log")), LineSplitter()
    seen = 0

    def take(data: bytes) -> None:
        nonlocal seen
        seen += len(data)
        log.write(data)
        lines.feed(data)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    script = f"{source} | head -c {FLOOD}"
    supervisor.run(Command(argv=("/bin/sh", "-c", script), environment=dict(os.environ), cwd="/"), take, len)
    lines.finish()
    log.close()
    assert seen == FLOOD
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 64_000_000
    assert b"bytes cut" in (tmp_path / "log").read_bytes()


@pytest.mark.parametrize(
    "script",
    ["head -c 100000000 /dev/zero | tr '\\0' x; echo", "head -c 3000000 /dev/urandom", "printf 'a\\0b\\377\\n'"],
    ids=["100 MB line", "noise", "NUL and bad UTF-8"],
)
def test_any_bytes_are_survived(supervisor: Supervisor, script: str) -> None:
    from ralph.agents._names import resolve_adapter_name
    from ralph.agents.claude import build
    from ralph.model.ports import AgentOptions

    assert resolve_adapter_name("claude") == "claude"
    parser, lines = build(AgentOptions(command=("claude",))).parser("stream"), LineSplitter()

    def take(data: bytes) -> None:
        if block := lines.feed(data):
            parser.feed(block)

    exited = supervisor.run(Command(argv=("/bin/sh", "-c", script), environment=dict(os.environ), cwd="/"), take, len)
    if rest := lines.finish():
        parser.feed(rest)
    assert exited.code == 0
    assert parser.summarize_run().closing == "none"
