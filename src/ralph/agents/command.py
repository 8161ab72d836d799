"""Any other CLI: the prompt goes in, plain text comes out."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._argv import find_argv_problem
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._permissions import choose_flags, find_missing_options
from ralph.model.agent_card import ANY_KEY, AgentCard, Grant
from ralph.model.command import PROMPT_FILE, Invocation
from ralph.model.errors import ConfigError
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(
    title="any other command",
    env_keys=ANY_KEY,  # nobody knows which service it talks to
    can_judge=True,  # in plain words
    judges_with_flags=True,
    streaming=False,
    tools=False,
    verified="its text and exit code are all that is known",
)
PROMPT_PLACEHOLDER = "{prompt}"


class AnyCommand(Struct, frozen=True):
    """The prompt goes where `{prompt}` or `{prompt_file}` stands in its words, else to stdin."""

    argv: tuple[str, ...]
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """The words as they are in the settings."""
        if not any(PROMPT_PLACEHOLDER in word or PROMPT_FILE in word for word in self.argv):
            return Invocation(argv=self.argv, stdin=prompt)
        if any(PROMPT_PLACEHOLDER in word for word in self.argv):
            _refuse_unfit_prompt(prompt)
        return Invocation(argv=tuple(word.replace(PROMPT_PLACEHOLDER, prompt) for word in self.argv))

    def parser(self, mode: OutputMode) -> LineParser:
        return PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return AnyCommand((*options.command, *choose_flags(options, CARD)))


def grant_permissions(options: AgentOptions) -> Grant:
    """Nothing: its flags are known to the user alone."""
    return Grant(limits=find_missing_options(options, replace(CARD, title=options.command[0])))


def _refuse_unfit_prompt(prompt: str) -> None:
    if why := find_argv_problem(prompt):
        raise ConfigError(
            f"the prompt {why}, so it cannot take the place of {PROMPT_PLACEHOLDER} in agent.command",
            f"Write {PROMPT_FILE} instead, or leave both out: the prompt then comes on stdin.",
        )
