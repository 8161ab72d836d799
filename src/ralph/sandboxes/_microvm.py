"""Docker Sandboxes: a small virtual machine a work tree, made once, stopped when a run ends."""

import os
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ralph.model.agent_card import AgentCard
from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.sandbox import NetworkPolicy, SandboxKind, SandboxPlan
from ralph.sandboxes import _microvm_words as words
from ralph.sandboxes._client import Answer, Client, explain_silence
from ralph.sandboxes._copies import refuse_copies
from ralph.sandboxes._names import name_sandbox
from ralph.sandboxes._system import is_in_system

CREATE_SECONDS = 1200.0  # it may have to download its template
SETUP_SECONDS = 60.0
STATE_FOLDER = ".dclaude_state"  # below HOME: a login that outlives the sandbox
_OWN_VARIABLES = ("RALPH_", "TASK_FOLDER", "GIT_AUTHOR_", "GIT_COMMITTER_")


class MicroVm:
    """Implements the port `Sandbox`."""

    kind: SandboxKind = "docker"

    def __init__(self, client: Client, dialect: words.Dialect, plan: SandboxPlan) -> None:
        self._client, self._dialect, self._plan = client, dialect, plan
        self.name = name_sandbox(plan.folder, dialect.separator)
        self._template, self._card = _choose_template(plan)
        self._network = choose_network(plan)
        self._stamp = os.path.join(plan.scratch, "synced")

    def describe(self) -> str:
        network = self._network if isinstance(self._network, str) else f"only {', '.join(self._network)}"
        return f"Docker Sandbox {self.name} ({self._client.title}), network {network}"

    def open(self) -> None:
        """Make it, or start the one of an earlier run anew, so that it sees what was edited since. MachineError: it
        cannot be had; then nothing of it is left."""
        there = self._client.ask("ls", "--quiet")
        if not there.is_fine:
            probe = explain_silence(self._client, there)
            raise MachineError(probe.problem, probe.hint)
        if self.name in there.lines:
            self._client.ask("stop", self.name, seconds=SETUP_SECONDS)
        else:
            self._create()
        try:
            self._prepare()
        except MachineError:
            self._client.ask("stop", self.name, seconds=SETUP_SECONDS)
            raise
        Path(self._stamp).touch()

    def wrap(self, command: Command) -> Command:
        refuse_copies(command, "a Docker Sandbox")
        is_agent = os.path.basename(command.argv[0]) in (self._card.programs or (self._template,))
        is_run = is_agent and self._dialect.runs_agents and self._template == "claude"
        is_run = is_run and len(command.stdin) < words.MAX_PROMPT_ARGUMENT_BYTES
        inner = self._list_run_words(command) if is_run else self._list_exec_words(command)
        argv = (*self._client.words, *inner)
        if command.reads or command.writes:
            transfers = words.render_transfers(self._client.words, self.name, command.reads, command.writes)
            argv = ("/bin/sh", "-c", transfers, "sh", *argv)
        script = words.render_host_script(
            self._client.words,
            self.name,
            folders=(self._plan.folder, *self._list_writable()),
            hidden=self._plan.hidden,
            stamp=self._stamp,
            is_agent=is_agent,
        )
        return replace(
            command,
            argv=("/bin/sh", "-c", script, "sh", *argv),
            environment={**command.environment, **self._client.variables},
            stdin=b"" if is_run else command.stdin,
            cleanup=(*self._client.words, *words.list_end_words(self.name)),
        )

    def close(self) -> None:
        """A work tree of its own is about to go, and its sandbox with it; the user's own is used again."""
        is_linked = os.path.isfile(os.path.join(self._plan.folder, ".git"))
        last = self._dialect.removal if is_linked or not os.path.isdir(self._plan.folder) else ("stop",)
        self._client.ask(*last, self.name, seconds=SETUP_SECONDS)

    def _list_writable(self) -> list[str]:
        """What the work tree does not hold itself."""
        return [path for path in self._plan.writable if not path.startswith(f"{self._plan.folder}/")]

    def _create(self) -> None:
        readable = [path for path in self._plan.readable if not is_in_system(path) and os.path.isdir(path)]
        folders = [self._plan.folder, *self._list_writable(), *(f"{path}:ro" for path in readable)]
        if self._template == "claude":
            folders.append(prepare_login_folder(self._plan.home.folder))
        creation = words.list_creation_words(self.name, self._template, folders, self._plan.image)
        made = self._client.ask(*creation, seconds=CREATE_SECONDS)
        if not made.is_fine:
            self._client.ask(*self._dialect.removal, self.name, seconds=SETUP_SECONDS)  # half of one is of no use
            raise MachineError(
                f"cannot create the sandbox {self.name}: {_explain(made)}", f"try: {self._client.title} ls"
            )

    def _prepare(self) -> None:
        if self._dialect.runs_agents:  # its `exec` does not start a sandbox that was stopped
            self._client.ask("run", self.name, "--", "--version", seconds=CREATE_SECONDS)
        if self._template == "claude":
            login = ("bash", "-c", words.LOGIN_SCRIPT, "bash", prepare_login_folder(self._plan.home.folder))
            self._check(self._client.ask("exec", "--user", "root", self.name, *login, seconds=SETUP_SECONDS))
        identity = ("bash", "-c", words.IDENTITY_SCRIPT, "bash", *words.COMMIT_IDENTITY)
        self._check(self._client.ask("exec", self.name, *identity, seconds=SETUP_SECONDS))
        self._check(self._client.ask(*words.list_policy_words(self._dialect, self.name, self._network)))
        if self._network != "full" and self._client.ask(*words.list_reach_words(self.name)).is_fine:
            hint = "sbx policy reset, then: sbx policy init deny-all" if self._dialect.has_policy_scope else "use sbx"
            raise MachineError(f"the sandbox {self.name} reaches every host, though its policy names a few", hint)

    def _check(self, answer: Answer) -> None:
        if not answer.is_fine:
            remove = f"{self._client.title} {' '.join(self._dialect.removal)} {self.name}"
            raise MachineError(f"cannot set up the sandbox {self.name}: {_explain(answer)}", f"remove it: {remove}")

    def _list_run_words(self, command: Command) -> tuple[str, ...]:
        """As `docker sandbox run NAME -- -p PROMPT`, the prompt as an argument."""
        flags = list(command.argv[1:])
        at = flags.index("-p") + 1 if "-p" in flags else 0
        return ("run", self.name, "--", *flags[:at], command.stdin.decode("utf-8", "replace"), *flags[at:])

    def _list_exec_words(self, command: Command) -> tuple[str, ...]:
        program, *rest = command.argv
        is_inside = program.startswith(f"{self._plan.folder}/")  # others of this machine may not run in there
        argv = (program if is_inside else os.path.basename(program), *rest)
        own = {name: value for name, value in command.environment.items() if name.startswith(_OWN_VARIABLES)}
        keys = sorted(self._card.env_keys.intersection(command.environment))
        variables = {**own, **self._plan.environment}
        return words.list_exec_words(self.name, argv, cwd=command.cwd, variables=variables, named=keys)


