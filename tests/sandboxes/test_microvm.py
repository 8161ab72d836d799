"""Docker Sandboxes, by a stand-in that writes down what `docker sandbox` and `sbx` are told, and breaks on purpose."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.agents._cards import load_builtin_cards
from ralph.model.agent_card import AgentCard
from ralph.model.command import Bind, Command
from ralph.model.errors import MachineError
from ralph.model.ports import Sandbox
from ralph.model.sandbox import HomeContent, NetworkPolicy, SandboxPlan
from ralph.process.supervisor import Supervisor
from ralph.sandboxes import docker
from ralph.sandboxes._names import name_sandbox
from support.quiet_inbox import QuietInbox
from support.sandbox_client import StandIn

BOTH = pytest.mark.parametrize("program", ["docker", "sbx"])


@pytest.fixture
def processes() -> Iterator[Supervisor]:
    inbox = QuietInbox()
    made = Supervisor(inbox)
    yield made
    made.close()
    inbox.close()


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "room")


def plan_for(stand_in: StandIn, network: NetworkPolicy | None = None, agent: str = "claude") -> SandboxPlan:
    work, scratch = stand_in.room / "my work", stand_in.room / "scratch"
    work.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    (work / ".git").mkdir(exist_ok=True)
    home = HomeContent(folder=str(stand_in.room / "home"))
    card = load_builtin_cards()[agent]
    return SandboxPlan(
        run="r1",
        folder=str(work),
        scratch=str(scratch),
        home=home,
        network=network,
        adapters=(agent,),
        cards=(card,),
        hidden=(str(work / ".git" / "ralph"),),
        environment={"RALPH_CONTAINED": "1"},
    )


def open_machine(stand_in: StandIn, processes: Supervisor, network: NetworkPolicy | None = None) -> Sandbox:
    return docker.build(plan_for(stand_in, network), stand_in.variables, processes)


def ask_agent(stand_in: StandIn, prompt: str = "do it") -> Command:
    argv = ("/usr/local/bin/claude", "-p", "--output-format", "stream-json")
    environment = {**stand_in.variables, "RALPH_RUN_ID": "r1", "ANTHROPIC_API_KEY": "secret"}
    return Command(argv=argv, environment=environment, cwd=str(stand_in.room / "my work"), stdin=prompt.encode())


# -- what it is called, and made of ------------------------------------------------------------------
def test_its_name_is_that_of_the_folder_and_a_hash_of_the_path() -> None:  # 004-10
    name = name_sandbox("/home/me/my project")
    assert name.startswith("ralph-my_project-")
    assert len(name.rpartition("-")[2]) == 8
    assert name != name_sandbox("/home/you/my project")
    assert name_sandbox("/x/a_b", "-").startswith("ralph-a-b-")  # sbx takes no underscore


@BOTH
def test_it_is_made_once_and_set_up(stand_in: StandIn, processes: Supervisor, program: str) -> None:  # 004-10
    stand_in.install(program)
    first = open_machine(stand_in, processes)
    calls = stand_in.calls()
    name = next(call for call in calls if "create" in call)[-3:]
    work, state = str(stand_in.room / "my work"), str(stand_in.room / "home" / ".dclaude_state")
    assert name == ["claude", work, state]
    login = next(call for call in calls if any("ln -s" in word for word in call))
    assert login[-1] == state
    assert login[login.index("--user") + 1] == "root"
    assert next(call for call in calls if any("user.email" in word for word in call))[-2:] == [
        "ralph@localhost",
        "Ralph Loop",
    ]
    assert "create" in stand_in.verbs(forget=True)
    first.close()
    assert stand_in.verbs(forget=True) == ["stop"]  # kept for the next run, and nothing runs in it
    open_machine(stand_in, processes)
    assert "create" not in (verbs := stand_in.verbs())
    assert verbs[verbs.index("ls") + 1 : verbs.index("exec")].count("stop") == 1  # sees what was edited since: 004-11


def test_a_work_tree_of_a_task_takes_its_sandbox_along(stand_in: StandIn, processes: Supervisor) -> None:
    stand_in.install("sbx")
    machine = open_machine(stand_in, processes)
    (stand_in.room / "my work" / ".git").rmdir()
    (stand_in.room / "my work" / ".git").write_text("gitdir: /elsewhere\n")
    machine.close()
    assert stand_in.calls()[-1][:3] == ["sbx", "rm", "--force"]


@pytest.mark.parametrize("before", ["", "  \n", None])
def test_the_state_file_is_valid_json(stand_in: StandIn, processes: Supervisor, before: str | None) -> None:  # 004-11
    stand_in.install("sbx")
    state = stand_in.room / "home" / ".dclaude_state" / ".claude.json"
    if before is not None:
        state.parent.mkdir()
        state.write_text(before)
    open_machine(stand_in, processes)
    assert json.loads(state.read_text()) == {}
    state.write_text('{"oauthAccount": 1}')
    open_machine(stand_in, processes)
    assert json.loads(state.read_text()) == {"oauthAccount": 1}
    state.write_text("{broken")
    with pytest.raises(MachineError, match="not valid JSON"):
        open_machine(stand_in, processes)


# -- its network -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("program", "network", "expected"),
    [
        ("docker", None, "network proxy {} --policy deny --allow-host=api.anthropic.com"),
        ("docker", ("example.org",), "--allow-host=claude.ai --allow-host=example.org"),
        ("docker", "none", "network proxy {} --policy deny"),
        ("docker", "full", "network proxy {} --policy allow"),
        ("sbx", None, "policy allow network --sandbox {} api.anthropic.com,"),
        ("sbx", ("example.org",), "claude.ai,example.org"),
        ("sbx", "none", "policy deny network --sandbox {} **"),
        ("sbx", "full", "policy allow network --sandbox {} **"),
    ],
)
def test_nothing_is_reached_but_what_is_named(  # 004-12
    stand_in: StandIn, processes: Supervisor, program: str, network: NetworkPolicy | None, expected: str
) -> None:
    stand_in.install(program)
    open_machine(stand_in, processes, network)
    name = name_sandbox(str(stand_in.room / "my work"), "-" if program == "sbx" else "_")
    told = [" ".join(call) for call in stand_in.calls()]
    assert any(expected.format(name) in line for line in told)
    assert any("https://example.com" in line for line in told) == (network != "full")  # and it is tried


@BOTH
def test_a_network_that_is_open_all_the_same_is_refused(  # 004-12
    stand_in: StandIn, processes: Supervisor, program: str
) -> None:
    stand_in.install(program).fail("exec", 'case "$*" in *curl*) exit 0;; esac')
    with pytest.raises(MachineError, match="reaches every host"):
        open_machine(stand_in, processes)
    assert stand_in.verbs()[-1] == "stop"


# -- what goes wrong ---------------------------------------------------------------------------------
@BOTH
def test_half_a_sandbox_is_removed_again(stand_in: StandIn, processes: Supervisor, program: str) -> None:
    stand_in.install(program).fail("create", 'echo "pull access denied" >&2; exit 1')
    with pytest.raises(MachineError, match="pull access denied"):
        open_machine(stand_in, processes)
    assert stand_in.verbs()[-2:] == ["create", "rm"]


@BOTH
def test_a_sandbox_that_cannot_be_set_up_is_stopped(stand_in: StandIn, processes: Supervisor, program: str) -> None:
    stand_in.install(program).fail("exec", "echo no bash >&2; exit 126")
    with pytest.raises(MachineError, match="no bash") as caught:
        open_machine(stand_in, processes)
    assert f" rm {'--force ' if program == 'sbx' else ''}ralph-" in caught.value.hint
    assert stand_in.verbs()[-1] == "stop"


@pytest.mark.parametrize(
    ("said", "problem", "hint"),
    [
        ("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", "not running", "start"),
        ("permission denied while trying to connect to the Docker daemon socket", "no permission", "usermod"),
        ("something new", "something new", "try:"),
    ],
)
def test_a_daemon_that_does_not_answer_is_explained(
    stand_in: StandIn, processes: Supervisor, said: str, problem: str, hint: str
) -> None:
    stand_in.install("sbx").fail("ls", f'echo "{said}" >&2; exit 1')
    found = docker.probe_sandboxes(stand_in.variables, processes)
    assert problem in found.problem
    assert hint in found.hint
    assert not docker.probe(stand_in.variables, processes).is_available  # an engine would hold less
    with pytest.raises(MachineError, match=problem):
        open_machine(stand_in, processes)


def test_a_daemon_that_hangs_is_down(stand_in: StandIn, processes: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph.sandboxes._client.CLIENT_TIMEOUT_SECONDS", 0.2)
    stand_in.install("sbx").fail("ls", "exec sleep 60")
    assert "does not answer" in docker.probe_sandboxes(stand_in.variables, processes).problem


def test_docker_without_the_plugin_is_no_sandbox(stand_in: StandIn, processes: Supervisor) -> None:  # 004-04
    stand_in.install("docker").fail("version", 'echo "docker: unknown command: docker sandbox" >&2; exit 1')
    assert docker.probe_sandboxes(stand_in.variables, processes).problem == "no Docker Sandboxes"
    stand_in.calls(forget=True)
    assert not docker.probe_unasked(stand_in.variables, processes).is_available
    assert stand_in.calls() == [["docker", "sandbox", "version"]]  # no engine is asked where none would be taken
    found = docker.probe(stand_in.variables, processes)
    assert not found.is_available or found.needs_asking  # an engine is nothing that `auto` takes


def test_an_agent_names_its_template_in_its_card(stand_in: StandIn, processes: Supervisor) -> None:
    plan = plan_for(stand_in.install("docker"))
    other = replace(plan, adapters=("other",), cards=(AgentCard(title="Other", docker_template="shell"),))
    docker.build(other, stand_in.variables, processes)
    assert any("create" in words and "shell" in words for words in stand_in.calls())


def test_an_agent_without_a_template_is_refused(stand_in: StandIn, processes: Supervisor) -> None:
    stand_in.install("sbx")
    with pytest.raises(MachineError, match="no template for amp"):
        docker.build(plan_for(stand_in, agent="amp"), stand_in.variables, processes)
    assert "create" not in stand_in.verbs()


# -- commands in it ----------------------------------------------------------------------------------
def test_docker_runs_claude_with_the_prompt_as_an_argument(stand_in: StandIn, processes: Supervisor) -> None:  # 004-10
    machine = open_machine(stand_in.install("docker", "sleep"), processes)
    stand_in.calls(forget=True)
    exited = processes.run(machine.wrap(ask_agent(stand_in)), len, len)
    assert exited.code == 0
    name = name_sandbox(str(stand_in.room / "my work"))
    ran, slept, ended = stand_in.calls()
    assert ran == [*f"docker sandbox run {name} -- -p".split(), "do it", "--output-format", "stream-json"]
    assert slept == ["sleep", "2"]  # until the files are there outside: 004-09
    assert ended == [*f"docker sandbox exec {name} sh -c".split(), "kill -KILL -1"]  # nothing of it goes on inside


@pytest.mark.parametrize(("program", "prompt"), [("sbx", "do it"), ("docker", "x" * 200_000)])
def test_elsewhere_the_prompt_comes_on_stdin(
    stand_in: StandIn, processes: Supervisor, program: str, prompt: str
) -> None:
    machine = open_machine(stand_in.install(program, "sleep"), processes)
    command = machine.wrap(ask_agent(stand_in, prompt))
    assert command.stdin == prompt.encode()
    stand_in.calls(forget=True)
    processes.run(command, len, len)
    told = stand_in.calls()[0]
    assert told[-4:] == ["claude", "-p", "--output-format", "stream-json"]
    assert "--env=RALPH_RUN_ID=r1" in told
    assert "--env=ANTHROPIC_API_KEY" in told  # its value is no argument


def test_a_check_runs_inside_and_waits_for_nothing(stand_in: StandIn, processes: Supervisor) -> None:
    machine = open_machine(stand_in.install("sbx", "sleep"), processes)
    stand_in.fail("exec", 'case "$*" in *"make test") echo inside; exit 3;; esac')
    stand_in.calls(forget=True)
    check = Command(argv=("/usr/bin/make", "test"), environment=stand_in.variables, cwd=str(stand_in.room / "my work"))
    heard = bytearray()
    assert processes.run(machine.wrap(check), heard.extend, len).code == 3
    assert heard == b"inside\n"
    assert stand_in.verbs() == ["exec", "exec"]  # the check, and the end of what it left


def test_what_the_host_wrote_is_written_once_more_from_inside(stand_in: StandIn, processes: Supervisor) -> None:
    # 004-11: a sandbox does not see what the host writes to a file that it has already
    machine = open_machine(stand_in.install("docker", "sleep"), processes)
    work = stand_in.room / "my work"
    os.utime(stand_in.room / "scratch" / "synced", (1, 1))
    (work / "tasks.json").write_text("restored")
    stand_in.calls(forget=True)
    processes.run(machine.wrap(ask_agent(stand_in)), len, len)
    assert stand_in.verbs(forget=True) == ["exec", "run", "2", "exec"]
    assert (stand_in.room / "put").read_text() == "restored"
    (work / ".git" / "ralph").mkdir()
    (work / ".git" / "ralph" / "ralph.db").write_text("of this very run")
    processes.run(machine.wrap(ask_agent(stand_in)), len, len)
    assert stand_in.verbs(forget=True) == ["run", "2", "exec"]  # once
    os.utime(stand_in.room / "scratch" / "synced", (1, 1))
    (work / ".git" / "index").write_text("of a commit of ours")
    processes.run(machine.wrap(ask_agent(stand_in)), len, len)
    assert stand_in.verbs() == ["stop", "run", "run", "2", "exec"]  # started anew, then the agent


def test_files_outside_the_work_tree_are_carried_in_and_out(
    stand_in: StandIn, processes: Supervisor, tmp_path: Path
) -> None:
    machine = open_machine(stand_in.install("sbx", "sleep"), processes)
    schema, answer = tmp_path / "schema.json", tmp_path / "answer.txt"
    schema.write_text("{}")
    answer.touch()
    stand_in.fail("exec", f'case "$*" in *"cat {answer}"*) echo 42; exit 0;; esac')
    command = Command(
        argv=("claude", str(schema)),
        environment=stand_in.variables,
        cwd=str(stand_in.room / "my work"),
        reads=(str(schema),),
        writes=(str(answer),),
    )
    processes.run(machine.wrap(command), len, len)
    assert (stand_in.room / "put").read_text() == "{}"
    assert answer.read_text() == "42\n"


def test_a_copy_in_the_place_of_the_work_tree_is_refused_not_ignored(stand_in: StandIn, processes: Supervisor) -> None:
    machine = open_machine(stand_in.install("sbx"), processes)
    work = str(stand_in.room / "my work")
    with pytest.raises(MachineError, match="copy"):
        machine.wrap(Command(argv=("make",), environment={}, cwd=work, binds=(Bind(path=work, source="/copy"),)))


@BOTH
def test_what_a_killed_run_left_is_stopped(stand_in: StandIn, processes: Supervisor, program: str) -> None:
    open_machine(stand_in.install(program), processes)
    name = (stand_in.room / "sandboxes").read_text().strip()
    stand_in.calls(forget=True)
    docker.sweep("r1", (name, "someone-elses", "ralph-gone-12345678"), stand_in.variables, processes)
    assert [call[-1] for call in stand_in.calls() if "stop" in call] == [name]
