"""Seatbelt's profile, read as macOS reads it: of all rules that fit, the last one decides. None of it ran on a Mac."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.app.sandbox.escapes import CLOSED_NETWORK_ESCAPES, ESCAPES
from ralph.model.command import Command, CommandExit
from ralph.model.sandbox import HomeContent, NetworkPolicy, SandboxPlan
from ralph.sandboxes import seatbelt
from ralph.sandboxes._seatbelt_profile import ProxyAddress, render_profile
from support.scripted_processes import Ran, ScriptedProcesses

HOME = "/Users/me"
WORK = f"{HOME}/work/app"
SCRATCH = f"{HOME}/.local/state/ralph/sandboxes/runs/1-ab"
PLAN = SandboxPlan(
    run="r1",
    folder=WORK,
    scratch=SCRATCH,
    home=HomeContent(
        folder=HOME,
        tools=(f"{HOME}/.nvm",),
        folders=(f"{HOME}/.claude/hooks",),
        logins=(f"{HOME}/.claude/.credentials.json",),
    ),
    protected=(
        *(f"{WORK}/.git/hooks", f"{WORK}/.git/config", f"{WORK}/tests/acceptance", f"{WORK}/.ralph"),
        f"{WORK}/.claude/settings.json",
    ),
    hidden=(f"{WORK}/.git/ralph",),
)
Node = str | list["Node"]


def read_rules(text: str) -> list[list[Node]]:
    """The profile's language is that of nested lists."""
    tokens: Iterator[str] = iter(re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()]+', text))

    def read_list() -> list[Node]:
        found: list[Node] = []
        for token in tokens:
            if token == ")":
                return found
            found.append(read_list() if token == "(" else token)
        return found

    return [rule for rule in read_list() if isinstance(rule, list)]


def is_allowed(profile: str, operation: str, target: str) -> bool:
    """As the kernel decides it."""
    decided = False
    for action, *rest in read_rules(profile):
        operations = [word for word in rest if isinstance(word, str)]
        filters = [one for one in rest if isinstance(one, list)]
        is_meant = action in ("allow", "deny") and any(_names(word, operation) for word in operations)
        if is_meant and (not filters or any(_fits(one, target) for one in filters)):
            decided = action == "allow"
    return decided


def _names(word: str, operation: str) -> bool:
    return word in (operation, "default") or (word.endswith("*") and operation.startswith(word[:-1]))


def _fits(one: list[Node], target: str) -> bool:
    kind, value = one[0], str(one[-1]).strip('"').replace('\\"', '"')
    if kind == "subpath":
        return target == value or target.startswith(f"{value}/")
    if kind in ("remote", "local"):
        return (value == "*:*" and ":" in target) or value == target
    return target == value


