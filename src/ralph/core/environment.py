"""The environment of a child: explicit, with nothing in it that is another agent's."""

from collections.abc import Iterable, Mapping

# Keys of model services, by the agent that needs them. An agent that is not here may talk to any of them.
_KEYS_BY_AGENT: Mapping[str, frozenset[str]] = {
    "claude": frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}),
    "codex": frozenset({"OPENAI_API_KEY", "CODEX_API_KEY"}),
    "gemini": frozenset({"GEMINI_API_KEY", "GOOGLE_API_KEY"}),
    "amp": frozenset({"AMP_API_KEY"}),
}
_OTHER_KEYS = frozenset({"XAI_API_KEY", "PERPLEXITY_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY"})
_SESSION_VARS = frozenset(
    {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}
)  # they block a nested session

_GIT_VARS = frozenset(  # a hook that runs us has some of them set
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
        *("GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
    }
)


def without_git_vars(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's own, less what would take git from the folder it is started in to another repository."""
    return {name: value for name, value in environment.items() if name not in _GIT_VARS}


def build_gate_env(environment: Mapping[str, str], run: Mapping[str, str]) -> dict[str, str]:
    """The user's own, less the marks of an agent session, and the run's variables."""
    return {**{name: value for name, value in environment.items() if name not in _SESSION_VARS}, **run}


def build_agent_env(
    environment: Mapping[str, str],
    run: Mapping[str, str],
    *,
    agent: str,
    passed: Iterable[str],
    extra: Mapping[str, str],
) -> dict[str, str]:
    """As a gate's, less the keys of other agents (but those in `passed`), and what settings add."""
    hidden = _foreign_keys(agent) - set(passed)
    kept = {name: value for name, value in build_gate_env(environment, run).items() if name not in hidden}
    return {**kept, **extra}


def _foreign_keys(agent: str) -> frozenset[str]:
    if agent not in _KEYS_BY_AGENT:
        return frozenset()
    return frozenset().union(_OTHER_KEYS, *(keys for name, keys in _KEYS_BY_AGENT.items() if name != agent))
