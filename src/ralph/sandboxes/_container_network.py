"""A container's network: the engine's, none, or none but a socket to a proxy that knows whom to connect to."""

import os
import shutil
from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.model.sandbox import SandboxPlan
from ralph.process.network_proxy import LOOPBACK_NAMES, SOCKET_NAME, NetworkProxy, list_loopback_ports
from ralph.sandboxes import _relay
from ralph.sandboxes._mounts import Mount

RELAY_FOLDER = "/run/ralph"
FIRST_PORT = 3128
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class ContainerNetwork(Struct, frozen=True, kw_only=True):
    """What a container is started with."""

    words: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    relay: tuple[str, ...] = ()  # before the command, inside
    environment: Mapping[str, str] = {}
    close: Callable[[], object] = int


def open_network(plan: SandboxPlan) -> ContainerNetwork:
    match plan.network:
        case None | "full":
            return ContainerNetwork()
        case "none":
            return ContainerNetwork(words=("--network=none",))
        case hosts:
            return _open_proxy(plan, (*hosts, *(host for card in plan.cards for host in card.hosts)))


def _open_proxy(plan: SandboxPlan, hosts: tuple[str, ...]) -> ContainerNetwork:
    """The relay inside needs Python; our own image has it."""
    folder = os.path.join(plan.scratch, "network")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    shutil.copyfile(_relay.__file__, os.path.join(folder, "relay.py"))
    proxy = NetworkProxy(folder, hosts)
    ports = list_loopback_ports(hosts)
    port = next(number for number in range(FIRST_PORT, 1 << 16) if number not in ports)
    script, place = f"{RELAY_FOLDER}/relay.py", f"{RELAY_FOLDER}/{SOCKET_NAME}"
    return ContainerNetwork(
        words=("--network=none",),
        mounts=(Mount(RELAY_FOLDER, "ro-bind", folder),),
        relay=("python3", "-I", "-S", script, place, str(port), ",".join(map(str, ports)), "--"),
        environment={
            **dict.fromkeys(_PROXY_VARIABLES, f"http://127.0.0.1:{port}"),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(LOOPBACK_NAMES)),
            "NODE_USE_ENV_PROXY": "1",
        },
        close=proxy.close,
    )
