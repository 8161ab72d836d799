"""Sourcegraph Amp, which prints Claude's format."""

from msgspec import Struct

from ralph.agents._argv import default_flag, is_option_value
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.stream_json import StreamJsonParser
from ralph.agents._permissions import find_missing_options, user_decides
from ralph.model.agent_card import AgentCard, Grant
from ralph.model.command import Invocation
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(
    title="Amp",
    install="npm install -g @sourcegraph/amp",
    detect_order=3,
    instructions=(".amp/",),
    env_keys=frozenset({"AMP_API_KEY"}),
    hosts=("ampcode.com",),
    home_paths=(".config/amp", ".local/share/amp"),
    login_files=(".local/share/amp/secrets.json",),
    model_flag="",
    permission_flags=("--dangerously-allow-all",),
    tokens=True,
    session=True,
    verified="format per its documentation, not verified",
)
_ALL_OR_NOTHING = "Amp runs with all permissions: its rules are in its own settings (amp.permissions)."


class Amp(Struct, frozen=True):
    """Wants `-x` and the prompt last; without a prompt there, it reads stdin."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        argv = [*self.command, *self.flags]
        if mode == "stream":
            argv += default_flag(self.flags, "--stream-json")
        argv += [*self.grant.argv, "-x"]
        if is_option_value(prompt):
            return Invocation(argv=(*argv, prompt))
        return Invocation(argv=tuple(argv), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return StreamJsonParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Amp(options.command, options.flags, grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """All or nothing: a settings file of ours would take the place of the user's."""
    missing = find_missing_options(options, CARD)
    if user_decides(options, CARD):
        return Grant(limits=missing)
    limits = (_ALL_OR_NOTHING, *missing) if options.permissions in ("checks", "edits") else missing
    return Grant(argv=("--dangerously-allow-all",), limits=limits)
