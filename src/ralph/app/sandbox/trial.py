"""Use case: try every way out of a sandbox on this machine, with things outside that nobody would miss."""

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Literal

from msgspec import Struct

from ralph.app.paths import find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.escapes import CLOSED_NETWORK_ESCAPES, ESCAPES, SYSTEM_CALLS_MACHINE, Escape
from ralph.app.sandbox.opening import open_containment, open_sandbox
from ralph.app.sandbox.plan import SandboxRequest
from ralph.config.schema import SandboxSettings
from ralph.core.proofs.file_patterns import matches_any
from ralph.model.command import Command
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxKind
from ralph.process.shell import find_program

ESCAPE_SECONDS = 10.0
_HOME_FILES = (
    *(".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history", ".config/gh/hosts.yml", ".git-credentials"),
    *(".docker/config.json", ".kube/config", ".gnupg/private-keys-v1.d/key", ".npmrc", ".codex/auth.json"),
    *(".claude/settings.json", ".claude/.credentials.json", ".claude/plugins/own", ".claude.json"),
    ".local/state/ralph/trees/repository/config",
)
_TREE_FILES = (".ralph/settings.json", ".claude/settings.json", "checks/acceptance/test_it.py", "code.py")
_MADE_FILES = (".mcp.json", ".codex/config.toml", ".claude/settings.local.json", ".git/commondir", "deep/conftest.py")
_STATE_FILES = (".git/ralph/ralph.db",)
_VICTIM_SCRIPT = "import time; time.sleep(600)  # victim-of-ralph"
_SURVIVOR_COMMAND = "(setsid sh -c 'sleep 97531 & sleep 97531' >/dev/null 2>&1 &) ; nohup sleep 97531 >/dev/null 2>&1 &"


class EscapeResult(Struct, frozen=True, kw_only=True):
    """Whether one way led out."""

    group: str
    name: str
    got_out: bool


def try_escapes(
    kind: SandboxKind, variables: Mapping[str, str], report: Callable[[EscapeResult], object]
) -> list[EscapeResult]:
    """Each is reported as it is known. What is outside is made for this, and removed."""
    results: list[EscapeResult] = []

    def note(group: str, name: str, got_out: bool) -> None:
        results.append(EscapeResult(group=group, name=name, got_out=got_out))
        report(results[-1])

    with open_short_lived_processes() as processes, _open_outside(variables, processes) as outside:
        for escapes in (ESCAPES, CLOSED_NETWORK_ESCAPES):
            policy: Literal["full", "none"] = "full" if escapes is ESCAPES else "none"
            settings = SandboxSettings(network=policy, protected=("checks/acceptance/**", "conftest.py"))
            with outside.open(kind, settings, processes) as sandbox:
                for escape in filter(_is_meant_for_here, escapes):
                    note(escape.group, escape.name, outside.attempt(sandbox, escape, processes))
                if policy == "full":
                    for name in _MADE_FILES:
                        made = outside.makes_unnoticed(kind, settings, name, processes)
                        note("change the rules", f"create {name}, unnoticed", made)
                    note("outlive the run", "a process in the background", outside.leaves_processes(sandbox, processes))
                    note("touch processes", "end every process there is", outside.ends_others(sandbox, processes))
        for name, path in outside.list_changed():
            note("write outside", name, bool(path))
    return results


def _is_meant_for_here(escape: Escape) -> bool:
    return "call(" not in escape.python.replace("call=", "") or platform.machine() == SYSTEM_CALLS_MACHINE