PROBES = [  # the same that are run inside bubblewrap, as operations
    ("write a file of the work tree", "file-write-data", f"{WORK}/src/main.py", True),
    ("commit", "file-write-create", f"{WORK}/.git/objects/ab/cd", True),
    ("read the system", "file-read-data", "/usr/lib/libSystem.dylib", True),
    ("read its tools", "file-read-data", f"{HOME}/.nvm/node", True),
    ("refresh its login", "file-write-data", f"{HOME}/.claude/.credentials.json", True),
    ("write to its private home", "file-write-create", f"{SCRATCH}/home/.claude.json", True),
    ("discard output", "file-write-data", "/dev/null", True),
    ("write beside the work tree", "file-write-create", f"{HOME}/work/other/x", False),
    ("write to the home", "file-write-create", f"{HOME}/.zshrc", False),
    ("write a launch agent", "file-write-create", f"{HOME}/Library/LaunchAgents/x.plist", False),
    ("write to the system", "file-write-create", "/usr/local/bin/git", False),
    ("write to /tmp", "file-write-create", "/private/tmp/x", False),
    ("read SSH keys", "file-read-data", f"{HOME}/.ssh/id_ed25519", False),
    ("read cloud keys", "file-read-data", f"{HOME}/.aws/credentials", False),
    ("read another project", "file-read-data", f"{HOME}/work/other/.env", False),
    ("read another user's home", "file-read-data", "/Users/you/notes", False),
    ("read another disk", "file-read-data", "/Volumes/backup/x", False),
    ("read what others keep in /tmp", "file-read-data", "/private/tmp/x", False),
    ("read password hashes", "file-read-data", "/private/etc/master.passwd", False),
    ("read ralph's state", "file-read-data", f"{WORK}/.git/ralph/ralph.db", False),
    ("write ralph's state", "file-write-data", f"{WORK}/.git/ralph/ralph.db", False),
    ("make a git hook", "file-write-create", f"{WORK}/.git/hooks/pre-commit", False),
    ("change git's settings", "file-write-data", f"{WORK}/.git/config", False),
    ("change ralph's settings", "file-write-data", f"{WORK}/.ralph/settings.json", False),
    ("change a protected test", "file-write-data", f"{WORK}/tests/acceptance/test_a.py", False),
    ("make a protected test", "file-write-create", f"{WORK}/tests/acceptance/test_new.py", False),
    ("rename the folder of a protected one", "file-write-unlink", f"{WORK}/tests", False),
    ("rename git's folder", "file-write-unlink", f"{WORK}/.git", False),
    ("rename the work tree", "file-write-unlink", WORK, False),
    ("change a hook of the agent", "file-write-data", f"{HOME}/.claude/hooks/x.sh", False),
    ("talk to docker", "network-outbound", "/var/run/docker.sock", False),
    ("talk to ssh-agent", "network-outbound", "/private/tmp/com.apple.launchd.x/Listeners", False),
    ("talk to tmux", "network-outbound", "/private/tmp/tmux-501/default", False),
    ("debug the harness", "process-info-pidinfo", "others", False),
    ("kill the harness", "signal", "others", False),
    ("open the keychain's service", "mach-lookup", "com.apple.SecurityServer", True),
    ("start a program outside", "mach-lookup", "com.apple.coreservices.launchservicesd", False),
    ("tell another program what to do", "mach-lookup", "com.apple.coreservices.appleevents", False),
    ("load a kernel extension", "system-kext-load", "x", False),
]


@pytest.mark.parametrize(("what", "operation", "target", "allowed"), PROBES, ids=[probe[0] for probe in PROBES])
def test_the_profile_decides(what: str, operation: str, target: str, allowed: bool) -> None:
    assert is_allowed(render_profile(PLAN), operation, target) is allowed


