"""The profile for `sandbox-exec`: what the plan opens, everything else closed. Pure. The last rule that fits wins."""

import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ralph.model.sandbox import NetworkPolicy, SandboxPlan
from ralph.sandboxes._parents import list_parents

# What any program on a Mac talks to: names and users, logs, certificates, the keychain that holds logins.
_SERVICES = (
    *("com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership"),
    *("com.apple.system.logger", "com.apple.logd", "com.apple.diagnosticd", "com.apple.system.notification_center"),
    *("com.apple.cfprefsd.agent", "com.apple.cfprefsd.daemon", "com.apple.bsd.dirhelper", "com.apple.FSEvents"),
    *("com.apple.SecurityServer", "com.apple.securityd.xpc", "com.apple.trustd", "com.apple.trustd.agent"),
    *("com.apple.ocspd", "com.apple.SystemConfiguration.configd", "com.apple.SystemConfiguration.DNSConfiguration"),
    *("com.apple.networkd", "com.apple.dnssd.service", "com.apple.PowerManagement.control"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper")
# Homes, other disks, and the folders where sockets of ssh-agent, tmux and others are.
_CLOSED_FOLDERS = (
    "/Users",
    "/Volumes",
    "/private/var/root",
    "/private/tmp",
    "/private/var/tmp",
    "/private/var/folders",
    "/home",
)
_CLOSED_FILES = ("/private/etc/master.passwd", "/private/var/db/shadow", "/private/etc/ssh", "/private/etc/sudoers")
_NAME_SERVICE = "/private/var/run/mDNSResponder"


class ProxyAddress(Struct, frozen=True, kw_only=True):
    """Where an allow-list is kept: a socket outside, a port of the loopback for who can only speak TCP."""

    socket: str
    port: int
    open_ports: tuple[int, ...] = ()  # of this machine, allowed by number


def render_profile(
    plan: SandboxPlan,
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    proxy: ProxyAddress | None = None,
) -> str:
    """`reads` and `writes` are those of one command."""
    lines = [
        "(version 1)",
        "(deny default)",
        *_list_process_rules(),
        *_list_read_rules(plan, (*reads, *writes)),
        *_list_write_rules(plan, writes),
        *_list_network_rules(plan.network or "full", plan.scratch, proxy),
    ]
    return "\n".join(lines) + "\n"


def _list_process_rules() -> Iterator[str]:
    """Programs may be started, and only what runs in here be seen, signalled or debugged."""
    yield "(allow process-exec process-fork)"
    yield "(allow process-info* signal (target same-sandbox))"
    yield "(allow sysctl-read user-preference-read pseudo-tty)"
    yield "(allow ipc-posix-sem ipc-posix-shm)"
    yield _render_rule("allow", "mach-lookup", (f"(global-name {quote_text(name)})" for name in _SERVICES))


def _list_read_rules(plan: SandboxPlan, extra: Sequence[str]) -> Iterator[str]:
    """The system is readable, homes are not; of them, what the plan brings in. Names and dates of files are no secret:
    without them no program finds its way."""
    home = plan.home
    opened = (
        *(plan.folder, plan.scratch, *plan.writable, *plan.readable, *home.tools, *home.folders, *home.logins),
        *(os.path.join(home.folder, "Library/Keychains"), *extra),
    )
    yield "(allow file-read*)"
    yield _render_rule("deny", "file-read-data", map(_render_subpath, (*_CLOSED_FOLDERS, *_CLOSED_FILES, home.folder)))
    yield _render_rule("allow", "file-read*", map(_render_subpath, opened))
    if plan.hidden:
        yield _render_rule("deny", "file-read* file-write*", map(_render_subpath, plan.hidden))


def _list_write_rules(plan: SandboxPlan, extra: Sequence[str]) -> Iterator[str]:
    opened = (plan.folder, plan.scratch, *plan.writable, *plan.home.logins, *extra)
    yield _render_rule(
        "allow", "file-write*", (*map(_render_subpath, opened), *(f"(literal {quote_text(path)})" for path in _DEVICES))
    )
    yield "(deny file-write-setugid)"  # such a file left behind is a way in for other users
    closed = (*plan.protected, *plan.absent, *plan.home.folders, *plan.hidden)
    if closed:
        yield _render_rule("deny", "file-write*", map(_render_subpath, closed))
    # A folder on the way to a closed path could be renamed, and another put in its place.
    parents = list_parents(closed, opened)
    if parents:
        yield _render_rule(
            "deny", "file-write-unlink file-write-mode", (f"(literal {quote_text(path)})" for path in parents)
        )


def _list_network_rules(network: NetworkPolicy, scratch: str, proxy: ProxyAddress | None) -> Iterator[str]:
    """Sockets in the file system only where they are our own: docker, tmux and ssh-agent are reached by theirs."""
    yield "(allow system-socket)"
    yield _render_rule("allow", "network*", [_render_subpath(scratch)])
    if network == "full":
        yield '(allow network-outbound (remote ip "*:*"))'
        yield '(allow network-bind network-inbound (local ip "*:*"))'
        yield _render_rule("allow", "network-outbound", [f"(literal {quote_text(_NAME_SERVICE)})"])
    elif proxy is not None:
        ports = (proxy.port, *proxy.open_ports)
        yield _render_rule("allow", "network-outbound", (f'(remote ip "localhost:{port}")' for port in ports))
        yield f'(allow network-bind network-inbound (local ip "localhost:{proxy.port}"))'
        yield _render_rule("allow", "network-outbound", [f"(literal {quote_text(proxy.socket)})"])


def _render_rule(action: str, operations: str, filters: Iterable[str]) -> str:
    return f"({action} {operations}\n" + "\n".join(f"  {one}" for one in filters) + ")"


def _render_subpath(path: str) -> str:
    return f"(subpath {quote_text(path)})"


def quote_text(path: str) -> str:
    """As a string of the profile's language. A line break would begin a rule of its own: it is refused."""
    if any(sign in path for sign in "\n\r\0"):
        raise ValueError(f"a path with a line break: {path!r}")
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
