"""What is known of a coding agent's CLI, kept in its adapter's file."""

from collections.abc import Mapping

from msgspec import Struct


class AgentCard(Struct, frozen=True, kw_only=True):
    """What its adapter can tell about a run, and how we know."""

    title: str
    streaming: bool = True  # tells what it does while it does it
    cost: bool = False  # tells what it cost
    tokens: bool = False
    tools: bool = True  # tells its tool calls
    session: bool = False  # tells the name of its session
    verified: str = "not verified"  # which version, and against what


class EndpointConfig(Struct, frozen=True):
    """How to make the CLI talk to a model server at some address, with keys that are none, and to no one else."""

    environment: Mapping[str, str] = {}
    flags: tuple[str, ...] = ()
    files: Mapping[str, str] = {}  # below its home folder: path → text
