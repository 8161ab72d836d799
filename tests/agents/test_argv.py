"""How each agent is called."""

import sys

import pytest
from msgspec.structs import replace

from ralph.agents import amp, claude, codex, command, gemini, opencode, scripted
from ralph.model.command import ANSWER_FILE, PROMPT_FILE, Invocation
from ralph.model.ports import AgentOptions, OutputMode


def options(line: str, *flags: str, version: str = "") -> AgentOptions:
    return AgentOptions(command=tuple(line.split()), flags=flags, version=version)


def argv(call: Invocation) -> str:
    return " ".join(call.argv)


# -- claude ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", "claude -p --model opus --output-format stream-json --verbose"),  # 001-12, 001-13, 001-26
        ("text", "claude -p --model opus --output-format text"),  # 001-14
    ],
)
def test_claude(mode: OutputMode, expected: str) -> None:
    call = claude.build(options("claude", "--model", "opus")).invocation("do it", mode, None)
    assert argv(call) == expected
    assert call.stdin == "do it"


def test_claude_keeps_the_words_of_its_command() -> None:
    call = claude.build(options("npx claude --debug")).invocation("p", "text", None)
    assert argv(call) == "npx claude --debug -p --output-format text"


def test_claude_gets_what_is_left_of_the_budget() -> None:
    call = claude.build(options("claude")).invocation("p", "stream", 1.25)
    assert call.argv[-2:] == ("--max-budget-usd", "1.25")


def test_claudes_own_budget_flag_is_left_alone() -> None:
    call = claude.build(options("claude", "--max-budget-usd=3")).invocation("p", "stream", 1.25)
    assert "--max-budget-usd" not in call.argv


def test_claude_has_a_model_for_when_its_own_is_overloaded() -> None:
    wanted = replace(options("claude"), fallback_model="haiku")
    assert "--fallback-model haiku" in argv(claude.build(wanted).invocation("p", "stream", None))
    own = replace(options("claude", "--fallback-model", "sonnet"), fallback_model="haiku")
    assert argv(claude.build(own).invocation("p", "stream", None)).count("--fallback-model") == 1
    judge = replace(wanted, judges=True)
    assert "--fallback-model" not in argv(claude.build(judge).invocation("p", "stream", None))


# -- codex -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["codex-cli 0.42.0", "0.125.9"])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", f"codex e --json --full-auto {PROMPT_FILE}"),  # 001-12, 001-13, 001-15
        ("text", f"codex e --full-auto -o {ANSWER_FILE} {PROMPT_FILE}"),  # 001-14
    ],
)
def test_an_old_codex_is_called_as_first_specified(version: str, mode: OutputMode, expected: str) -> None:
    call = codex.build(options("codex", version=version)).invocation("do it", mode, None)
    assert argv(call) == expected
    assert call.stdin == ""


def test_an_old_codex_gets_the_flags_before_the_file() -> None:
    call = codex.build(options("codex", "-m", "o3", version="0.42.0")).invocation("p", "stream", None)
    assert argv(call) == f"codex e --json --full-auto -m o3 {PROMPT_FILE}"


@pytest.mark.parametrize("version", ["codex-cli 0.166.0", "0.126.0", "1.0.0", "", "who knows"])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", "codex exec --json --skip-git-repo-check -s workspace-write -"),
        ("text", f"codex exec -o {ANSWER_FILE} --skip-git-repo-check -s workspace-write -"),
    ],
)
def test_a_new_codex_gets_the_prompt_on_stdin(version: str, mode: OutputMode, expected: str) -> None:
    call = codex.build(options("codex", version=version)).invocation("do it", mode, None)
    assert argv(call) == expected
    assert call.stdin == "do it"


@pytest.mark.parametrize(
    "flag",
    ["-s read-only", "--sandbox=danger-full-access", "--dangerously-bypass-approvals-and-sandbox", "-c sandbox_mode=x"],
)
def test_the_users_sandbox_for_codex_stands(flag: str) -> None:
    call = codex.build(options("codex", *flag.split())).invocation("p", "stream", None)
    assert "workspace-write" not in call.argv


