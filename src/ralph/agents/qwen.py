"""Qwen Code, which prints Claude's format."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._argv import default_flag, has_flag
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._parsing.stream_json import StreamJsonParser
from ralph.agents._permissions import add_folders, choose_flags, grant_judge, select_prefixes, user_decides
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import Invocation
from ralph.model.judge import JUDGE_SCHEMA
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode, ParsedRun

CARD = AgentCard(
    title="Qwen Code",
    install="npm install -g @qwen-code/qwen-code",
    detect_order=6,
    instructions=("QWEN.md", ".qwen/"),
    env_keys=frozenset(
        {
            *("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY", "BAILIAN_TOKEN_PLAN_API_KEY"),
            *("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "ZAI_API_KEY"),
            *("MODELSCOPE_API_KEY", "MINIMAX_API_KEY", "DEEPSEEK_API_KEY"),
        }
    ),
    home_paths=(".qwen",),
    login_files=(".qwen/oauth_creds.json",),
    config_folders=(".qwen/commands", ".qwen/extensions"),
    folder_flag="--include-directories",
    permission_flags=("-y", "--yolo", "--approval-mode", "--allowed-tools"),
    can_judge=True,
    judge_flags=("--safe-mode", "--approval-mode", "plan", "--json-schema", JUDGE_SCHEMA),
    tokens=True,
    session=True,
    verified="0.24.4, with the scripted model",
)
_FORMATS: dict[OutputMode, str] = {"stream": "stream-json", "text": "text"}
_EMPTY_RESPONSE = "stream ended with empty response"  # an error to it, a success without a word to others


class Qwen(Struct, frozen=True):
    """Reads the prompt on stdin: its `-p` is deprecated."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        # --allowed-tools takes every word up to the next flag, so one always follows it.
        argv = [*self.command, *self.flags, *self.grant.argv]
        if not has_flag(self.flags, "-o"):
            argv += default_flag(self.flags, "--output-format", _FORMATS[mode])
        return Invocation(argv=tuple(argv), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return QwenParser() if mode == "stream" else PlainParser()


class QwenParser(StreamJsonParser):
    """As Claude's, but for an answer without a word."""

    def summarize_run(self) -> ParsedRun:
        parsed = super().summarize_run()
        if _EMPTY_RESPONSE not in parsed.error:
            return parsed
        return replace(parsed, closing="success", text="", error="", status=None)


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings."""
    return Qwen(options.command, choose_flags(options, CARD), grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """A rule a command, which is a prefix. Without one its model is not even offered a shell."""
    if options.judges:
        return grant_judge(CARD, options)
    folders = add_folders(options, CARD)
    if user_decides(options, CARD):
        return Grant(argv=folders)
    if options.permissions in (None, "all"):
        return Grant(argv=("--yolo", *folders))
    prefixes, limits = select_prefixes(CARD.title, options) if options.permissions == "checks" else ((), ())
    # It would take a comma for the end of a rule.
    torn = tuple(f"{CARD.title} cannot allow `{each}`: it has a comma." for each in prefixes if "," in each)
    rules = (word for each in prefixes if "," not in each for word in ("--allowed-tools", f"run_shell_command({each})"))
    edits = (*folders, "--approval-mode", "auto-edit")
    return Grant(argv=(*edits, *rules), limits=(*limits, *torn), can_commit=bool(prefixes))


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    """Three variables choose an OpenAI-compatible service. Its retries would go on for minutes."""
    settings = '{"model": {"generationConfig": {"maxRetries": 0}}, "privacy": {"usageStatisticsEnabled": false}}\n'
    return EndpointConfig(
        {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": "scripted"},
        ("--yolo",),
        files={".qwen/settings.json": settings},
    )
