"""What every agent adapter guarantees. A new file in ralph/agents is found and held to it."""

import importlib
import json
import pkgutil
import random
import tracemalloc
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ralph.agents
from ralph.model.command import ANSWER_FILE, PROMPT_FILE
from ralph.model.errors import ConfigError
from ralph.model.events import AgentEvent
from ralph.model.ports import Agent, AgentOptions, OutputMode, ParsedRun

NAMES = [m.name for m in pkgutil.iter_modules(ralph.agents.__path__) if not m.name.startswith("_")]
MODES: list[OutputMode] = ["stream", "text"]
AWKWARD = "Fix it.\n\n\"quoted\" 'single' $(rm -rf ~) `tick` \\ \t emoji 🎉\nlast line\n"
TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
ARGUMENT_LIMIT = 128 * 1024

each_agent = pytest.mark.parametrize("name", NAMES)
each_mode = pytest.mark.parametrize("mode", MODES)


def built(name: str, *flags: str) -> Agent:
    agent: Agent = importlib.import_module(f"ralph.agents.{name}").build(AgentOptions(command=(name,), flags=flags))
    return agent


def test_the_agents_of_the_house_are_all_here() -> None:
    assert set(NAMES) >= {"claude", "codex", "amp", "gemini", "opencode", "qwen", "copilot", "command", "scripted"}


@each_agent
def test_says_whether_a_budget_can_be_kept(name: str) -> None:
    assert isinstance(built(name).reports_cost, bool)


@each_agent
@each_mode
def test_a_huge_prompt_is_never_an_argument(name: str, mode: OutputMode) -> None:
    prompt = "long " * 60_000
    call = built(name).invocation(prompt, mode, None)
    assert all(len(word.encode()) < ARGUMENT_LIMIT for word in call.argv)
    assert call.stdin == prompt or PROMPT_FILE in call.argv


@each_agent
@each_mode
@pytest.mark.parametrize("prompt", [AWKWARD, "-x --help", "- [ ] a list", "with\0nul", f"see {PROMPT_FILE}", "", " "])
def test_a_prompt_arrives_as_it_is(name: str, mode: OutputMode, prompt: str) -> None:
    call = built(name).invocation(prompt, mode, None)
    assert call.stdin == prompt or PROMPT_FILE in call.argv or (call.argv[-1] == prompt and call.stdin == "")


@each_agent
@each_mode
@pytest.mark.parametrize("prompt", ["-x --lone", "with\0nul", f"see {PROMPT_FILE}", f"see {ANSWER_FILE}"])
def test_what_an_argument_cannot_carry_is_no_argument(name: str, mode: OutputMode, prompt: str) -> None:
    assert prompt not in built(name).invocation(prompt, mode, None).argv


@each_agent
@each_mode
def test_users_flags_are_passed_on(name: str, mode: OutputMode) -> None:
    argv = built(name, "--model", "opus").invocation("p", mode, None).argv
    assert argv[argv.index("--model") + 1] == "opus"


@each_agent
@each_mode
def test_every_flag_stands_once(name: str, mode: OutputMode) -> None:
    plain = built(name).invocation("p", mode, None).argv
    flags = [word for word in plain if word.startswith("--") and word not in ("--text", "--full-auto")]
    again = built(name, *flags).invocation("p", mode, None).argv
    assert all(again.count(flag) == 1 for flag in flags)


@each_agent
@each_mode
def test_parsers_are_fresh(name: str, mode: OutputMode) -> None:
    agent = built(name)
    assert agent.parser(mode) is not agent.parser(mode)


@each_agent
@each_mode
def test_silence_is_no_success(name: str, mode: OutputMode) -> None:
    heard = built(name).parser(mode).summarize_run()
    assert heard.closing in ("none", "unknown")
    assert heard.text == ""


@each_agent
@each_mode
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.binary(max_size=300), max_size=5))
def test_any_bytes_give_events(name: str, mode: OutputMode, blocks: list[bytes]) -> None:
    total(name, mode, blocks)


# Close to what is printed, so that the typed decoders are reached and not just the syntax.
WORDS = st.sampled_from(
    "type subtype message content text thinking tool_use tool_result tool_use_id id name input is_error error "
    "errors result system assistant user success parent_tool_use_id usage input_tokens total_cost_usd "
    "permission_denials item item.started item.completed agent_message command_execution exit_code aggregated_output "
    "turn.completed turn.failed part state status metadata step_finish reason stop tool_id tool_name parameters stats "
    "init delta role TodoWrite TaskUpdate todos taskId Bash command init api_retry attempt rate_limit_event "
    "rate_limit_info".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)
LINES = st.dictionaries(WORDS, VALUES, max_size=6)


@each_agent
@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINES, max_size=4), broken=st.booleans())
def test_any_json_gives_events(name: str, lines: list[dict[str, object]], broken: bool) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    total(name, "stream", [text.encode(), b"{not json\n" if broken else b""])


