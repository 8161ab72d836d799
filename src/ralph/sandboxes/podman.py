"""podman: containers without a daemon, and without a group that is as good as root."""

import os
from collections.abc import Mapping

from ralph.model.errors import MachineError
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxPlan, SandboxProbe
from ralph.process.shell import find_program
from ralph.sandboxes._client import Client, explain_silence
from ralph.sandboxes._containers import Engine, open_container_sandbox, remove_containers
from ralph.sandboxes._names import RUN_LABEL

_PROGRAM = "podman"
_INSTALL_HINT = "apt install podman (or dnf, pacman, brew)"
INIT_PROGRAMS = ("/usr/libexec/podman/catatonit", "/usr/bin/catatonit", "/usr/lib/podman/catatonit", "/usr/bin/tini")


def probe(variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
    client = find_podman(variables, processes)
    if client is None:
        return SandboxProbe(problem="podman is not installed", hint=_INSTALL_HINT)
    answer = client.ask("info", "--format", "{{.Version.Version}}")
    if not answer.is_fine or not answer.lines:
        return explain_silence(client, answer)
    return SandboxProbe(version=f"podman {answer.lines[-1]}", needs_asking=True)


def build(plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox:
    return open_container_sandbox(find_podman_engine(variables, processes), plan)


def sweep(run: str, names: tuple[str, ...], variables: Mapping[str, str], processes: Processes) -> None:
    """Remove what a run that was killed left."""
    if find_podman(variables, processes) is not None:
        remove_containers(find_podman_engine(variables, processes), f"{RUN_LABEL}={run}")


def find_podman(variables: Mapping[str, str], processes: Processes) -> Client | None:
    program = find_program(_PROGRAM, variables)
    return Client(words=(program,), variables=variables, processes=processes) if program else None


def find_podman_engine(variables: Mapping[str, str], processes: Processes) -> Engine:
    client = find_podman(variables, processes)
    if client is None:
        raise MachineError("podman is not installed", _INSTALL_HINT)
    is_rootless = client.ask("info", "--format", "{{.Host.Security.Rootless}}").output.strip() == "true"
    init = next(filter(os.path.exists, INIT_PROGRAMS), "")
    words = ("--init", f"--init-path={init}") if init else ()
    return Engine(kind="podman", client=client, is_rootless=is_rootless, init=words)
