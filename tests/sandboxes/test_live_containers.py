"""Real containers, by docker and by podman: what an agent in one can do, and that none outlives its run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from msgspec import Struct

from ralph.model.command import Bind, Command, CommandExit
from ralph.model.sandbox import HomeContent, SandboxPlan
from ralph.process.supervisor import Supervisor
from ralph.sandboxes import docker, podman
from support import engines
from support.processes import wait_until
from support.quiet_inbox import QuietInbox

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]
BACKENDS = {"docker": docker, "podman": podman}


class LiveEngine(Struct, frozen=True):
    """One that runs, and how to look at what it runs."""

    kind: str
    variables: dict[str, str]

    def list_containers(self) -> list[str]:
        words = [self.kind, "ps", "--all", "--format", "{{.Names}}", "--filter", "label=ralph.run"]
        return subprocess.run(words, env=self.variables, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module", params=["docker", "podman"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEngine]:
    if os.getuid() != 0 or not engines.ROOT_FS.exists() or shutil.which(request.param) is None:
        pytest.skip("not run: no engine, or no image; `make test-sandbox` as root on Debian sets them up")
    room = tmp_path_factory.mktemp(request.param)
    opened = engines.run_docker(room) if request.param == "docker" else engines.use_podman(room)
    with opened as variables:
        yield LiveEngine(request.param, variables)


@pytest.fixture
def processes() -> Iterator[Supervisor]:
    inbox = QuietInbox()
    made = Supervisor(inbox)
    yield made
    made.close()
    inbox.close()


def plan_in(tmp_path: Path, **more: object) -> SandboxPlan:
    work, scratch, home = tmp_path / "work", tmp_path / "scratch", tmp_path / "home"
    for folder in (work / "tests", work / "secret", scratch, home / ".ssh"):
        folder.mkdir(parents=True)
    (work / "tests" / "test_a.py").write_text("kept")
    (work / "secret" / "ralph.db").write_text("state")
    (home / ".ssh" / "id").write_text("key")
    usual: dict[str, object] = {
        "run": "live-1",
        "folder": str(work),
        "scratch": str(scratch),
        "home": HomeContent(folder=str(home)),
        "image": engines.IMAGE,
        "protected": (str(work / "tests" / "test_a.py"),),
        "hidden": (str(work / "secret"),),
    }
    return SandboxPlan(**{**usual, **more})  # type: ignore[arg-type]  # by name


Run = Callable[..., tuple[CommandExit, str]]


def runner_in(sandbox: object, engine: LiveEngine, processes: Supervisor, work: Path) -> Run:
    def run(script: str, **more: object) -> tuple[CommandExit, str]:
        heard = bytearray()
        command = Command(argv=("/bin/sh", "-c", script), environment=engine.variables, cwd=str(work), **more)  # type: ignore[arg-type]
        wrapped: Command = sandbox.wrap(command)  # type: ignore[attr-defined]
        return processes.run(wrapped, heard.extend, heard.extend), heard.decode()

    return run


PROBES = [  # each fails inside
    ("write to the user's home", "test -e ~/.ssh"),
    ("read SSH keys", "cat ~/.ssh/id"),
    ("change a protected file", "echo x > tests/test_a.py"),
    ("replace a protected file", "rm -f tests/test_a.py"),
    ("rename its folder", "mv tests other"),
    ("read hidden state", "cat secret/ralph.db"),
    ("find the engine's socket", "ls /var/run/docker.sock /run/podman/podman.sock"),
    ("see the harness", "cat /proc/{harness}/cmdline | grep -q pytest"),
    ("kill the harness", "kill -0 {harness} 2>/dev/null && grep -q pytest /proc/{harness}/cmdline"),
    ("reach the network", "curl -s -m 3 http://1.1.1.1"),
    ("look up a name", "getent hosts example.com"),
    ("mount something", "mount -t tmpfs none /mnt"),
    ("make a device", "mknod /tmp/disk b 8 0"),
    ("load a module", "modprobe dummy"),
    ("become somebody else", "su nobody -s /bin/sh -c true"),
    ("change the clock", "date -s 2000-01-01"),
    ("write to the kernel", "echo 1 > /proc/sys/kernel/panic"),
    ("have a capability", "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status"),
    ("gain a privilege", "grep -q 'NoNewPrivs:.*0' /proc/self/status"),
]


def test_what_an_agent_tries_fails(engine: LiveEngine, processes: Supervisor, tmp_path: Path) -> None:
    plan = plan_in(tmp_path, network="none")
    sandbox = BACKENDS[engine.kind].build(plan, engine.variables, processes)
    run = runner_in(sandbox, engine, processes, tmp_path / "work")
    lines = (
        f"if {{ {script.format(harness=os.getpid())}; }} >/dev/null 2>&1; then echo 'ESCAPED {what}'; fi"
        for what, script in PROBES
    )
    script = "\n".join((*lines, "touch ../beside /usr/bin/beside", "echo inside > made && cat && echo end"))
    exited, said = run(script, stdin=b"prompt\n")
    assert (exited.code, said) == (0, "prompt\nend\n")
    assert (tmp_path / "work" / "made").read_text() == "inside\n"
    assert (tmp_path / "work" / "made").stat().st_uid == os.getuid()
    assert (tmp_path / "work" / "tests" / "test_a.py").read_text() == "kept"
    assert not any(os.path.exists(path) for path in (tmp_path / "beside", "/usr/bin/beside"))  # its own were made
    sandbox.close()
    assert engine.list_containers() == []


def test_a_copy_stands_in_for_the_work_tree(engine: LiveEngine, processes: Supervisor, tmp_path: Path) -> None:
    sandbox = BACKENDS[engine.kind].build(plan_in(tmp_path), engine.variables, processes)
    copy, work = tmp_path / "copy", tmp_path / "work"
    copy.mkdir()
    (copy / "only-here").touch()
    bind = Bind(path=str(work), source=str(copy), writable=True)
    said = runner_in(sandbox, engine, processes, work)("pwd; ls; touch judged", binds=(bind,))[1]
    assert said.split() == [str(work), "only-here"]
    assert (copy / "judged").exists()
    sandbox.close()


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"reached")

    def log_message(self, *words: object) -> None:
        pass


def test_only_named_hosts_are_reached(engine: LiveEngine, processes: Supervisor, tmp_path: Path) -> None:
    servers = [HTTPServer(("127.0.0.1", 0), Answering) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    allowed, other = (server.server_address[1] for server in servers)
    plan = plan_in(tmp_path, network=(f"localhost:{allowed}",))
    sandbox = BACKENDS[engine.kind].build(plan, engine.variables, processes)
    run = runner_in(sandbox, engine, processes, tmp_path / "work")
    said = run(
        f"curl -s -m 5 http://localhost:{allowed}/; echo; curl -s -m 5 http://localhost:{other}/ || echo refused;"
        " curl -s -m 5 --noproxy '*' http://1.1.1.1/ || echo refused; getent hosts example.com || echo refused;"
        " curl -s -m 5 -o /dev/null -w '%{http_code}\\n' http://example.com/"
    )[1]
    assert said.split() == ["reached", "refused", "refused", "refused", "403"]
    sandbox.close()
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_time_limit_ends_the_container(engine: LiveEngine, processes: Supervisor, tmp_path: Path) -> None:
    sandbox = BACKENDS[engine.kind].build(plan_in(tmp_path), engine.variables, processes)
    run = runner_in(sandbox, engine, processes, tmp_path / "work")
    exited, _ = run("trap '' TERM; setsid sleep 300 & while :; do sleep 1; done", timeout=1.0)
    assert exited.ending == "timed_out"
    assert engine.list_containers() == []
    sandbox.close()


# -- a whole run, and what is left of one that is killed ----------------------------------------------
AGENT = """#!/bin/sh
cat > /dev/null
test -e /.dockerenv || test -e /run/.containerenv || exit 9
[ -e wait ] && { echo waiting > begun; sleep 300; }
echo done > result.txt
git add -A && git commit -qm work
echo '<response>DONE</response>'
"""


def make_project(tmp_path: Path, engine: LiveEngine) -> tuple[Path, dict[str, str]]:
    work, home = tmp_path / "project", tmp_path / "home"
    (work / ".ralph").mkdir(parents=True)
    home.mkdir()
    settings = {
        "agent": {"command": "./agent.sh", "adapter": "command"},
        "guardrails": ["test -e result.txt && (test -e /.dockerenv || test -e /run/.containerenv)"],
        "sandbox": {"kind": engine.kind, "image": engines.IMAGE, "network": "none"},
    }
    (work / ".ralph" / "settings.json").write_text(json.dumps(settings))
    (work / "agent.sh").write_text(AGENT)
    (work / "agent.sh").chmod(0o755)
    variables = {**engine.variables, "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
    for words in (
        "config --global user.name me",
        "config --global user.email me@localhost",
        "init -q",
        "add -A",
        "commit -qm base",
    ):
        subprocess.run(["git", *words.split()], cwd=work, env=variables, check=True)
    return work, variables


def start_ralph(work: Path, variables: dict[str, str]) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "ralph", "run", "-p", "do it", "-m", "1"]
    return subprocess.Popen(words, cwd=work, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_run_is_done_in_containers_and_leaves_none(engine: LiveEngine, tmp_path: Path) -> None:
    work, variables = make_project(tmp_path, engine)
    ralph = start_ralph(work, variables)
    said, _ = ralph.communicate(timeout=120)
    assert ralph.returncode == 0, said
    assert f"sandbox: {engine.kind} container of {engines.IMAGE}, network none" in said
    assert (work / "result.txt").read_text() == "done\n"
    log = subprocess.check_output(["git", "log", "--format=%an %s"], cwd=work, env=variables, text=True)
    assert log.splitlines()[0] == "me work"
    assert engine.list_containers() == []


@pytest.mark.parametrize("kills_guardian", [False, True], ids=["ralph", "ralph and its guardian"])
def test_a_container_outlives_no_kill_9_of(engine: LiveEngine, tmp_path: Path, kills_guardian: bool) -> None:
    work, variables = make_project(tmp_path, engine)
    (work / "wait").touch()
    ralph = start_ralph(work, variables)
    assert wait_until((work / "begun").exists, 60)
    assert len(engine.list_containers()) == 1
    listing = subprocess.run(["pgrep", "-P", str(ralph.pid)], capture_output=True, text=True, check=True)
    guardians = [int(pid) for pid in listing.stdout.split()]
    os.kill(ralph.pid, signal.SIGKILL)
    if kills_guardian:
        for pid in guardians:
            os.kill(pid, signal.SIGKILL)
    ralph.communicate()
    if not kills_guardian:
        assert wait_until(lambda: engine.list_containers() == [], 30)
        return
    assert len(engine.list_containers()) == 1  # nobody was left to end it
    (work / "wait").unlink()
    following = start_ralph(work, variables)
    said, _ = following.communicate(timeout=120)
    assert following.returncode == 0, said
    assert engine.list_containers() == []