@each_agent
def test_a_recorded_line_with_any_value_changed_gives_events(name: str) -> None:
    chance = random.Random(name)
    odd: list[object] = [None, True, -1, 1e300, "", "x", [], [None], {}, {"type": "text"}, [[]], "success"]
    for line in recorded(name):
        for _ in range(5):
            total(name, "stream", [json.dumps(changed(json.loads(line), chance, odd)).encode()])


def recorded(name: str) -> list[str]:
    """Lines of every kind this agent was ever heard to print; Claude's where nothing was recorded."""
    files = [*TRANSCRIPTS.glob(f"{name}_*.ndjson")] or [*TRANSCRIPTS.glob("claude_*.ndjson")]
    return list({line[:45]: line for file in files for line in file.read_text().splitlines()}.values())


def changed(value: Any, chance: random.Random, odd: list[object]) -> object:
    """A copy with one value, anywhere, replaced by an odd one."""
    inner = [*value] if isinstance(value, dict) else [*range(len(value))] if isinstance(value, list) else []
    if not inner or chance.random() < 0.1:
        return chance.choice(odd)
    key, copy = chance.choice(inner), value.copy()
    copy[key] = changed(copy[key], chance, odd)
    return copy


def total(name: str, mode: OutputMode, blocks: list[bytes]) -> None:
    parser = built(name).parser(mode)
    for block in blocks:
        assert all(isinstance(event, get_args(AgentEvent)) for event in parser.feed(bytearray(block)))
    assert isinstance(heard := parser.summarize_run(), ParsedRun)
    assert parser.summarize_run() == heard


def test_a_prompt_that_cannot_take_its_place_is_told() -> None:
    agent = built("command", "--say", "{prompt}")
    with pytest.raises(ConfigError, match="longer than 100,000 bytes") as error:
        agent.invocation("long " * 60_000, "text", None)
    assert "{prompt_file}" in error.value.hint
    assert "stdin" in error.value.hint


# -- memory: whatever an agent prints, for however long ----------------------------------------------
ENDLESS: dict[str, dict[str, Any]] = {
    "calls nobody answers": {
        "claude": {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "#", "name": "Bash"}]}},
        "codex": {"type": "item.started", "item": {"type": "command_execution", "id": "#", "command": "ls"}},
        "gemini": {"type": "tool_use", "tool_id": "#", "tool_name": "run_shell_command"},
        "opencode": {"type": "tool_use", "part": {"callID": "#", "tool": "bash", "state": {"status": "running"}}},
        "copilot": {"type": "tool.execution_start", "data": {"toolCallId": "#", "toolName": "bash"}},
    },
    "calls that fail": {
        "claude": {
            "type": "user",
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "#", "is_error": True, "content": "no" * 99}]
            },
        },
        "codex": {"type": "item.completed", "item": {"type": "file_change", "id": "#", "status": "declined"}},
        "gemini": {"type": "tool_result", "tool_id": "#", "status": "error", "output": "no" * 99},
        "opencode": {"type": "tool_use", "part": {"callID": "#", "tool": "x", "state": {"status": "error"}}},
        "copilot": {"type": "tool.execution_complete", "data": {"toolCallId": "#", "success": False}},
    },
    "commands that are refused": {
        "codex": {
            "type": "item.completed",
            "item": {"type": "command_execution", "id": "#", "status": "declined", "command": "x" * 99 + "#"},
        },
        "opencode": {
            "type": "tool_use",
            "part": {
                "callID": "#",
                "tool": "bash",
                "state": {
                    "status": "error",
                    "error": "The user rejected permission",
                    "input": {"command": "x" * 99 + "#"},
                },
            },
        },
    },
    "plans": {
        "claude": {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": "#", "name": "TaskCreate", "input": {"subject": "a #"}}]
            },
        },
        "gemini": {"type": "tool_use", "tool_id": "#", "tool_name": "write_todos", "parameters": {"todos": []}},
    },
    "words": {
        "claude": {"type": "assistant", "message": {"content": [{"type": "text", "text": "word #"}]}},
        "codex": {"type": "item.completed", "item": {"type": "agent_message", "id": "#", "text": "word #"}},
        "gemini": {"type": "message", "role": "assistant", "content": "word # " * 10, "delta": True},
        "opencode": {"type": "text", "part": {"text": "word #"}},
        "copilot": {"type": "assistant.message", "data": {"content": "word #"}},
        "command": {"word": "#"},
    },
}


@pytest.mark.parametrize(("name", "what"), [(name, what) for what, of in ENDLESS.items() for name in of])
def test_memory_stays_flat_however_long_it_goes_on(name: str, what: str) -> None:
    template = json.dumps(ENDLESS[what][name])
    parser = built(name).parser("stream")

    def fed(first: int, last: int) -> int:
        for start in range(first, last, 500):
            parser.feed("".join(template.replace("#", f"{n:032}") + "\n" for n in range(start, start + 500)).encode())
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        early = fed(0, 8_000)
        late = fed(8_000, 24_000)
    finally:
        tracemalloc.stop()
    assert late - early < 1_000_000
