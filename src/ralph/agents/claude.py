"""Claude Code."""

from msgspec import Struct

from ralph.agents._argv import default_flag
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.stream_json import StreamJsonParser
from ralph.agents._permissions import add_folders, choose_flags, grant_judge, list_simple_commands, user_decides
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import Invocation
from ralph.model.judge import JUDGE_SCHEMA
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

CARD = AgentCard(
    title="Claude Code",
    install="npm install -g @anthropic-ai/claude-code",
    detect_order=1,
    docker_template="claude",
    instructions=("CLAUDE.md", "CLAUDE.local.md", ".claude/"),
    provider="anthropic",
    env_keys=frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}),
    hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"),
    session_vars=frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}),
    home_paths=(".claude", ".claude.json"),
    program_paths=(".local/share/claude",),
    home_variable="CLAUDE_CONFIG_DIR",
    login_files=(".claude/.credentials.json",),
    config_folders=tuple(
        f".claude/{name}" for name in ("agents", "commands", "hooks", "output-styles", "plugins", "rules", "skills")
    ),
    sandbox_environment={"IS_SANDBOX": "1"},  # without it root may not skip permissions
    model_aliases=(),
    folder_flag="--add-dir",
    permission_flags=(
        "--permission-mode",
        "--dangerously-skip-permissions",
        "--allow-dangerously-skip-permissions",
        "--allowedTools",
        "--allowed-tools",
        "--permission-prompt-tool",
    ),
    story_flags=("--dangerously-skip-permissions",),
    plugin_flag="--plugin-dir",
    settings_flag="--settings",
    has_own_sandbox=True,
    can_judge=True,
    small_model="haiku",
    judge_flags=(
        *("--setting-sources", "", "--tools", "", "--no-session-persistence"),
        *("--json-schema", JUDGE_SCHEMA),
    ),
    cost=True,
    tokens=True,
    session=True,
    verified="2.1.197 and 2.1.326, with the scripted model",
)
# Its sandbox holds for commands alone, so edits outside stay refused; and a command that cannot be kept in it fails.
_OWN_SANDBOX = (
    '{"sandbox":{"enabled":true,"failIfUnavailable":true,"autoAllowBashIfSandboxed":true,'
    '"allowUnsandboxedCommands":false}}'
)
HAS_FALLBACK_MODEL = True
_FORMATS: dict[OutputMode, str] = {"stream": "stream-json", "text": "text"}


class Claude(Struct, frozen=True, kw_only=True):
    """Reads the prompt on stdin, which has no limit."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    guard: str = ""
    reports_cost = True

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """`claude -p`, with the budget as its own limit too."""
        argv = [*self.command, "-p", *self.flags]
        argv += default_flag(self.flags, "--output-format", _FORMATS[mode])
        if mode == "stream":
            argv += default_flag(self.flags, "--verbose")
        if budget_usd is not None:
            argv += default_flag(self.flags, "--max-budget-usd", f"{budget_usd:g}")
        if self.guard:  # after the user's own, which it holds: only the last one counts
            argv += [CARD.settings_flag, self.guard]
        # --allowedTools takes every word up to the next flag: it comes last, and the prompt on stdin
        return Invocation(argv=(*argv, *self.grant.argv), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return StreamJsonParser() if mode == "stream" else PlainParser()


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings. What would open its own sandbox is left out where that is all there is."""
    flags = choose_flags(options, CARD)
    if options.own_sandbox:
        flags = tuple(flag for flag in flags if flag not in CARD.story_flags)
    if options.fallback_model and not options.judges:
        flags = (*flags, *default_flag(flags, "--fallback-model", options.fallback_model))
    return Claude(command=options.command, flags=flags, grant=grant_permissions(options), guard=options.guard)


def grant_permissions(options: AgentOptions) -> Grant:
    """Its own list of commands: `Bash(make test)` and, with arguments, `Bash(make test:*)`."""
    if options.judges:
        return grant_judge(CARD, options)
    folders = add_folders(options, CARD)
    if options.own_sandbox:
        edits = (*folders, "--permission-mode", "acceptEdits")
        return Grant(argv=(*edits, "--settings", _OWN_SANDBOX), can_start_runs=False)
    if options.permissions is None or user_decides(options, CARD):
        return Grant(argv=folders, can_commit=not _only_edits(options))
    if options.permissions == "all":
        return Grant(argv=(*folders, "--dangerously-skip-permissions"))
    edits = (*folders, "--permission-mode", "acceptEdits")
    rules = _list_rules(options.allow) if options.permissions == "checks" else ()
    return Grant(argv=(*edits, "--allowedTools", *rules) if rules else edits, can_commit=bool(rules))


def _only_edits(options: AgentOptions) -> bool:
    """Whether the user's own words allow edits and not a single command."""
    words = " ".join((*options.command[1:], *options.flags))
    return "acceptEdits" in words and "--allowed" not in words and "--permission-prompt-tool" not in words


def _list_rules(allow: tuple[str, ...]) -> tuple[str, ...]:
    rules: dict[str, None] = {}
    for command in list_simple_commands(allow):
        rules[f"Bash({command})"] = None
        if "*" not in command:
            rules[f"Bash({command}:*)"] = None
    return tuple(rules)


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