def test_wiring_knows_that_codex_is_asked_for_its_version() -> None:
    assert codex.VERSION_ARGV == ("--version",)


# -- amp -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", "amp --mode smart --stream-json --dangerously-allow-all -x do it"),  # 001-12, 001-13, 001-15
        ("text", "amp --mode smart --dangerously-allow-all -x do it"),  # 001-14
    ],
)
def test_amp_has_the_prompt_last(mode: OutputMode, expected: str) -> None:
    call = amp.build(options("amp", "--mode", "smart")).invocation("do it", mode, None)
    assert argv(call) == expected
    assert call.argv[-1] == "do it"
    assert call.stdin == ""


def test_a_long_prompt_reaches_amp_on_stdin() -> None:
    call = amp.build(options("amp")).invocation("x" * 100_001, "stream", None)
    assert call.argv[-1] == "-x"
    assert len(call.stdin) == 100_001


# -- gemini, opencode ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("stream", "gemini -m pro --output-format stream-json --yolo --skip-trust -p do it"),
        ("text", "gemini -m pro --output-format text --yolo --skip-trust -p do it"),
    ],
)
def test_gemini(mode: OutputMode, expected: str) -> None:
    assert argv(gemini.build(options("gemini", "-m", "pro")).invocation("do it", mode, None)) == expected


def test_a_long_prompt_reaches_gemini_on_stdin() -> None:
    call = gemini.build(options("gemini")).invocation("x" * 100_001, "stream", None)
    assert "-p" not in call.argv
    assert len(call.stdin) == 100_001


@pytest.mark.parametrize("flag", ["-y", "--approval-mode=auto_edit"])
def test_the_users_approval_mode_for_gemini_stands(flag: str) -> None:
    assert "--yolo" not in gemini.build(options("gemini", flag)).invocation("p", "stream", None).argv


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("stream", "opencode run --format json --auto -m a/b"), ("text", "opencode run --auto -m a/b")],
)
def test_opencode_reads_the_prompt_on_stdin(mode: OutputMode, expected: str) -> None:
    call = opencode.build(options("opencode", "-m", "a/b")).invocation("do it", mode, None)
    assert argv(call) == expected
    assert call.stdin == "do it"


# -- any command -----------------------------------------------------------------------------------
def test_any_command_reads_the_prompt_on_stdin() -> None:
    call = command.build(options("llm chat", "--fast")).invocation("do it", "stream", None)
    assert (argv(call), call.stdin) == ("llm chat --fast", "do it")


def test_any_command_may_have_the_prompt_in_a_word() -> None:
    call = command.build(options("llm", "--ask={prompt}")).invocation('do "it"\nnow {prompt}', "stream", None)
    assert call.argv == ("llm", '--ask=do "it"\nnow {prompt}')
    assert call.stdin == ""


def test_any_command_may_have_the_prompt_in_a_file() -> None:
    call = command.build(options("aider --message-file {prompt_file}")).invocation("x" * 300_000, "text", None)
    assert call.argv == ("aider", "--message-file", PROMPT_FILE)
    assert call.stdin == ""


def test_the_scripted_agent_is_our_own_program() -> None:
    agent = scripted.build(options("scripted", "demo.yaml"))
    player = (sys.executable, "-m", "ralph.agents._player", "demo.yaml")
    assert agent.invocation("p", "stream", None) == Invocation(argv=player, stdin="p")
    assert agent.invocation("p", "text", None) == Invocation(argv=(*player, "--text"), stdin="p")


# -- budget ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (claude, True),
        (opencode, True),
        (scripted, True),
        (codex, False),
        (amp, False),
        (gemini, False),
        (command, False),
    ],
)
def test_who_tells_what_it_costs(module: object, expected: bool) -> None:
    assert module.build(options("x")).reports_cost is expected  # type: ignore[attr-defined]  # each has it: the contract
