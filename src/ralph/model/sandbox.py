"""What a sandbox opens and what it keeps closed, in words that fit every backend."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ralph.model.agent_card import AgentCard

SandboxKind = Literal["docker", "podman", "bubblewrap", "seatbelt", "agent"]
# auto: the strongest that works, in the end the host; any: the strongest that works, never the host
SandboxChoice = Literal["auto", "any", "docker", "podman", "bubblewrap", "seatbelt", "agent", "none"]
NetworkPolicy = Literal["full", "none"] | tuple[str, ...]  # names of hosts, with `:port` where only that is meant


class HomeContent(Struct, frozen=True, kw_only=True):
    """What of the user's home is brought in; all paths absolute. The rest of it is not there."""

    folder: str  # the user's home
    tools: tuple[str, ...] = ()  # read-only: programs and what they have downloaded
    settings: tuple[str, ...] = ()  # of the agents; files are copied, the agent may change its copy
    folders: tuple[str, ...] = ()  # of the agents, read-only: hooks, plugins, commands
    logins: tuple[str, ...] = ()  # of the agents, writable: a login they refresh is kept
    caches: str = ""  # a folder of the project's own that stands for `.cache`, writable; empty: none
    downloads: tuple[str, ...] = ()  # where tools keep downloads besides, below the home: links into it


class SandboxPlan(Struct, frozen=True, kw_only=True):
    """One work tree and what may be done from there. All paths are absolute, real and there, unless said otherwise."""

    run: str  # its id; names containers
    folder: str  # the work tree, writable
    scratch: str  # a folder of the run's own, made for it and removed after it: what is private is kept there
    home: HomeContent
    writable: tuple[str, ...] = ()  # besides: what git writes to, the folder of a task
    readable: tuple[str, ...] = ()  # besides the system: programs in unusual places, plugins
    protected: tuple[str, ...] = ()  # below a writable one, and read-only all the same
    hidden: tuple[str, ...] = ()  # below a writable or readable one, and not there
    absent: tuple[str, ...] = ()  # not there, and not to be made: removed after the command that made it
    network: NetworkPolicy | None = None  # None: the backend's own
    image: str = ""  # for containers; empty: the backend's own
    adapters: tuple[str, ...] = ()  # the agents that will run in it, by the names of their adapters
    cards: tuple[AgentCard, ...] = ()  # theirs, in the same order
    environment: Mapping[str, str] = {}  # what their cards set for every command in a sandbox


class SandboxProbe(Struct, frozen=True, kw_only=True):
    """Whether a backend works on this machine; why not, and how to get it, otherwise."""

    problem: str = ""  # empty: it works
    hint: str = ""
    version: str = ""
    needs_asking: bool = False  # it works, and `auto` does not take it: it needs an image that somebody chose

    @property
    def is_available(self) -> bool:
        return not self.problem
