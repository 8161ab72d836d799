"""Seatbelt: the sandbox of macOS, through `sandbox-exec` and a profile made for the plan."""

import os
import socket
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxKind, SandboxPlan, SandboxProbe
from ralph.process.network_proxy import SOCKET_NAME, NetworkProxy, list_loopback_ports
from ralph.sandboxes import _relay
from ralph.sandboxes._copies import refuse_copies
from ralph.sandboxes._home import fill_scratch
from ralph.sandboxes._seatbelt_profile import ProxyAddress, render_profile

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
PROBE_SECONDS = 10.0
NETWORK_FOLDER = "network"


class Seatbelt:
    """Implements the port `Sandbox`. There are no mounts: the home is a folder of the run, with links."""

    kind: SandboxKind = "seatbelt"

    def __init__(self, plan: SandboxPlan) -> None:
        self._plan = plan
        self._proxy: NetworkProxy | None = None
        self._address: ProxyAddress | None = None
        fill_scratch(plan)
        link_home(plan)
        self._variables = {
            **plan.environment,
            "HOME": os.path.join(plan.scratch, "home"),
            "TMPDIR": os.path.join(plan.scratch, "tmp"),
        }
        self._relay: tuple[str, ...] = ()
        if isinstance(plan.network, tuple):
            self._open_network((*plan.network, *(host for card in plan.cards for host in card.hosts)))

    def describe(self) -> str:
        network = self._plan.network or "full"
        words = network if isinstance(network, str) else f"only {', '.join(network)}"
        return f"Seatbelt, network {words}; processes that leave their group may outlive the run"

    def wrap(self, command: Command) -> Command:
        refuse_copies(command, "Seatbelt")
        profile = render_profile(self._plan, reads=command.reads, writes=command.writes, proxy=self._address)
        argv = (SANDBOX_EXEC, "-p", profile, *self._relay, *command.argv)
        return replace(command, argv=argv, environment={**command.environment, **self._variables})

    def close(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None

    def _open_network(self, hosts: tuple[str, ...]) -> None:
        """The relay runs inside and speaks TCP to who cannot speak to a socket in the file system."""
        folder = os.path.join(self._plan.scratch, NETWORK_FOLDER)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._proxy = NetworkProxy(folder, hosts)
        path = os.path.join(folder, SOCKET_NAME)
        ports = tuple(list_loopback_ports(hosts))
        self._address = ProxyAddress(socket=path, port=_find_free_port(), open_ports=ports)
        script = os.path.join(self._plan.scratch, "relay.py")
        with open(_relay.__file__, encoding="utf-8") as source, open(script, "w", encoding="utf-8") as copy:
            copy.write(source.read())
        # Ports of this machine are here already: there is one loopback for all.
        self._relay = (sys.executable, "-I", "-S", script, path, str(self._address.port), "", "--")
        url = f"http://127.0.0.1:{self._address.port}"
        self._variables |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), url)


def probe(variables: Mapping[str, str], processes: Processes, platform: str = sys.platform) -> SandboxProbe:
    if platform != "darwin":
        return SandboxProbe(problem="only on macOS")
    command = Command(
        argv=(SANDBOX_EXEC, "-p", "(version 1)(allow default)", "/usr/bin/true"),
        environment=dict(variables),
        cwd="/",
        timeout=PROBE_SECONDS,
    )
    exited = processes.run(command, len, len)
    if exited.code == 0 and exited.ending == "exited":
        return SandboxProbe(version="sandbox-exec")
    return SandboxProbe(
        problem="sandbox-exec does not work here", hint="a sandbox cannot start another: leave that one first"
    )


def build(plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox:
    return Seatbelt(plan)


def link_home(plan: SandboxPlan) -> None:
    """The private home leads to what of the user's own is brought in; what of that may be written, the profile says."""
    home, private = plan.home.folder, os.path.join(plan.scratch, "home")
    for path in (*plan.home.tools, *plan.home.folders, *plan.home.logins, os.path.join(home, "Library/Keychains")):
        if not path.startswith(f"{home}/"):
            continue
        link = os.path.join(private, os.path.relpath(path, home))
        try:
            os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
            if not os.path.lexists(link):
                os.symlink(path, link)
        except OSError as error:
            raise MachineError(f"cannot prepare a home for the sandbox: {error.strerror}: {link}") from error


def _find_free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        number: int = asked.getsockname()[1]
        return number
