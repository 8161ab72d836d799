"""Which agent settings name: its adapter, its program, what it may do. Found before anything is written."""

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import registry
from ralph.app.paths import list_commit_folders
from ralph.config.schema import AgentSettings, split_flags
from ralph.model.agent_card import GIT_COMMANDS, Permissions
from ralph.model.errors import ConfigError, MachineError
from ralph.model.ports import AgentOptions
from ralph.model.price import TokenPrice
from ralph.process.shell import find_program

DEFAULT_PERMISSIONS: Permissions = "checks"


class AgentCommand(Struct, frozen=True, kw_only=True):
    """The agent of a run: its adapter's name and what its settings come to."""

    adapter: str
    argv: tuple[str, ...]  # the program, found, and what belongs to it
    flags: tuple[str, ...] = ()
    permissions: Permissions | None = None
    allow: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    git_folders: tuple[str, ...] = ()
    model: str = ""
    environment: Mapping[str, str] = {}  # variables of its own
    judges: bool = False
    fallback_model: str = ""
    price: TokenPrice | None = None
    substitutes: Mapping[str, "AgentCommand"] = {}  # by name: who takes over
    own_sandbox: bool = False
    guarded: bool = False  # each command is looked at before it runs, where the agent has hooks
    guard: str = ""  # as AgentOptions.guard

    def as_options(self, version: str = "") -> AgentOptions:
        """What its adapter is built from."""
        return AgentOptions(
            command=self.argv,
            flags=self.flags,
            version=version,
            permissions=self.permissions,
            allow=self.allow,
            folders=self.folders,
            git_folders=self.git_folders,
            model=self.model,
            guard=self.guard,
            fallback_model=self.fallback_model,
            judges=self.judges,
            own_sandbox=self.own_sandbox,
        )


def resolve_agent(
    settings: AgentSettings,
    folder: str,
    variables: Mapping[str, str],
    *,
    checks: Sequence[str] = (),
    folders: Sequence[str] = (),
    commits_in: str = "",
) -> AgentCommand:
    """The agent these settings name. `checks` are the commands that will judge its work, or that its prompt orders: it
    may run them itself; `folders` are writable for it besides the one it works in; `commits_in` is that one, where it
    may commit."""
    words = _split_command(settings.command, folder, variables)
    located = locate_agent(
        words,
        split_flags(settings.flags),
        adapter=settings.adapter or registry.resolve_adapter(words[0]),
        folder=folder,
        variables=variables,
    )
    return replace(
        located,
        substitutes={
            name: resolve_agent(other, folder, variables, checks=checks, folders=folders, commits_in=commits_in)
            for name, other in settings.substitutes.items()
        },
        fallback_model=settings.fallback_model,
        price=settings.price,
        permissions=settings.permissions or DEFAULT_PERMISSIONS,
        allow=(*checks, *GIT_COMMANDS, *settings.allow),
        folders=tuple(folders),
        git_folders=_list_closed_git_folders(located.adapter, commits_in),
        model=settings.model,
        environment=settings.environment,
        guarded=settings.guard,
    )


def _list_closed_git_folders(adapter: str, folder: str) -> tuple[str, ...]:
    """What must be opened for an agent whose own sandbox keeps git's folder closed."""
    return list_commit_folders(folder) if folder and not registry.load_agent_card(adapter).can_commit else ()


def locate_agent(
    words: tuple[str, ...], flags: tuple[str, ...], *, adapter: str, folder: str, variables: Mapping[str, str]
) -> AgentCommand:
    """The agent of these very words."""
    if adapter == "scripted":
        return AgentCommand(adapter=adapter, argv=words, flags=flags)
    program = find_program(words[0], variables, folder)
    if program is None and "/" in words[0] and os.path.isdir(os.path.join(folder, words[0])):
        raise MachineError(f"agent not found: {words[0]!r} is a folder", "give the program itself; see `ralph doctor`")
    if program is None and "/" in words[0] and os.path.exists(os.path.join(folder, words[0])):
        raise MachineError(f"permission denied: {words[0]!r} is not a program", f"chmod +x {words[0]}")
    if program is None:
        import difflib  # only a name nobody knows needs it

        near = difflib.get_close_matches(words[0], registry.list_extensions("agents"), 1)
        meant = f"did you mean {near[0]!r}? Else " if near and near[0] != words[0] else ""
        raise MachineError(
            f"agent not found: {words[0]!r} is not on PATH",
            f"{meant}install it, or set agent.command; see `ralph doctor`",
        )
    return AgentCommand(adapter=adapter, argv=(program, *words[1:]), flags=flags)


def _split_command(command: str, folder: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """A command with spaces is a path if there is such a file, else words."""
    if " " not in command or os.path.exists(os.path.join(folder, command)):
        return (command,)
    import shlex

    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigError(f"agent.command {command!r}: {error}", "close the quotes") from error
