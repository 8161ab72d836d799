"""Which agent of several works next: the first that does not rest."""

import math
from collections.abc import Sequence

from ralph.model.agent_chain import AgentChain, Rest
from ralph.model.loop import Reported


def find_rested_agent(chain: AgentChain, resting: Sequence[Rest], wall: float) -> str | None:
    """The first that can work at that time; the empty name is the first of all. None: all of them rest."""
    return next((agent for agent in ("", *chain.others) if not is_resting(agent, resting, wall)), None)


def is_resting(agent: str, resting: Sequence[Rest], wall: float) -> bool:
    return any(rest.agent == agent and rest.until > wall for rest in resting)


def send_to_rest(
    resting: Sequence[Rest], agent: str, reported: Reported, *, chain: AgentChain, wall: float
) -> tuple[Rest, ...]:
    """With the agent among them: until its limit ends, or for good where nothing but its user can help."""
    until = math.inf if reported.outcome == "unusable" else max(reported.reset_at or wall + chain.cool_down, wall)
    return (*(rest for rest in resting if rest.agent != agent), Rest(agent, until))


def find_first_end(chain: AgentChain, resting: Sequence[Rest]) -> float | None:
    """When the first agent of the chain has rested; None: none of them will."""
    ends = [rest.until for rest in resting if rest.agent in ("", *chain.others) and rest.until < math.inf]
    return min(ends, default=None)
