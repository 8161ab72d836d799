"""Sourcegraph Amp, which prints Claude's format."""

from msgspec import Struct

from ralph.agents._argv import default_flag, is_option_value
from ralph.agents._plain import PlainParser
from ralph.agents._stream_json import StreamJsonParser
from ralph.model.agent_card import AgentCard
from ralph.model.command import Invocation
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(title="Amp", tokens=True, session=True, verified="format per its documentation, not verified")


class Amp(Struct, frozen=True):
    """Wants `-x` and the prompt last; without a prompt there, it reads stdin."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        argv = [*self.command, *self.flags]
        if mode == "stream":
            argv += default_flag(self.flags, "--stream-json")
        argv += [*default_flag(self.flags, "--dangerously-allow-all"), "-x"]
        if is_option_value(prompt):
            return Invocation((*argv, prompt))
        return Invocation(tuple(argv), prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return StreamJsonParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Amp(options.command, options.flags)
