"""Whether a loop gets anywhere: what is remembered of its iterations, and what follows when they are all alike."""

from msgspec import Struct


class StuckLimits(Struct, frozen=True, kw_only=True):
    """After how many iterations in a row that are alike the agent is told, another agent takes over, and the loop
    ends; 0: never."""

    tell: int = 2
    escalate: int = 3
    stop: int = 5
    agent: str = ""  # who takes over; empty: nobody does


class IterationSigns(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an iteration left behind, as far as progress goes."""

    number: int = 0
    role: str = ""
    ended_well: bool = False
    tree: str = ""  # empty: nobody can tell
    is_by_policy: bool = False  # the tree is the policy's own sign of the work
    head: str = ""  # the commit that is checked out
    answer: str = ""  # the agent's last words, shortened
    trouble: str = ""  # how it ended, unless it ended well
    tool_error: str = ""  # the error its tool calls mostly ended with
    failure: str = ""  # what a check or a verification said against it
    title: str = ""  # of that check
    was_checked: bool = False
    waits: bool = False  # for something that is not the agent's to hurry
    advanced: bool = False  # work was committed, or passed a stage


class Standstill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Iterations in a row that are alike, the first of them included, and what was seen before."""

    count: int = 0
    why: str = ""  # in what the last one was like those before
    tried: tuple[str, ...] = ()  # what the agents of this row say they did
    open: IterationSigns | None = None  # of the iteration that is being judged
    tree: str = ""  # after the last iteration
    head: str = ""
    tool_error: str = ""
    seen_trees: tuple[str, ...] = ()
    seen_failures: tuple[str, ...] = ()
    seen_advances: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()  # without what varies