OUT, OTHER, STATE = f"{HOME}/work/outside", f"{HOME}/work/other", f"{WORK}/.git/ralph"
LINUX = "of Linux alone"  # there is no such thing on a Mac
NO_MOUNTS = "a profile has no mounts, and needs none"
# What each way out of `ralph sandbox test` asks of macOS: an operation that is denied; or why there is nothing to deny.
ASKED: dict[str, tuple[str, str] | str] = {
    "create a file beside the work tree": ("file-write-create", f"{OUT}/made"),
    "change a file beside the work tree": ("file-write-data", f"{OUT}/secret"),
    "write through a link": ("file-write-create", f"{OUT}/made"),  # a profile judges where a link leads
    "link a file from outside": ("file-read-data", f"{OUT}/secret"),
    "create a file in /etc": ("file-write-create", "/private/etc/made"),
    "change /etc/passwd": ("file-write-data", "/private/etc/passwd"),
    "add a program": ("file-write-create", "/usr/bin/made"),
    "create a folder in /": ("file-write-create", "/made"),
    "write to /opt": ("file-write-create", "/opt/made"),
    "set the kernel's crash handler": ("sysctl-write", "kern.corefile"),
    "trigger a system request": LINUX,
    "set the kernel's device handler": LINUX,
    "make a control group": LINUX,
    "write another task's work tree": ("file-write-create", f"{OTHER}/made"),
    "SSH key": ("file-read-data", f"{HOME}/.ssh/id_ed25519"),
    "AWS credentials": ("file-read-data", f"{HOME}/.aws/credentials"),
    "password file of the network": ("file-read-data", f"{HOME}/.netrc"),
    "shell history": ("file-read-data", f"{HOME}/.bash_history"),
    "GitHub login": ("file-read-data", f"{HOME}/.config/gh/hosts.yml"),
    "git credentials": ("file-read-data", f"{HOME}/.git-credentials"),
    "container login": ("file-read-data", f"{HOME}/.docker/config.json"),
    "cluster login": ("file-read-data", f"{HOME}/.kube/config"),
    "keyring": ("file-read-data", f"{HOME}/.gnupg/private-keys-v1.d"),
    "npm token": ("file-read-data", f"{HOME}/.npmrc"),
    "a login of another agent": ("file-read-data", f"{HOME}/.codex/auth.json"),
    "a file beside the work tree": ("file-read-data", f"{OUT}/secret"),
    "the same through a link": ("file-read-data", f"{OUT}/secret"),
    "the same through a process": LINUX,
    "password hashes": ("file-read-data", "/private/etc/master.passwd"),
    "what ralph remembers of runs": ("file-read-data", f"{STATE}/ralph.db"),
    "what ralph keeps of trees": ("file-read-data", f"{HOME}/.local/state/ralph/trees"),
    "another task's work tree": ("file-read-data", OTHER),
    "a disk": ("file-read-data", "/dev/disk0"),
    "a disk by a node of one's own": ("file-write-mknod", "/Users/me/disk"),
    "memory of the machine": ("file-read-data", "/dev/mem"),
    "variables of the harness": ("process-info-pidinfo", "others"),
    "edit settings": ("file-write-data", f"{WORK}/.ralph/settings.json"),
    "add local settings": ("file-write-create", f"{WORK}/.ralph/settings.local.json"),
    "rename the folder of settings": ("file-write-unlink", f"{WORK}/.ralph"),
    "remove the folder of settings": ("file-write-unlink", f"{WORK}/.ralph"),
    "add a git hook": ("file-write-create", f"{WORK}/.git/hooks/pre-commit"),
    "rename the folder of hooks": ("file-write-unlink", f"{WORK}/.git/hooks"),
    "rename git's folder": ("file-write-unlink", f"{WORK}/.git"),
    "configure git": ("file-write-data", f"{WORK}/.git/config"),
    "replace git's configuration": ("file-write-unlink", f"{WORK}/.git/config"),
    "remove git's configuration": ("file-write-unlink", f"{WORK}/.git/config"),
    "edit Claude's settings of the project": ("file-write-data", f"{WORK}/.claude/settings.json"),
    "rename the folder they are in": ("file-write-unlink", f"{WORK}/.claude"),
    "change a protected file": ("file-write-data", f"{WORK}/tests/acceptance/test_it.py"),
    "rename what it is in": ("file-write-unlink", f"{WORK}/tests"),
    "add a plugin of Claude": ("file-write-create", f"{HOME}/.claude/plugins/made"),
    "take a mount away": NO_MOUNTS,
    "make a mount writable": NO_MOUNTS,
    "mount something over it": ("file-mount", f"{WORK}/.ralph"),
    "see a process of the machine": ("process-info-pidinfo", "others"),
    "enter a namespace of the machine": LINUX,
    "become root by sudo": ("process-exec-with-setuid", "/usr/bin/sudo"),
    "change the root folder": ("file-chroot", "/"),
    "a program that runs as its owner": ("file-write-setugid", f"{WORK}/own"),
    "the same by its installer": ("file-write-setugid", f"{WORK}/own"),
    "a program with capabilities": LINUX,
    "a file of another user": "only root gives files away, and an agent as root is refused elsewhere",
    "a device": ("file-write-mknod", f"{OUT}/own"),
    "attributes for git": "the plan closes git's folder `info`, as on Linux",
    "the same by a link": "the plan closes git's folder `info`, as on Linux",
    "another folder in the place of git's": ("file-write-unlink", f"{WORK}/.git/hooks"),
    "a link in the place of git's folder": ("file-write-unlink", f"{WORK}/.git"),
    "a work tree beside this one": ("file-write-create", f"{HOME}/work/made"),
    "a program on the user's PATH": ("file-write-create", f"{HOME}/.local/bin/git"),
    "a library for every program": ("file-write-create", "/private/etc/ld.so.preload"),
    "a job for later": ("file-write-create", "/private/var/at/tabs/me"),
    "a file made as its owner's program": ("file-write-setugid", f"{WORK}/own"),
    "one without a name, to be linked": LINUX,
    "one made as a node": ("file-write-setugid", f"{WORK}/node"),
    "one by a call that hides its mode": LINUX,
    "files of the first process": LINUX,
    "its root folder": LINUX,
    "its variables": ("process-info-pidinfo", "others"),
    "the filter's file": LINUX,
    "a folder above": ("file-read-data", f"{HOME}/work/outside/secret"),
    "keys of the kernel": LINUX,
    "this machine's number": "any program can ask for it, by a call that no profile knows",
    "sandboxes of other runs": ("file-read-data", f"{HOME}/.local/state/ralph/sandboxes"),
    "another sandbox in this one": LINUX,
    "a namespace where one is root": LINUX,
    "containers": ("network-outbound", "/var/run/docker.sock"),
    "services of the user": ("mach-lookup", "com.apple.xpc.launchd"),
    "terminals of others": ("file-write-data", "/dev/ttys001"),
    "the kernel's switches": ("sysctl-write", "kern.maxproc"),
    "devices of the machine": ("file-write-data", "/dev/disk0"),
    "enter a namespace": LINUX,
    "fork into a user namespace": LINUX,
    "the same by a newer call": LINUX,
    "the same by other numbers of calls": LINUX,
    "open a file system": ("file-mount", "/tmp/x"),
    "copy a mount": LINUX,
    "change a mount": ("file-mount", "/"),
    "hold a process of the machine": ("mach-priv-task-port", "others"),
    "add a key": LINUX,
    "watch all files": ("file-read-data", "/dev/fsevents"),
    "get capabilities": LINUX,
    "be without its filter": LINUX,
    "type by other bits of a call": LINUX,
    "open raw addresses": "raw addresses are refused to who is not root",
    "run before others": "only root runs before others",
    "make a user namespace": LINUX,
    "make a mount namespace": LINUX,
    "mount": ("file-mount", "/tmp/x"),
    "load a program into it (bpf)": ("file-write-data", "/dev/bpf0"),
    "use its keyrings": LINUX,
    "use io_uring": LINUX,
    "watch its performance": ("system-kas-info", "x"),
    "handle page faults": LINUX,
    "open files by number": ("system-fsctl", "x"),
    "load a module": ("system-kext-load", "x"),
    "set the clock": ("system-set-time", "x"),
    "name the machine": ("sysctl-write", "kern.hostname"),
    "read its log": LINUX,
    "open raw packets": ("file-read-data", "/dev/bpf0"),
    "use its crypto sockets": LINUX,
    "talk to its host (vsock)": LINUX,
    "type into the terminal": "TIOCSTI is refused to who is not root, and each agent has a session of its own",
    "trace a process of the machine": ("mach-priv-task-port", "others"),
    "a socket of a service": ("network-outbound", f"{OUT}/socket"),
    "Docker": ("network-outbound", "/var/run/docker.sock"),
    "the ssh agent": ("network-outbound", "/private/tmp/com.apple.launchd.x/Listeners"),
    "tmux": ("network-outbound", "/private/tmp/tmux-501/default"),
    "the session bus": ("network-outbound", "/var/run/dbus/bus"),
    "a port of this machine": ("network-outbound", "localhost:5432"),
    "a socket without a file": LINUX,
    "an address": ("network-outbound", "1.1.1.1:443"),
    "a name": ("network-outbound", "/private/var/run/mDNSResponder"),
    "a name server": ("network-outbound", "8.8.8.8:53"),
}
DEVICES_OF_ROOT = ("/dev/disk0", "/dev/mem", "/dev/bpf0", "/dev/fsevents")  # who is not root has no right to them


