"""Any other CLI: the prompt goes in, plain text comes out."""

from msgspec import Struct

from ralph.agents._argv import misfit
from ralph.agents._plain import PlainParser
from ralph.model.agent_card import Traits
from ralph.model.command import PROMPT_FILE, Invocation
from ralph.model.errors import ConfigError
from ralph.model.ports import Agent, AgentOptions, LineParser, Mode

TRAITS = Traits(
    "any other command", streaming=False, tools=False, verified="its text and exit code are all that is known"
)
PROMPT = "{prompt}"


class AnyCommand(Struct, frozen=True):
    """The prompt goes where `{prompt}` or `{prompt_file}` stands in its words, else to stdin."""

    argv: tuple[str, ...]
    reports_cost = False

    def invocation(self, prompt: str, mode: Mode, budget_usd: float | None) -> Invocation:
        """The words as they are in the settings."""
        if not any(PROMPT in word or PROMPT_FILE in word for word in self.argv):
            return Invocation(self.argv, prompt)
        if any(PROMPT in word for word in self.argv):
            _check(prompt)
        return Invocation(tuple(word.replace(PROMPT, prompt) for word in self.argv))

    def parser(self, mode: Mode) -> LineParser:
        """For one run."""
        return PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return AnyCommand((*options.command, *options.flags))


def _check(prompt: str) -> None:
    if why := misfit(prompt):
        raise ConfigError(
            f"the prompt {why}, so it cannot take the place of {PROMPT} in agent.command",
            f"Write {PROMPT_FILE} instead, or leave both out: the prompt then comes on stdin.",
        )