class _Outside(Struct, frozen=True, kw_only=True):
    """A home, a repository and neighbours that look like a user's."""

    folder: str
    variables: Mapping[str, str]
    contents: Mapping[str, str]
    victim: int

    @contextmanager
    def open(self, kind: SandboxKind, settings: SandboxSettings, processes: Processes) -> Iterator[Sandbox]:
        with open_sandbox(kind, self._build_request(settings), processes) as sandbox:
            yield sandbox

    def _build_request(self, settings: SandboxSettings) -> SandboxRequest:
        return SandboxRequest(
            run="sandbox-test",
            paths=find_paths(os.path.join(self.folder, "repository")),
            settings=settings,
            adapters=("claude",),
            variables=self.variables,
        )

    def makes_unnoticed(self, kind: SandboxKind, settings: SandboxSettings, name: str, processes: Processes) -> bool:
        """Whether a file that is not there yet, and so is behind no mount, can be made and nobody hears of it: by its
        name, or by a link or a folder that is renamed to where it would be."""
        tree = os.path.join(self.folder, "repository")
        folder, _, last = name.rpartition("/")
        ways = [f"mkdir -p ./{folder} && echo x > {name}"]
        ways += [f"mkdir -p b && echo x > b/{last} && {way} b {folder}" for way in ("mv", "ln -s") if folder]
        request = self._build_request(settings)
        for way in ways:
            with open_containment(kind, request, processes) as containment:
                command = Command(argv=("/bin/sh", "-c", way), environment=self.variables, cwd=tree, timeout=10)
                containment.through(processes).run(command, len, len)
                is_noticed = name in containment.closed.absent or matches_any(name, containment.protected)
                if os.path.lexists(os.path.join(tree, name)) and not is_noticed:
                    return True
            for path in (name, folder if folder not in (".git", ".claude") else "", "b"):
                _remove(os.path.join(tree, path) if path else "")
        return False

    def attempt(self, sandbox: Sandbox, escape: Escape, processes: Processes) -> bool:
        python = os.path.realpath(sys.executable)
        argv = (python, "-I", "-S", "-c", escape.python) if escape.python else ("/bin/sh", "-c", escape.shell)
        return self._run(sandbox, argv, processes) == 0

    def leaves_processes(self, sandbox: Sandbox, processes: Processes) -> bool:
        self._run(sandbox, ("/bin/sh", "-c", _SURVIVOR_COMMAND), processes)
        return any(b"97531" in _read_words(pid) for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))))

    def ends_others(self, sandbox: Sandbox, processes: Processes) -> bool:
        self._run(sandbox, ("/bin/sh", "-c", "kill -9 -1"), processes)
        return not os.path.exists(f"/proc/{self.victim}")

    def list_changed(self) -> Iterator[tuple[str, str]]:
        """Every file outside, or one that must not change, that did."""
        for name, text in self.contents.items():
            path = os.path.join(self.folder, name)
            try:
                with open(path, encoding="utf-8") as file:
                    same = file.read() == text
            except OSError:
                same = False
            if not same:
                yield f"{name} is changed", path
        names = (os.path.join(self.folder, place, "made") for place in ("outside", "other"))
        made = [path for path in names if os.path.exists(path)]
        yield "nothing outside is changed", ", ".join(made)

    def _run(self, sandbox: Sandbox, argv: tuple[str, ...], processes: Processes) -> int:
        tree = os.path.join(self.folder, "repository")
        names = {
            "OUT": os.path.join(self.folder, "outside"),
            "OTHER": os.path.join(self.folder, "other"),
            "STATE": os.path.join(tree, ".git", "ralph"),
            "VICTIM": str(self.victim),
        }
        command = Command(argv=argv, environment={**self.variables, **names}, cwd=tree, timeout=ESCAPE_SECONDS)
        wrapped = sandbox.wrap(command)
        kept = {name: self.variables[name] for name in ("SSH_AUTH_SOCK", "TMUX") if name in self.variables}
        return processes.run(_with_variables(wrapped, kept), len, len).code


def _with_variables(command: Command, variables: Mapping[str, str]) -> Command:
    """An escape knows where to look, also where the sandbox does not say so."""
    from msgspec.structs import replace

    return replace(command, environment={**variables, **command.environment})


@contextmanager
def _open_outside(variables: Mapping[str, str], processes: Processes) -> Iterator[_Outside]:
    with ExitStack() as stack:
        folder = os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="ralph-sandbox-test-")))
        contents = _write_files(folder)
        _make_repository(os.path.join(folder, "repository"), variables, processes)
        port, abstract = _listen(stack, folder)
        own = {
            **variables,
            "HOME": os.path.join(folder, "home"),
            "SOCKET": os.path.join(folder, "outside", "socket"),
            "SSH_AUTH_SOCK": os.path.join(folder, "outside", "socket"),
            "TMUX": f"{os.path.join(folder, 'outside', 'socket')},1,0",
            "ABSTRACT": abstract,
            "PORT": str(port),
        }
        own.pop("XDG_STATE_HOME", None)
        victim = os.posix_spawn(sys.executable, (sys.executable, "-c", _VICTIM_SCRIPT), {"SECRET": "of-the-harness"})
        stack.callback(_end, victim)
        yield _Outside(folder=folder, variables=own, contents=contents, victim=victim)


def _write_files(folder: str) -> dict[str, str]:
    places = {
        "home": _HOME_FILES,
        "repository": (*_TREE_FILES, *_STATE_FILES),
        "outside": ("secret",),
        "other": ("code.py",),
    }
    contents = {}
    for place, names in places.items():
        for name in names:
            path = os.path.join(folder, place, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            text = "{}\n" if name.endswith(".json") else "secret\n"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            contents[f"{place}/{name}"] = text
    return contents


def _make_repository(folder: str, variables: Mapping[str, str], processes: Processes) -> None:
    git = find_program("git", variables) or "git"
    command = Command(argv=(git, "init", "--quiet", folder), environment=variables, cwd=folder, timeout=ESCAPE_SECONDS)
    processes.run(command, len, len)


def _listen(stack: ExitStack, folder: str) -> tuple[int, str]:
    """A socket of each kind; a name that says where it is."""
    abstract = f"@ralph-sandbox-test-{os.getpid()}"
    file, hidden = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    port = socket.socket()
    file.bind(os.path.join(folder, "outside", "socket"))
    hidden.bind(abstract.replace("@", "\0"))
    port.bind(("127.0.0.1", 0))
    for server in (file, hidden, port):
        server.listen()
        stack.callback(server.close)
    number: int = port.getsockname()[1]
    return number, abstract


def _remove(path: str) -> None:
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif path:
        shutil.rmtree(path, ignore_errors=True)


def _read_words(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _end(pid: int) -> None:
    import signal

    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except OSError:
        pass