@pytest.mark.parametrize("name", [each.name for each in (*ESCAPES, *CLOSED_NETWORK_ESCAPES)])
def test_every_way_out_that_is_tried_in_bubblewrap_is_denied_by_the_profile(name: str) -> None:
    asked = ASKED[name]
    if isinstance(asked, str):
        return
    is_network = name in {each.name for each in CLOSED_NETWORK_ESCAPES}
    operation, target = asked
    if target in DEVICES_OF_ROOT and operation == "file-read-data":
        return
    profile = render_profile(replace(PLAN, network="none") if is_network else PLAN)
    assert not is_allowed(profile, operation, target)


def test_files_that_are_not_there_yet_cannot_be_made() -> None:
    profile = render_profile(replace(PLAN, absent=(f"{WORK}/.mcp.json", f"{WORK}/.codex/config.toml")))
    assert not is_allowed(profile, "file-write-create", f"{WORK}/.mcp.json")
    assert not is_allowed(profile, "file-write-create", f"{WORK}/.codex/config.toml")
    assert is_allowed(profile, "file-write-create", f"{WORK}/.codex/other.toml")


PROXY = ProxyAddress(socket=f"{SCRATCH}/network/proxy", port=4711, open_ports=(5432,))


@pytest.mark.parametrize(
    ("network", "proxy", "target", "allowed"),
    [
        ("full", None, "example.com:443", True),
        (None, None, "example.com:443", True),
        ("none", None, "example.com:443", False),
        ("none", None, "localhost:5432", False),
        (("api.anthropic.com",), PROXY, "example.com:443", False),
        (("api.anthropic.com",), PROXY, "api.anthropic.com:443", False),  # only through the proxy, which knows it
        (("api.anthropic.com",), PROXY, "localhost:4711", True),
        (("api.anthropic.com",), PROXY, "localhost:5432", True),
        (("api.anthropic.com",), PROXY, "localhost:6379", False),
        (("api.anthropic.com",), PROXY, f"{SCRATCH}/network/proxy", True),
    ],
)
def test_connections(network: NetworkPolicy | None, proxy: ProxyAddress | None, target: str, allowed: bool) -> None:
    profile = render_profile(replace(PLAN, network=network), proxy=proxy)
    assert is_allowed(profile, "network-outbound", target) is allowed


