"""The scripted agent: plays real edits, shell commands and messages, and needs no key. For demos and tests."""

import sys

from msgspec import Struct

from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.stream_json import StreamJsonParser
from ralph.model.agent_card import AgentCard
from ralph.model.command import Invocation
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(
    title="scripted agent",
    model_flag="",
    can_judge=True,  # where its script says how
    judges_with_flags=True,
    cost=True,
    tokens=True,
    session=True,
    verified="part of ralph",
)
_MODE_FLAGS: dict[OutputMode, tuple[str, ...]] = {"stream": (), "text": ("--text",)}


class Scripted(Struct, frozen=True):
    """Its flags name the script; see `_player` for what a script can do."""

    flags: tuple[str, ...]
    reports_cost = True

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """The player, in the Python that runs us."""
        argv = (sys.executable, "-m", "ralph.agents._player", *self.flags, *_MODE_FLAGS[mode])
        return Invocation(argv=argv, stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return StreamJsonParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Scripted((*options.command[1:], *options.flags))
