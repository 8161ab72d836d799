"""A room for the real agent CLIs: a network with nothing but loopback, a fresh home, our scripted model."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ralph.model.agent_card import EndpointConfig

CLIENTS_BIN = Path(__file__).parents[2] / ".cache" / "clients" / "bin"
NEWEST_BIN = CLIENTS_BIN.with_name("newest")
NEWEST_SUFFIX = "-newest"  # of an agent whose newest version is tried beside the one everybody has
PINS_FILE = Path(__file__).parents[1] / "clients" / "package.json"
NPM_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "qwen": "@qwen-code/qwen-code",
    "copilot": "@github/copilot",
    f"claude{NEWEST_SUFFIX}": "claude-newest",
    f"codex{NEWEST_SUFFIX}": "codex-newest",
}
RALPH_ARGV = [sys.executable, "-m", "ralph"]
# Brings loopback up and keeps the namespace until stdin is closed.
HOLD_NAMESPACE_SCRIPT = """
import fcntl, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
print("ready", flush=True)
sys.stdin.read()
"""


class IsolatedNetwork:
    """A network namespace with loopback only, where we may make one; else the machine's own."""

    def __init__(self) -> None:
        self.alone = False
        if not shutil.which("unshare") or not shutil.which("nsenter"):
            return
        as_root = [] if os.getuid() == 0 else ["--map-root-user"]
        self._holder = subprocess.Popen(
            ["unshare", "--net", *as_root, sys.executable, "-c", HOLD_NAMESPACE_SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._holder.stdout is not None
        self.alone = self._holder.stdout.readline() == "ready\n"

    @property
    def words(self) -> list[str]:
        """What to put before a command so that it runs in here."""
        if not self.alone:
            return []
        user = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self._holder.pid), "--net", *user, "--"]

    def close(self) -> None:
        """Nothing holds it then."""
        if self.alone:
            self._holder.communicate(timeout=10)


class ClientFixture:
    """One test's repository, home and model."""

    def __init__(self, folder: Path, network: IsolatedNetwork, agent: str) -> None:
        self.client_name = agent  # with the suffix, where it is the newest
        self.agent = agent.removesuffix(NEWEST_SUFFIX)
        self.program = find_client(agent)
        self.home = folder / "home"
        self.repo = folder / "repo"
        self.log = folder / "requests.ndjson"
        self._temporary = folder / "tmp"  # not around the home: Codex would refuse to put its helper programs there
        self._folder = folder
        self._network = network
        self._server: subprocess.Popen[str] | None = None
        self._pointing = EndpointConfig()
        for made in (self.home, self.repo, self._temporary):
            made.mkdir()
        (self.home / "gitconfig").write_text("[user]\nname = t\nemail = t@localhost\n[init]\ndefaultBranch = main\n")
        subprocess.run(["git", "init", "-q"], cwd=self.repo, env=self.environment, check=True)

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine's but PATH."""
        return {
            "PATH": f"{self.program.parent}:{CLIENTS_BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TMPDIR": str(self._temporary),  # what a killed agent leaves lying about goes with the room
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
            **self._pointing.environment,
        }

    def model(self, *runs: object) -> None:
        """Start the model with this script, and point the agent at it."""
        script = self._folder / "script.json"
        script.write_text(json.dumps(runs))
        self._server = self._start("dev", "llm", str(script), "--log", str(self.log))
        assert self._server.stdout is not None
        url = json.loads(self._server.stdout.readline())["url"]
        self._pointing = importlib.import_module(f"ralph.agents.{self.agent}").configure_endpoint(url, str(self.home))
        for name, text in self._pointing.files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def settings(
        self, *, flags: Sequence[str] | None = None, agent: dict[str, object] | None = None, **more: object
    ) -> None:
        """`.ralph/settings.json`; no waiting for services in trouble."""
        named = {"command": self.agent, "flags": [*(self._pointing.flags if flags is None else flags)], **(agent or {})}
        (self.repo / ".ralph").mkdir(exist_ok=True)
        text = json.dumps({"agent": named, "retry": {"attempts": 0, "emptyAnswers": 0}, **more})
        (self.repo / ".ralph" / "settings.json").write_text(text)

    def commit(self, message: str, **files: str) -> None:
        """Files, committed."""
        for name, text in files.items():
            (self.repo / name).write_text(text)
        for words in (["add", "-A"], ["commit", "-qm", message]):
            subprocess.run(["git", *words], cwd=self.repo, env=self.environment, check=True)

    def ralph(self, *words: str, timeout: float = 100, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end, in the room."""
        return subprocess.run(
            [*self._network.words, *RALPH_ARGV, *words],
            cwd=self.repo,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def client(self, *words: str | Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run the agent's own program to its end, in the room."""
        return subprocess.run(
            [*self._network.words, self.program, *words],
            cwd=self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Run it in the background, in the room."""
        return self._start(*words)

    def run(self, *words: str, **variables: str) -> "JsonRun":
        """`ralph run --json`."""
        done = self.ralph("run", "--json", *words, timeout=200, **variables)
        return JsonRun(done.returncode, done.stdout, done.stderr)

    def requests(self) -> list[dict[str, Any]]:
        """What the model was asked, side requests left out."""
        if not self.log.exists():
            return []
        return [told for line in self.log.read_text().splitlines() if (told := json.loads(line)).get("tools")]

    def close(self) -> None:
        """End the model."""
        if self._server is not None:
            self._server.terminate()
            self._server.communicate(timeout=10)

    def _start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._network.words, *RALPH_ARGV, *words],
            cwd=self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


class JsonRun:
    """What `--json` told of a run."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code = code
        self.stderr = stderr
        self.began = time.time()
        self.events: list[dict[str, Any]] = [json.loads(line)["event"] for line in stdout.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def outcomes(self) -> list[str]:
        """What each agent run was."""
        return [event["outcome"] for event in self.of("agent_ended")]

    @property
    def ended(self) -> dict[str, Any]:
        """The end of the run."""
        return self.of("run_ended")[-1]


def find_client_processes(room: ClientFixture) -> set[str]:
    """Every living process with this room's home, but the model."""
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            variables = (folder / "environ").read_bytes().split(b"\0")
            words = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if f"HOME={room.home}".encode() in variables and not dead and " dev llm " not in words:
            found.add(words)
    return found


def skip_unless_installed(agent: str) -> None:
    """Skip the test where this CLI is not installed."""
    if find_client(agent).exists():
        return
    how = "run `make clients-all`" if shutil.which("npm") else "there is no npm to install it with"
    pytest.skip(f"the real {agent} is not in {find_client(agent).parent}: {how}")


def find_client(agent: str) -> Path:
    """Where its program is, once it is installed."""
    folder = NEWEST_BIN if agent.endswith(NEWEST_SUFFIX) else CLIENTS_BIN
    return folder / agent.removesuffix(NEWEST_SUFFIX)


def read_pinned_version(agent: str) -> str:
    """The version of it we are tried with."""
    pins = json.loads(PINS_FILE.read_text())
    version: str = {**pins["dependencies"], **pins["devDependencies"]}[NPM_PACKAGES[agent]]
    return version.rpartition("@")[2]  # an alias names its package, too