def test_files_of_one_command_are_opened_for_it_alone() -> None:
    answer = f"{HOME}/elsewhere/answer.txt"
    assert is_allowed(render_profile(PLAN, writes=(answer,)), "file-write-data", answer)
    assert is_allowed(render_profile(PLAN, reads=(answer,)), "file-read-data", answer)
    assert not is_allowed(render_profile(PLAN, reads=(answer,)), "file-write-data", answer)
    assert not is_allowed(render_profile(PLAN), "file-read-data", answer)


@pytest.mark.parametrize("name", ['a"b', "a\\b", 'x") (allow default) ("', "ü (x)"])
def test_no_path_becomes_a_rule(name: str) -> None:
    profile = render_profile(replace(PLAN, folder=f"/Users/me/{name}"))
    assert len(read_rules(profile)) == len(read_rules(render_profile(replace(PLAN, folder="/Users/me/plain"))))
    assert not is_allowed(profile, "file-write-create", "/usr/bin/x")


def test_a_path_with_a_line_break_is_refused() -> None:
    with pytest.raises(ValueError, match="line break"):
        render_profile(replace(PLAN, folder="/Users/me/a\n(allow default)"))


def test_a_command_gets_a_profile_a_home_and_a_tmp_of_its_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    login = home / ".claude" / ".credentials.json"
    login.write_text("token")
    plan = replace(
        PLAN,
        scratch=str(tmp_path / "scratch"),
        home=HomeContent(folder=str(home), logins=(str(login),)),
        network="none",
    )
    sandbox = seatbelt.build(plan, {}, ScriptedProcesses())
    wrapped = sandbox.wrap(Command(argv=("claude", "-p"), environment={"HOME": str(home), "X": "1"}, cwd=WORK))
    assert wrapped.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert wrapped.argv[3:] == ("claude", "-p")
    assert wrapped.environment["X"] == "1"
    assert wrapped.environment["TMPDIR"] == f"{plan.scratch}/tmp"
    private = Path(wrapped.environment["HOME"])
    assert private == tmp_path / "scratch" / "home"
    assert os.readlink(private / ".claude" / ".credentials.json") == str(login)  # refreshed inside, kept outside
    assert "network none" in sandbox.describe()
    sandbox.close()


@pytest.mark.parametrize(
    ("platform", "script", "works"),
    [
        ("linux", (), False),
        ("darwin", (Ran(),), True),
        ("darwin", (Ran(exited=CommandExit(code=71, seconds=0.1)),), False),
    ],
)
def test_it_is_tried_not_guessed(platform: str, script: tuple[Ran, ...], works: bool) -> None:
    assert seatbelt.probe({}, ScriptedProcesses(*script), platform).is_available is works
