"""What docker and podman are told for one command; the live tests show that it holds."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.agents._cards import load_builtin_cards
from ralph.model.agent_card import AgentCard
from ralph.model.command import Bind, Command
from ralph.model.errors import MachineError
from ralph.model.sandbox import HomeContent, NetworkPolicy, SandboxPlan
from ralph.process.supervisor import Supervisor
from ralph.sandboxes import docker, podman
from ralph.sandboxes._client import Client
from ralph.sandboxes._container_mounts import render_mount
from ralph.sandboxes._containers import Engine
from ralph.sandboxes._image import name_image, render_dockerfile
from ralph.sandboxes._mounts import Mount
from support.quiet_inbox import QuietInbox
from support.sandbox_client import StandIn
from support.scripted_processes import ScriptedProcesses

NO_PLUGIN = '[ "$me" = docker ] && exit 1'
PRESENT = 'case "$*" in *format*) echo 20.10;; *) echo 1;; esac; exit 0'


@pytest.fixture
def processes() -> Iterator[Supervisor]:
    inbox = QuietInbox()
    made = Supervisor(inbox)
    yield made
    made.close()
    inbox.close()


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    """An engine without Sandboxes, whose image has everything."""
    made = StandIn(tmp_path / "room").install("docker", "podman")
    made.fail("version", f'case "$*" in *format*) ;; *) {NO_PLUGIN};; esac; {PRESENT}')
    made.fail("info", 'case "$*" in *Rootless*) echo false;; *) echo 4.3.1;; esac; exit 0')
    made.fail("run", 'case "$*" in *"command -v"*) echo root:x:0:0::/root:/bin/sh; exit 0;; esac')
    return made


def plan_for(stand_in: StandIn, **more: object) -> SandboxPlan:
    work, scratch = stand_in.room / "work", stand_in.room / "scratch"
    (work / "tests").mkdir(parents=True, exist_ok=True)
    (work / "tests" / "test_a.py").touch()
    scratch.mkdir(exist_ok=True)
    home = HomeContent(folder=str(stand_in.room / "home"))
    usual = {"run": "r1", "folder": str(work), "scratch": str(scratch), "home": home, "image": "chosen:1"}
    return SandboxPlan(**{**usual, **more})  # type: ignore[arg-type]  # by name


def wrap(stand_in: StandIn, processes: Supervisor, command: Command, **more: object) -> Command:
    sandbox = docker.build(plan_for(stand_in, **more), stand_in.variables, processes)
    wrapped = sandbox.wrap(command)
    sandbox.close()
    return wrapped


def command_in(stand_in: StandIn, *argv: str, **more: object) -> Command:
    environment = {**stand_in.variables, "TOKEN": "secret", "DOCKER_HOST": "unix:///x", "SSH_AUTH_SOCK": "/agent"}
    return Command(argv=argv, environment=environment, cwd=str(stand_in.room / "work"), **more)  # type: ignore[arg-type]


def test_a_container_has_no_privileges_and_the_users_number(stand_in: StandIn, processes: Supervisor) -> None:
    argv = wrap(stand_in, processes, command_in(stand_in, "/bin/sh", "-c", "id")).argv
    for word in ("--rm", "--interactive", "--init", "--cap-drop=ALL", "--security-opt=no-new-privileges"):
        assert word in argv
    assert f"--user={os.getuid()}:{os.getgid()}" in argv
    assert "--label=ralph.run=r1" in argv
    assert argv[-4:] == ("--entrypoint=sh", "chosen:1", "-c", "id")  # the image's own shell


def test_it_is_removed_by_name_however_its_client_ends(stand_in: StandIn, processes: Supervisor) -> None:
    sandbox = docker.build(plan_for(stand_in), stand_in.variables, processes)
    first, second = (sandbox.wrap(command_in(stand_in, "true")) for _ in range(2))
    names = [next(word for word in each.argv if word.startswith("--name=")) for each in (first, second)]
    assert names[0] != names[1]  # two at once do not fight over a name
    assert first.cleanup[1:] == ("rm", "--force", names[0].removeprefix("--name="))
    stand_in.fail("ps", "echo 11aa; echo 22bb; exit 0")
    sandbox.close()
    assert stand_in.calls()[-1][1:] == ["rm", "--force", "11aa", "22bb"]
    asked = " ".join(stand_in.calls()[-2])
    assert "--filter=label=ralph.run=r1" in asked
    assert "--filter=label=ralph.sandbox=ralph-work-" in asked  # the same run may have others


def test_values_of_variables_are_no_arguments(stand_in: StandIn, processes: Supervisor) -> None:
    wrapped = wrap(stand_in, processes, command_in(stand_in, "true"))
    assert "--env=TOKEN" in wrapped.argv
    assert not any("secret" in word for word in wrapped.argv)
    assert wrapped.environment["TOKEN"] == "secret"
    for name in ("PATH", "DOCKER_HOST", "SSH_AUTH_SOCK"):
        assert f"--env={name}" not in wrapped.argv


def test_what_is_protected_is_mounted_over_and_so_are_its_parents(stand_in: StandIn, processes: Supervisor) -> None:
    work = stand_in.room / "work"
    closed = str(work / "tests" / "test_a.py")
    argv = wrap(stand_in, processes, command_in(stand_in, "true"), protected=(closed,)).argv
    assert f"type=bind,source={closed},target={closed},readonly" in argv
    assert f"type=bind,source={work}/tests,target={work}/tests" in argv  # else it could be renamed away


def test_a_copy_stands_in_the_place_of_the_work_tree(stand_in: StandIn, processes: Supervisor, tmp_path: Path) -> None:
    work = str(stand_in.room / "work")
    (stand_in.room / "work" / ".git").mkdir(parents=True)
    bind = Bind(path=work, source=str(tmp_path), writable=True)
    command = command_in(stand_in, "make", binds=(bind,))
    argv = wrap(stand_in, processes, command, writable=(f"{work}/.git",)).argv
    assert f"type=bind,source={tmp_path},target={work}" in argv
    assert not any(f"target={work}/.git" in word for word in argv)  # the copy has its own


@pytest.mark.parametrize(
    ("network", "is_alone", "relays"),
    [(None, False, False), ("full", False, False), ("none", True, False), (("packages.example.com",), True, True)],
)
def test_the_network_is_the_engines_none_or_a_socket(
    stand_in: StandIn, processes: Supervisor, network: NetworkPolicy | None, is_alone: bool, relays: bool
) -> None:
    argv = wrap(stand_in, processes, command_in(stand_in, "/usr/bin/make", "test"), network=network).argv
    assert ("--network=none" in argv) is is_alone
    assert ("--entrypoint=python3" in argv) is relays
    assert ("--env=HTTPS_PROXY" in argv) is relays
    assert argv[-2:] == ("make", "test") or argv[-2:] == ("chosen:1", "test")


def test_an_image_without_the_agent_is_refused(stand_in: StandIn, processes: Supervisor) -> None:
    stand_in.fail("run", "echo missing claude; exit 0")
    cards = {"adapters": ("claude",), "cards": (load_builtin_cards()["claude"],)}
    with pytest.raises(MachineError, match="has no claude") as caught:
        wrap(stand_in, processes, command_in(stand_in, "claude"), **cards)
    assert '"image"' in caught.value.hint


def test_somebody_without_a_name_gets_one(stand_in: StandIn, processes: Supervisor) -> None:
    stand_in.fail("run", "echo nobody:x:65534:65534::/:/bin/sh; exit 0")
    argv = wrap(stand_in, processes, command_in(stand_in, "true")).argv
    assert any("target=/etc/passwd,readonly" in word for word in argv)
    written = (stand_in.room / "scratch" / "passwd").read_text().splitlines()
    assert written[0].startswith("nobody:")
    assert written[1].startswith(f"agent:x:{os.getuid()}:{os.getgid()}:")


def test_an_image_is_built_once_from_what_the_cards_install(stand_in: StandIn, processes: Supervisor) -> None:
    text = render_dockerfile((AgentCard(title="A", install="npm install -g a"), AgentCard(title="B")))
    assert "RUN npm install -g a\n" in text
    assert text.startswith("FROM node:")
    stand_in.fail("image", "exit 1")
    wrap(stand_in, processes, command_in(stand_in, "true"), image="")
    built = next(call for call in stand_in.calls(forget=True) if call[1] == "build")
    assert built[1:] == ["build", "--tag", name_image(render_dockerfile(())), "-"]
    stand_in.mend("image")
    wrap(stand_in, processes, command_in(stand_in, "true"), image="")
    assert "build" not in stand_in.verbs()


def test_an_image_that_cannot_be_had_is_an_error_with_a_way_out(stand_in: StandIn, processes: Supervisor) -> None:
    stand_in.fail("image", "exit 1")
    stand_in.fail("pull", 'echo "manifest unknown" >&2; exit 1')
    with pytest.raises(MachineError, match="cannot pull the image 'chosen:1': manifest unknown"):
        wrap(stand_in, processes, command_in(stand_in, "true"))


def test_without_docker_podman_does_the_same(stand_in: StandIn, processes: Supervisor) -> None:
    (stand_in.room / "bin" / "docker").unlink()
    variables = {**stand_in.variables, "PATH": str(stand_in.room / "bin")}
    os.symlink("/bin/cat", stand_in.room / "bin" / "cat")
    assert docker.probe(variables, processes).version == "podman 4.3.1; docker is not installed"
    sandbox = docker.build(plan_for(stand_in), variables, processes)
    assert (sandbox.kind, sandbox.describe()) == ("podman", "podman container of chosen:1, network full")
    sandbox.close()


@pytest.mark.parametrize(
    ("kind", "is_rootless", "user", "keeps_id"),
    [
        ("docker", False, f"{os.getuid()}:{os.getgid()}", False),
        ("docker", True, "0:0", False),
        ("podman", True, f"{os.getuid()}:{os.getgid()}", True),
    ],
)
def test_files_come_out_as_the_users_own(kind: str, is_rootless: bool, user: str, keeps_id: bool) -> None:
    client = Client(words=(kind,), variables={}, processes=ScriptedProcesses())
    words = list(Engine(kind=kind, client=client, is_rootless=is_rootless).list_fixed_words())  # type: ignore[arg-type]
    assert f"--user={user}" in words
    assert ("--userns=keep-id" in words) is keeps_id


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        (Mount("/a b", "bind"), "type=bind,source=/a b,target=/a b"),
        (Mount("/a,b", "ro-bind"), 'type=bind,"source=/a,b","target=/a,b",readonly'),
        (Mount('/a"b', "tmpfs"), 'type=tmpfs,"destination=/a""b"'),
    ],
)
def test_no_path_becomes_an_option(mount: Mount, expected: str) -> None:
    assert render_mount(mount) == expected


def test_what_a_killed_run_left_is_removed_by_its_label(stand_in: StandIn, processes: Supervisor) -> None:
    stand_in.fail("ps", "echo 33cc; exit 0")
    for backend in (docker, podman):
        backend.sweep("r9", (), stand_in.variables, processes)
        calls = stand_in.calls(forget=True)
        assert "--filter=label=ralph.run=r9" in calls[-2]
        assert calls[-1][1:] == ["rm", "--force", "33cc"]
