"""Docker: its Sandboxes (`sbx`, or `docker sandbox`) where they answer, else containers of its engine or of podman."""

from collections.abc import Mapping

from msgspec.structs import replace

from ralph.model.errors import MachineError
from ralph.model.ports import Processes, Sandbox
from ralph.model.sandbox import SandboxPlan, SandboxProbe
from ralph.process.shell import find_program
from ralph.sandboxes import podman
from ralph.sandboxes._client import Client, explain_silence
from ralph.sandboxes._containers import Engine, open_container_sandbox, remove_containers
from ralph.sandboxes._microvm import MicroVm, end_microvm
from ralph.sandboxes._microvm_words import DIALECTS, Dialect
from ralph.sandboxes._names import RUN_LABEL, is_ours

_PROGRAM = "docker"
_INSTALL_HINT = "install Docker Desktop 4.58 or newer, or sbx: https://docs.docker.com/ai/sandboxes/"
ENGINE_HINT = "install an engine: apt install docker.io, or: apt install podman"


def probe(variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
    """Sandboxes where they are installed, also when they do not answer: containers hold less, and nobody falls back to
    them. Else containers, for who asks for them."""
    if find_sandboxes(variables, processes) is not None:
        return probe_sandboxes(variables, processes)
    engine = probe_engine(variables, processes)
    if engine.is_available:
        return engine
    instead = podman.probe(variables, processes)
    return replace(instead, version=f"{instead.version}; {engine.problem}") if instead.is_available else engine


def probe_unasked(variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
    """What `auto` takes without being told to: an engine need not be asked for that."""
    return probe_sandboxes(variables, processes)


def probe_sandboxes(variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
    client = find_sandboxes(variables, processes)
    if client is None:
        return SandboxProbe(problem="no Docker Sandboxes", hint=_INSTALL_HINT)
    answer = client[0].ask("ls", "--quiet")
    return SandboxProbe(version=client[0].title) if answer.is_fine else explain_silence(client[0], answer)


def probe_engine(variables: Mapping[str, str], processes: Processes) -> SandboxProbe:
    client = find_docker(variables, processes)
    if client is None:
        return SandboxProbe(problem="docker is not installed", hint=ENGINE_HINT)
    answer = client.ask("version", "--format", "{{.Server.Version}}")
    if not answer.is_fine or not answer.lines:
        return explain_silence(client, answer)
    return SandboxProbe(version=f"docker {answer.lines[0]}", needs_asking=True)


def build(plan: SandboxPlan, variables: Mapping[str, str], processes: Processes) -> Sandbox:
    found = find_sandboxes(variables, processes)
    if found is not None:
        machine = MicroVm(*found, plan)
        machine.open()
        return machine
    if not probe_engine(variables, processes).is_available:
        return podman.build(plan, variables, processes)
    return open_container_sandbox(find_docker_engine(variables, processes), plan)


def sweep(run: str, names: tuple[str, ...], variables: Mapping[str, str], processes: Processes) -> None:
    """What a run that was killed left: its containers are removed, its sandboxes stopped."""
    found = find_sandboxes(variables, processes)
    for name in filter(is_ours, names):
        if found is not None:
            end_microvm(*found, name)
    if find_docker(variables, processes) is not None:
        remove_containers(find_docker_engine(variables, processes), f"{RUN_LABEL}={run}")


def find_sandboxes(variables: Mapping[str, str], processes: Processes) -> tuple[Client, Dialect] | None:
    """The command line of Docker Sandboxes that is here; the newer one first."""
    for dialect in DIALECTS:
        program = find_program(dialect.words[0], variables)
        if program is None:
            continue
        client = Client(words=(program, *dialect.words[1:]), variables=variables, processes=processes)
        if client.ask("version").is_fine:  # of the plugin, which docker alone does not have
            return client, dialect
    return None


def find_docker(variables: Mapping[str, str], processes: Processes) -> Client | None:
    program = find_program(_PROGRAM, variables)
    return Client(words=(program,), variables=variables, processes=processes) if program else None


def find_docker_engine(variables: Mapping[str, str], processes: Processes) -> Engine:
    client = find_docker(variables, processes)
    if client is None:
        raise MachineError("docker is not installed", ENGINE_HINT)
    security = client.ask("info", "--format", "{{.SecurityOptions}}").output
    return Engine(kind="docker", client=client, is_rootless="rootless" in security)
