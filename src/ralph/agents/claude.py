"""Claude Code."""

from msgspec import Struct

from ralph.agents._argv import default_flag
from ralph.agents._plain import PlainParser
from ralph.agents._stream_json import StreamJsonParser
from ralph.model.agent_card import AgentCard, EndpointConfig
from ralph.model.command import Invocation
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(title="Claude Code", cost=True, tokens=True, session=True, verified="2.1.197, with the scripted model")
_FORMATS: dict[OutputMode, str] = {"stream": "stream-json", "text": "text"}


class Claude(Struct, frozen=True):
    """Reads the prompt on stdin, which has no limit."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    reports_cost = True

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """`claude -p`, with the budget as its own limit too."""
        argv = [*self.command, "-p", *self.flags]
        argv += default_flag(self.flags, "--output-format", _FORMATS[mode])
        if mode == "stream":
            argv += default_flag(self.flags, "--verbose")
        if budget_usd is not None:
            argv += default_flag(self.flags, "--max-budget-usd", f"{budget_usd:g}")
        return Invocation(tuple(argv), prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return StreamJsonParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Claude(options.command, options.flags)


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    return EndpointConfig(
        {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",  # without it root may not skip permissions
        },
        ("--dangerously-skip-permissions",),
    )
