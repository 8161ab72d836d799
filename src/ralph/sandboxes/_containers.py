"""A container for each command, by docker or podman: an image's system, and of this machine what the plan opens."""

import itertools
import os
import re
import resource
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.model.command import Command
from ralph.model.ports import Sandbox
from ralph.model.sandbox import NetworkPolicy, SandboxKind, SandboxPlan
from ralph.sandboxes._client import Client
from ralph.sandboxes._container_mounts import list_container_mounts, list_mount_words, replace_mounts
from ralph.sandboxes._container_network import ContainerNetwork, open_network
from ralph.sandboxes._image import check_image, provide_image
from ralph.sandboxes._mounts import Mount, is_below
from ralph.sandboxes._names import FOLDER_LABEL, RUN_LABEL, name_sandbox
from ralph.sandboxes._system import is_dropped

MAX_PROCESSES = 4096  # a fork bomb ends inside
# The image has its own: of this machine they lead nowhere there.
_OF_THIS_MACHINE = frozenset(
    "PATH SHELL PWD OLDPWD TMPDIR TEMP TMP HOSTNAME VIRTUAL_ENV NODE_PATH SSL_CERT_DIR SHLVL _ LS_COLORS".split()
)
_OF_THE_CLIENT = ("DOCKER_", "CONTAINER_", "PODMAN_", "CONTAINERS_", "BUILDKIT_", "LD_", "DYLD_", "PYTHONHOME", "XDG_")
_CERTIFICATES = re.compile(r"(^|_)(CA|CAINFO|CERT|CERTS|CERT_FILE|BUNDLE|ROOTS_FILE_PATH)(_|$)|CERTS?_FILE")
_REMOVAL_SECONDS = 30.0


class Engine(Struct, frozen=True, kw_only=True):
    """Who runs containers here, and what it can do."""

    kind: SandboxKind
    client: Client
    is_rootless: bool = False
    init: tuple[str, ...] = ("--init",)  # a first process that collects orphans

    def list_fixed_words(self) -> Iterator[str]:
        """What holds for each container: gone when it ends, without privileges, its user the one outside."""
        yield from ("run", "--rm", "--interactive", "--pull=never", "--log-driver=none", *self.init)
        yield from ("--cap-drop=ALL", "--security-opt=no-new-privileges")
        if os.path.isdir("/sys/fs/selinux"):
            yield "--security-opt=label=disable"  # else the work tree, mounted, could not be read
        if self.kind == "docker":
            yield f"--pids-limit={MAX_PROCESSES}"
        else:
            yield from _list_limits()
        if self.is_rootless and self.kind == "podman":
            yield "--userns=keep-id"
        yield f"--user={self.user}"

    @property
    def user(self) -> str:
        """Files come out as the user's own. A rootless docker takes its root for the user."""
        is_mapped = self.is_rootless and self.kind == "docker"
        return "0:0" if is_mapped else f"{os.getuid()}:{os.getgid()}"


class ContainerSandbox:
    """Implements the port `Sandbox`."""

    def __init__(
        self, engine: Engine, plan: SandboxPlan, image: str, *, mounts: list[Mount], network: ContainerNetwork
    ) -> None:
        self.kind: SandboxKind = engine.kind
        self.name = name_sandbox(plan.folder)
        self._engine, self._plan, self._image = engine, plan, image
        self._mounts, self._network = [*mounts, *network.mounts], network
        self._numbers = itertools.count(1)

    def describe(self) -> str:
        return f"{self.kind} container of {self._image}, network {describe_network(self._plan.network or 'full')}"

    def wrap(self, command: Command) -> Command:
        name = f"{self.name}-{self._plan.run}-{next(self._numbers)}"
        variables = self._keep_variables(command.environment)
        mounts = replace_mounts((*self._mounts, *_list_certificates(variables)), command)
        program, *words = (*self._network.relay, *_locate_program(command.argv, [mount.path for mount in mounts]))
        argv = (
            *self._engine.client.words,
            *self._engine.list_fixed_words(),
            f"--name={name}",
            *(f"--label={label}" for label in self._list_labels()),
            *self._network.words,
            *list_mount_words(mounts),
            f"--workdir={command.cwd}",
            *(f"--env={variable}" for variable in sorted(variables)),  # by name: values are nobody's to see in `ps`
            f"--entrypoint={program}",  # else the image's own comes first
            self._image,
            *words,
        )
        environment = {**self._engine.client.variables, **variables}
        return replace(command, argv=argv, environment=environment, cleanup=list_removal_words(self._engine, name))

    def close(self) -> None:
        remove_containers(self._engine, *self._list_labels())
        self._network.close()

    def _list_labels(self) -> tuple[str, ...]:
        return f"{RUN_LABEL}={self._plan.run}", f"{FOLDER_LABEL}={self.name}"

    def _keep_variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        home = self._plan.home.folder
        kept = {
            name: value
            for name, value in environment.items()
            if name not in _OF_THIS_MACHINE
            and not name.startswith(_OF_THE_CLIENT)
            and not is_dropped(name, value, home)
        }
        return {**kept, "HOME": home, **self._plan.environment, **self._network.environment}


def open_container_sandbox(engine: Engine, plan: SandboxPlan) -> Sandbox:
    """With an image that has what the agents need. MachineError: it cannot be had."""
    image = provide_image(engine.client, plan.image, plan.cards)
    passwd = check_image(engine.client, image, plan, run=tuple(engine.list_fixed_words()), user=engine.user)
    mounts = [*list_container_mounts(plan), *([Mount("/etc/passwd", "ro-bind", passwd)] if passwd else [])]
    return ContainerSandbox(engine, plan, image, mounts=mounts, network=open_network(plan))


def describe_network(network: NetworkPolicy) -> str:
    return network if isinstance(network, str) else f"only {', '.join(network)}"


def list_removal_words(engine: Engine, name: str) -> tuple[str, ...]:
    """Ends it at once, whatever it is doing; one that is gone is no error worth a word."""
    return (*engine.client.words, "rm", "--force", name)


def remove_containers(engine: Engine, *labels: str) -> int:
    """All with these labels; how many there were."""
    found = engine.client.ask("ps", "--all", "--quiet", *(f"--filter=label={label}" for label in labels))
    if not found.is_fine or not found.lines:
        return 0
    engine.client.ask("rm", "--force", *found.lines, seconds=_REMOVAL_SECONDS)
    return len(found.lines)


def _list_limits() -> Iterator[str]:
    """No higher than ours: podman's own are more than somebody without privileges may set."""
    for name, number, most in (("nofile", resource.RLIMIT_NOFILE, None), ("nproc", resource.RLIMIT_NPROC, 30_000)):
        limits = resource.getrlimit(number)
        if resource.RLIM_INFINITY not in limits:  # podman itself has gone down to 32,768 processes by then
            soft, hard = (min(limit, most or limit) for limit in limits)
            yield f"--ulimit={name}={soft}:{hard}"


def _list_certificates(variables: Mapping[str, str]) -> Iterator[Mount]:
    """Files of this machine without which no connection is trusted, where it has an authority of its own."""
    for name, value in variables.items():
        if _CERTIFICATES.search(name) and value.startswith("/") and os.path.isfile(value):
            yield Mount(value, "ro-bind")


def _locate_program(argv: tuple[str, ...], mounted: Iterable[str]) -> tuple[str, ...]:
    """A program of this machine that is not there by its path is the one of that name in the image."""
    program = argv[0]
    is_there = any(program == path or is_below(program, path) for path in mounted)
    return argv if is_there or not program.startswith("/") else (os.path.basename(program), *argv[1:])
