"""What of the machine itself is in a sandbox, and what of that holds secrets."""

import glob
import os
from collections.abc import Iterator

SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "nix", "gnu", "snap")
KERNEL_FOLDERS = ("/sys/devices/system", "/sys/fs/cgroup")  # how many processors and how much memory there are
VARIABLE_FOLDERS = ("/var/lib/dpkg", "/var/lib/ghc", "/var/lib/texmf", "/var/cache/fontconfig", "/var/lib/snapd")
_SECRETS = (  # an ordinary user cannot read most of them; root in a sandbox is still root to files
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"),
    *("/etc/ssh/ssh_host_*_key", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn"),
    *("/etc/NetworkManager/system-connections", "/etc/netplan", "/etc/docker", "/etc/kubernetes", "/etc/rancher"),
    *("/etc/letsencrypt", "/etc/cloudflared", "/etc/ppp", "/etc/crypttab", "/etc/luks", "/etc/security/opasswd"),
    "/etc/machine-id",
)
# Variables that lead to what is not there, or to a program outside that does as it is told.
_DROPPED_VARIABLES = frozenset(
    "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO GPG_TTY DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR TMUX TMUX_PANE STY"
    " DOCKER_HOST CONTAINER_HOST PODMAN_HOST KUBECONFIG DISPLAY WAYLAND_DISPLAY XAUTHORITY NOTIFY_SOCKET"
    " VSCODE_IPC_HOOK_CLI VSCODE_GIT_IPC_HANDLE GIT_CONFIG_GLOBAL GIT_ASKPASS SSH_ASKPASS WSL_INTEROP".split()
)


def list_secrets() -> list[str]:
    """Those that are there, and could be read."""
    return [
        path
        for pattern in _SECRETS
        for path in (glob.glob(pattern) if "*" in pattern else (pattern,))
        if os.access(path, os.R_OK)
    ]


def list_resolver_files() -> Iterator[str]:
    """What /etc/resolv.conf leads to, where that is in a folder that is not there otherwise."""
    real = os.path.realpath("/etc/resolv.conf")
    if not is_in_system(real) and os.path.isfile(real):
        yield real


def is_in_system(path: str) -> bool:
    return f"{path}/".startswith(tuple(f"/{name}/" for name in SYSTEM_FOLDERS))


def is_dropped(name: str, value: str, home: str) -> bool:
    """Whether a variable is kept out."""
    if name in _DROPPED_VARIABLES:
        return True
    is_place = name.startswith("XDG_") and name.endswith("_HOME")
    return is_place and not value.startswith(f"{home}/")
