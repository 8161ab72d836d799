"""bubblewrap: namespaces of the kernel, no daemon and no image. The machine's own programs, read-only."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import HomeContent, NetworkPolicy, SandboxKind, SandboxPlan, SandboxProbe
from ralph.process.network_proxy import LOOPBACK_NAMES, SOCKET_NAME, NetworkProxy, list_loopback_ports
from ralph.process.output import Excerpt
from ralph.process.shell import find_program
from ralph.sandboxes import _relay
from ralph.sandboxes._home import fill_scratch
from ralph.sandboxes._mounts import Mount, list_command_mounts, list_mounts, order_mounts
from ralph.sandboxes._seccomp import build_filter
from ralph.sandboxes._system import is_dropped, is_in_system

PROGRAM = "bwrap"
_PROBE_SECONDS = 10.0
INSTALL_HINT = "install bubblewrap: apt install bubblewrap (or dnf, pacman, apk)"
_FILTER_FD = "9"
# The filter is read from a descriptor, and only a shell can open one for a program that is about to start.
_WITH_FILTER = ("/bin/sh", "-c", f'exec {_FILTER_FD}<"$1"; shift; exec "$@"', "sh")
_ISOLATION = (
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),
)
_RELAY_FOLDER = "/run/ralph"
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
FIRST_PROXY_PORT = 3128
_KERNEL_SWITCHES = (  # file, what it says where it is closed, how to open it
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        (
            "Ubuntu's AppArmor blocks user namespaces: give bwrap a profile with `userns,` as docs/security.md"
            " shows, or: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        ),
    ),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=15000"),
)


class Bubblewrap:
    """Implements the port `Sandbox`."""

    kind: SandboxKind = "bubblewrap"

    def __init__(self, program: str, plan: SandboxPlan) -> None:
        self._plan = plan
        self._proxy: NetworkProxy | None = None
        mounts = [*list_mounts(plan), *(Mount(path, "bind", place) for path, place in fill_scratch(plan).items())]
        self._network: NetworkPolicy = "full" if plan.network is None else plan.network
        self._environment = dict(plan.environment)
        self._relay: tuple[str, ...] = ()
        if isinstance(self._network, tuple):
            mounts += self._open_network((*self._network, *(host for card in plan.cards for host in card.hosts)))
        alone = () if self._network == "full" else ("--unshare-net",)
        # Before the mounts: a work tree may be in /dev/shm, which an empty /dev would hide.
        self._start = (*_start_program(program, plan), *_ISOLATION, *alone, "--dev", "/dev", "--proc", "/proc")
        self._mounts = [word for mount in order_mounts(mounts) for word in mount.as_words()]

    def describe(self) -> str:
        network = self._network if isinstance(self._network, str) else ", ".join(self._network)
        return f"bubblewrap, network {network}" + (" with localhost" if network == "full" else "")

    def wrap(self, command: Command) -> Command:
        own = (word for mount in list_command_mounts(command) for word in mount.as_words())
        argv = (
            *self._start,
            *self._mounts,
            *own,
            *_close_kernel_files(),
            *("--remount-ro", "/", "--chdir", command.cwd, "--"),
            *self._relay,
            *command.argv,
        )
        return replace(command, argv=argv, environment=self._choose_variables(command.environment))

    def close(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None

    def _choose_variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        home = self._plan.home.folder
        kept = {name: value for name, value in environment.items() if not is_dropped(name, value, home)}
        if "TMPDIR" in kept:
            kept["TMPDIR"] = "/tmp"
        return {"HOME": home, **kept, **self._environment}

    def _open_network(self, hosts: tuple[str, ...]) -> list[Mount]:
        """A proxy outside, on a socket; a relay inside, on a loopback that only this sandbox has."""
        folder = os.path.join(self._plan.scratch, "network")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._proxy = NetworkProxy(folder, hosts)
        ports = list_loopback_ports(hosts)
        port = next(number for number in range(FIRST_PROXY_PORT, 1 << 16) if number not in ports)
        place, script = f"{_RELAY_FOLDER}/{SOCKET_NAME}", f"{_RELAY_FOLDER}/relay.py"
        python = os.path.realpath(sys.executable)
        self._relay = (python, "-I", "-S", script, place, str(port), ",".join(map(str, ports)), "--")
        address = f"http://127.0.0.1:{port}"
        self._environment |= dict.fromkeys(_PROXY_VARIABLES, address)
        self._environment |= {name: ",".join(LOOPBACK_NAMES) for name in ("NO_PROXY", "no_proxy")}
        self._environment["NODE_USE_ENV_PROXY"] = "1"
        shutil.copyfile(_relay.__file__, os.path.join(folder, "relay.py"))
        roots = [path for path in (sys.base_prefix, sys.base_exec_prefix) if not is_in_system(path)]
        return [Mount(_RELAY_FOLDER, "ro-bind", folder), *(Mount(path, "ro-bind") for path in roots)]


def build(plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox:
    program = find_program(PROGRAM, variables)
    if program is None:
        raise MachineError("bubblewrap is no longer on PATH", INSTALL_HINT)
    return Bubblewrap(program, plan)


def probe(variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
    """A whole sandbox is made and left again."""
    if not sys.platform.startswith("linux"):
        return SandboxProbe(problem="only on Linux")
    program = find_program(PROGRAM, variables)
    if program is None:
        return SandboxProbe(problem="bwrap is not on PATH", hint=INSTALL_HINT)
    with tempfile.TemporaryDirectory(prefix="ralph-probe-") as folder:
        scratch, tree = os.path.join(folder, "scratch"), os.path.join(folder, "tree")
        os.makedirs(scratch)
        os.makedirs(tree)
        plan = SandboxPlan(run="probe", folder=tree, scratch=scratch, home=HomeContent(folder=f"{folder}/home"))
        trial = Command(argv=("/bin/sh", "-c", "touch made"), environment=variables, cwd=tree, timeout=_PROBE_SECONDS)
        words = Excerpt(4096, 0)
        exited = processes.run(Bubblewrap(program, plan).wrap(trial), words.write, words.write)
        if exited.code == 0 and os.path.exists(os.path.join(tree, "made")):
            return SandboxProbe()
    said = words.text().strip().splitlines()
    return SandboxProbe(
        problem=said[-1] if said else exited.error or f"exit code {exited.code}", hint=explain_failure()
    )


def explain_failure() -> str:
    """Why the kernel refuses namespaces to an ordinary user, and what lets it have them."""
    for path, closed, hint in _KERNEL_SWITCHES:
        try:
            with open(path, encoding="ascii") as file:
                if file.read().strip() == closed:
                    return hint
        except OSError:
            continue
    return "where ralph itself runs in a container, the container is the sandbox: use --no-sandbox"


def _close_kernel_files() -> Iterator[str]:
    """Root without a capability is still the owner of these files; everybody's keys are listed in one; and some of the
    kernel's switches are those of who made the namespace."""
    if os.path.exists("/proc/keys"):
        yield from ("--ro-bind", "/dev/null", "/proc/keys")
    for name in ("sys", "sysrq-trigger", "irq", "bus", "acpi") if os.getuid() == 0 else ("sys",):
        if os.path.exists(path := f"/proc/{name}"):
            yield from ("--ro-bind", path, path)


def _start_program(program: str, plan: SandboxPlan) -> tuple[str, ...]:
    """With a filter for system calls, where they are known for this kind of machine."""
    calls = build_filter(platform.machine())
    if not calls:
        return (program,)
    path = os.path.join(plan.scratch, "seccomp.bpf")
    with open(path, "wb") as file:
        file.write(calls)
    return (*_WITH_FILTER, path, program, "--seccomp", _FILTER_FD)
