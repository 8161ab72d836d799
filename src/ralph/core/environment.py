"""The environment of a child: explicit, with nothing in it that is another agent's."""

from collections.abc import Iterable, Mapping

from ralph.model.agent_card import ANY_KEY, AgentCard

_GIT_VARS = frozenset(  # a hook that runs us has some of them set
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
        *("GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
    }
)


def without_git_vars(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables that would point git at another repository."""
    return {name: value for name, value in environment.items() if name not in _GIT_VARS}


def build_gate_env(
    environment: Mapping[str, str], run: Mapping[str, str], cards: Iterable[AgentCard]
) -> dict[str, str]:
    """The user's environment without the marks of an agent session, plus the run's own variables."""
    marks = {name for card in cards for name in card.session_vars}
    return {**{name: value for name, value in environment.items() if name not in marks}, **run}


def build_agent_env(
    environment: Mapping[str, str],
    run: Mapping[str, str],
    *,
    card: AgentCard,
    cards: Iterable[AgentCard],
    passed: Iterable[str],
    extra: Mapping[str, str],
) -> dict[str, str]:
    """As a gate's, less the keys that only other agents' cards name (but those in `passed`), and what settings add."""
    known = tuple(cards)
    hidden = _foreign_keys(card, known) - set(passed)
    kept = {name: value for name, value in build_gate_env(environment, run, known).items() if name not in hidden}
    return {**kept, **extra}


def _foreign_keys(card: AgentCard, cards: Iterable[AgentCard]) -> frozenset[str]:
    if card.env_keys == ANY_KEY:
        return frozenset()
    return frozenset().union(*(other.env_keys for other in cards)) - card.env_keys
