"""Several agents for one loop: who takes over when one cannot go on."""

from typing import Literal

from msgspec import Struct

OnLimit = Literal["wait", "switch", "stop"]
ESCALATION = "escalate"  # the name of whoever takes over a loop that stands still


class AgentChain(Struct, frozen=True, kw_only=True):
    """The agents behind the first, in their order, and what a limit of the account does."""

    others: tuple[str, ...] = ()
    on_limit: OnLimit = "switch"
    cool_down: float = 1800.0  # seconds an agent rests at a limit whose end nobody told


class Rest(Struct, frozen=True):
    """An agent that cannot work now; the first one has no name."""

    agent: str
    until: float  # unix time
