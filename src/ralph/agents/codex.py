"""OpenAI Codex: called by version, in its own sandbox."""

import os
import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._argv import default_flag
from ralph.agents._parsing.plain import PlainParser
from ralph.agents._permissions import add_folders, choose_flags, find_missing_options, grant_judge, user_decides
from ralph.model.agent_card import AgentCard, EndpointConfig, Grant
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Invocation
from ralph.model.judge import JUDGE_SCHEMA
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode

_SCHEMA_FILE = "{schema.json}"

CARD = AgentCard(
    title="Codex",
    install="npm install -g @openai/codex",
    detect_order=2,
    docker_template="codex",
    instructions=(".codex/",),
    provider="openai",
    env_keys=frozenset({"OPENAI_API_KEY", "CODEX_API_KEY"}),
    hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
    home_paths=(".codex",),
    home_variable="CODEX_HOME",
    login_files=(".codex/auth.json",),
    config_folders=(".codex/prompts", ".codex/rules", ".codex/skills"),
    folder_flag="--add-dir",
    has_own_sandbox=True,
    permission_flags=(
        "-s",
        "--sandbox",
        "--dangerously-bypass-approvals-and-sandbox",
        "--yolo",
        "--full-auto",
        "sandbox_mode",
    ),
    can_commit=False,
    can_judge=True,
    small_model="gpt-6-luna",
    judge_flags=(
        *("--ephemeral", "-s", "read-only", "-c", "project_doc_max_bytes=0"),
        *("--disable", "shell_tool", "--disable", "plugins", "--output-schema", _SCHEMA_FILE),
    ),
    judge_files={_SCHEMA_FILE: JUDGE_SCHEMA},
    tokens=True,
    counts_cached_input=True,
    session=True,
    verified="0.166.0 and 0.169.0, with the scripted model",
)
VERSION_ARGV = ("--version",)
# 0.126 made --full-auto do nothing, 0.147 refuses it (openai/codex#20133).
FIRST_VERSION_WITHOUT_FULL_AUTO = (0, 126)
_VERSION_PATTERN = re.compile(r"(\d+)\.(\d+)")
_NO_SANDBOX_WORDS = ("danger-full-access", "--dangerously-bypass-approvals-and-sandbox", "--yolo")
_HOME_BELOW_TEMPORARY = (
    "Codex's home {home} is below the temporary folder {temporary}: Codex puts no helper programs there, and its"
    " commands fail without a word. Set CODEX_HOME or TMPDIR to another folder."
)
_FREE_COMMANDS = "Codex cannot allow single commands: it may run any command inside its own sandbox."


class Codex(Struct, frozen=True):
    """Today's: the prompt on stdin, as free to write the workspace as --full-auto was."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    grant: Grant
    reports_cost = False

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        argv = [*self.command, "exec"]
        argv += default_flag(self.flags, "--json") if mode == "stream" else ("-o", ANSWER_FILE)
        argv += default_flag(self.flags, "--skip-git-repo-check")
        argv += [*self.grant.argv, *self.flags, "-"]
        return Invocation(argv=tuple(argv), stdin=prompt, files=self.grant.files)

    def parser(self, mode: OutputMode) -> LineParser:
        if mode != "stream":
            return PlainParser()
        from ralph.agents._parsing.codex_json import CodexParser  # 1 ms: every run reads this card, few run Codex

        return CodexParser()


class OldCodex(Codex, frozen=True):
    """Before the flag was dropped: the prompt in a file, as first specified."""

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        """`codex e --json --full-auto <file>`."""
        if mode == "stream":
            return Invocation(argv=(*self.command, "e", "--json", *self.grant.argv, *self.flags, PROMPT_FILE))
        return Invocation(argv=(*self.command, "e", *self.grant.argv, "-o", ANSWER_FILE, *self.flags, PROMPT_FILE))


def build(options: AgentOptions) -> Agent:
    """The adapter for these settings and this version; a version we cannot read is a new one."""
    agent = OldCodex if _is_old(options.version) else Codex
    return agent(options.command, choose_flags(options, CARD), grant_permissions(options))


def grant_permissions(options: AgentOptions) -> Grant:
    """It has a sandbox and no list of commands: whatever writes only where it may is run."""
    if options.judges:
        return grant_judge(CARD, options)
    old = _is_old(options.version)
    folders = () if old else add_folders(options, CARD)
    missing = find_missing_options(options, replace(CARD, folder_flag="") if old else CARD)
    if user_decides(options, CARD):
        is_free = _is_without_sandbox(options)
        return Grant(argv=folders, limits=missing, can_commit=is_free, can_start_runs=is_free)
    if options.permissions == "all" and not options.own_sandbox:
        return Grant(argv=("--dangerously-bypass-approvals-and-sandbox", *folders), limits=missing)
    sandbox = ("--full-auto",) if old else ("-s", "workspace-write")
    limits = missing if options.permissions is None else (_FREE_COMMANDS, *missing)
    # Its sandbox keeps .git read-only: a commit fails there, and no event tells of it.
    git_folders = () if old or options.permissions not in ("checks", "all") else options.git_folders
    opened = add_folders(replace(options, folders=git_folders), CARD)
    return Grant(argv=(*sandbox, *folders, *opened), limits=limits, can_commit=bool(git_folders), can_start_runs=False)


def check_environment(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Below the temporary folder it refuses to put its helper programs: each command then fails without an event."""
    home = variables.get("CODEX_HOME") or os.path.join(variables.get("HOME") or "/", CARD.home_paths[0])
    temporary = variables.get("TMPDIR") or "/tmp"  # as Codex itself looks for it
    if not f"{os.path.realpath(home)}/".startswith(f"{os.path.realpath(temporary)}/"):
        return ()
    return (_HOME_BELOW_TEMPORARY.format(home=home, temporary=temporary),)


def _is_without_sandbox(options: AgentOptions) -> bool:
    words = (*options.command[1:], *options.flags)
    return any(name in word for name in _NO_SANDBOX_WORDS for word in words)


def _is_old(printed: str) -> bool:
    version = _VERSION_PATTERN.search(printed)
    return version is not None and (int(version[1]), int(version[2])) < FIRST_VERSION_WITHOUT_FULL_AUTO


def configure_endpoint(url: str, home: str) -> EndpointConfig:
    """A provider of its own in its config; without plugins and analytics it asks no one else."""
    config = f"""\
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false

[analytics]
enabled = false

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
"""
    return EndpointConfig(
        {"CODEX_HOME": f"{home}/.codex", "SCRIPTED_KEY": "scripted"}, files={".codex/config.toml": config}
    )