def end_microvm(client: Client, dialect: words.Dialect, name: str) -> None:
    """Of a run that is gone: nothing in it runs any more; what is in it stays for the next."""
    if name in client.ask("ls", "--quiet").lines:
        client.ask("stop", name, seconds=SETUP_SECONDS)


def choose_network(plan: SandboxPlan) -> NetworkPolicy:
    """Without a word: nothing but the agents' own services. What is listed comes on top of them."""
    if isinstance(plan.network, str):
        return plan.network
    hosts = [host for card in plan.cards for host in card.hosts]
    return tuple(dict.fromkeys((*hosts, *(plan.network or ()))))


def prepare_login_folder(home: str) -> str:
    """Where the login is kept. Claude Code does not start with a state file that is empty: it must be JSON."""
    folder = Path(home) / STATE_FOLDER
    state = folder / ".claude.json"
    try:
        (folder / ".claude").mkdir(mode=0o700, parents=True, exist_ok=True)
        if not state.exists() or not state.read_bytes().strip():
            state.write_text("{}\n", encoding="utf-8")
        msgspec.json.decode(state.read_bytes())
    except OSError as error:
        raise MachineError(f"cannot write {state}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise MachineError(f"{state} is not valid JSON: {error}", f"fix it, or: echo '{{}}' > {state}") from error
    return str(folder)


def _choose_template(plan: SandboxPlan) -> tuple[str, AgentCard]:
    for card in plan.cards:
        if card.docker_template:
            return card.docker_template, card
    wanted = ", ".join(plan.adapters) or "this agent"
    raise MachineError(f"Docker Sandboxes have no template for {wanted}", "use --sandbox bubblewrap")


def _explain(answer: Answer) -> str:
    return "it does not answer" if answer.ending == "timed_out" else answer.last_complaint
