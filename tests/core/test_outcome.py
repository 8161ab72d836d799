"""What an agent run was, by everything that was ever recorded and by what may yet come."""

import importlib
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.outcome import MAX_FINAL_TEXT_BYTES, classify_run
from ralph.model.command import CommandEnding, CommandExit
from ralph.model.events import Usage
from ralph.model.loop import RunOutcome
from ralph.model.ports import AgentOptions, ParsedRun

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
NOON = 1_794_916_800.0  # Tuesday, 2026-11-17 12:00 UTC
DONE = "All done. <promise>COMPLETE</promise>"
GOOD = "All good.\n\n<response>DONE</response>"
SERVER = "This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference"

# file, exit code → outcome, cost, tokens in/out, tools, tool errors, final text (or how it begins)
ROWS: list[tuple[str, int, RunOutcome, float | None, tuple[int, int], int, int, str]] = [
    ("claude_badplug", 0, "finished", 0.001, (100, 20), 0, 0, "x"),
    ("claude_bare", 0, "finished", 0.002, (200, 40), 1, 0, "x"),
    ("claude_budget", 1, "cut_short", 1.001, (100000, 20), 2, 0, ""),
    ("claude_conn_reset_retry", 143, "offline", None, (0, 0), 0, 0, ""),
    ("claude_err_400_credit", 1, "unusable", 0.0, (0, 0), 0, 0, "Credit balance is too low"),
    ("claude_err_400_toolong", 1, "unusable", 0.0, (0, 0), 0, 0, "Prompt is too long"),
    ("claude_err_401", 1, "unusable", 0.0, (0, 0), 0, 0, "Invalid API key"),
    ("claude_err_429", 1, "limited", 0.0, (0, 0), 0, 0, "API Error: Request rejected (429)"),
    ("claude_err_429_usage", 1, "limited", 0.0, (0, 0), 0, 0, "API Error: Request rejected (429)"),
    ("claude_err_500", 1, "overloaded", 0.0, (0, 0), 0, 0, f"API Error: 500 Internal server error. {SERVER}"),
    ("claude_err_529", 1, "overloaded", 0.0, (0, 0), 0, 0, f"API Error: 529 Overloaded. {SERVER}"),
    ("claude_err_529_default", 1, "overloaded", 0.0, (0, 0), 0, 0, f"API Error: 529 Overloaded. {SERVER}"),
    ("claude_err_empty", 0, "finished", 0.002, (200, 40), 0, 0, "after empty"),
    ("claude_err_empty_forever", 0, "empty", 0.002, (200, 40), 0, 0, ""),
    ("claude_err_stream_overloaded", 1, "overloaded", 0.0, (0, 0), 0, 0, "API Error: Overloaded"),
    ("claude_err_usage_limit_text", 0, "limited", 0.001, (100, 20), 0, 0, "Claude AI usage limit reached|1763230000"),
    ("claude_json", 0, "finished", 0.003, (300, 60), 0, 0, DONE),
    ("claude_maxturns", 1, "cut_short", 0.002, (200, 40), 2, 0, ""),
    ("claude_newest_err_401", 1, "unusable", 0.0, (0, 0), 0, 0, "Invalid API key · Fix external AP"),
    ("claude_newest_json", 0, "finished", 0.0024, (300, 60), 2, 1, GOOD),
    ("claude_newest_refused", 0, "refused", 0.0024, (300, 60), 2, 1, GOOD),
    ("claude_nokey", 1, "unusable", 0.0, (0, 0), 0, 0, "Not logged in"),
    ("claude_partial", 0, "finished", 0.003, (300, 60), 2, 0, DONE),
    ("claude_plugin", 0, "finished", 0.007, (700, 140), 5, 2, DONE),
    ("claude_plugin_nohookev", 0, "finished", 0.007, (700, 140), 5, 3, DONE),
    ("claude_sig_SIGINT_group", 1, "crashed", 0.001, (100, 20), 1, 1, ""),
    ("claude_sig_SIGINT_waiting", 0, "crashed", None, (0, 0), 0, 0, ""),
    ("claude_sig_SIGTERM_group", 143, "crashed", None, (100, 1), 1, 0, ""),
    ("claude_sig_background", 143, "crashed", None, (100, 1), 1, 0, ""),
    ("claude_stdin", 0, "finished", 0.001, (100, 20), 0, 0, "x"),
    ("claude_stop_always", 0, "empty", 0.009, (900, 180), 0, 0, ""),
    ("claude_stop_cap3", 0, "empty", 0.004, (400, 80), 0, 0, ""),
    ("claude_stop_tools", 0, "empty", 0.029, (2900, 580), 10, 0, ""),
    ("claude_stopfail", 1, "overloaded", 0.0, (0, 0), 0, 0, "API Error: 500 scripted."),
    ("claude_stream", 0, "finished", 0.003, (300, 60), 2, 0, DONE),
    ("codex_bare_ok", 0, "unusable", None, (400, 80), 0, 0, GOOD),
    ("codex_err_401", 1, "unusable", None, (0, 0), 0, 0, ""),
    ("codex_err_401_retries", 1, "unusable", None, (0, 0), 0, 0, ""),
    ("codex_err_429", 1, "limited", None, (0, 0), 0, 0, ""),
    ("codex_err_500", 1, "overloaded", None, (0, 0), 0, 0, ""),
    ("codex_err_empty", 0, "empty", None, (100, 20), 0, 0, ""),
    ("codex_hooks", 0, "finished", None, (500, 100), 2, 1, DONE),
    ("codex_hooks_untrusted", 0, "finished", None, (400, 80), 3, 1, "First stop"),
    ("codex_json", 0, "finished", None, (300, 60), 2, 1, DONE),
    ("codex_nonamespaces", 0, "unusable", None, (400, 80), 3, 3, GOOD),
    ("codex_sig_SIGTERM", 143, "crashed", None, (0, 0), 1, 0, ""),
    ("codex_stdin", 0, "finished", None, (300, 60), 2, 1, DONE),
    ("codex_stdin_arg", 0, "finished", None, (300, 60), 2, 1, DONE),
    ("copilot_err_400", 1, "unusable", None, (0, 0), 0, 0, ""),
    ("copilot_err_401", 1, "unusable", None, (0, 0), 0, 0, ""),
    ("copilot_err_403", 1, "unusable", None, (0, 0), 0, 0, ""),
    ("copilot_err_429", 1, "limited", None, (0, 0), 0, 0, ""),
    ("copilot_err_500", 1, "overloaded", None, (0, 0), 0, 0, ""),
    ("copilot_err_529", 1, "overloaded", None, (0, 0), 0, 0, ""),
    ("copilot_err_empty", 1, "empty", None, (0, 0), 0, 0, ""),
    ("copilot_json", 0, "finished", None, (0, 0), 4, 1, GOOD),
    ("copilot_refused", 0, "refused", None, (0, 0), 2, 1, GOOD),
    ("copilot_sig_SIGTERM", -15, "crashed", None, (0, 0), 1, 0, ""),
    ("gemini_err_429", 1, "limited", None, (0, 0), 0, 0, ""),
    ("gemini_json", 0, "finished", None, (300, 60), 2, 0, DONE),
    ("gemini_refused", 0, "refused", None, (300, 60), 2, 1, GOOD),
    ("gemini_sig_SIGTERM", 143, "crashed", None, (0, 0), 1, 0, ""),
    ("opencode_err_400", 1, "crashed", None, (0, 0), 0, 0, ""),
    ("opencode_json", 0, "finished", 0.0, (300, 60), 2, 1, DONE),
    ("opencode_refused", 0, "refused", 0.6, (300, 60), 2, 1, GOOD),
    ("opencode_rejected", 0, "refused", 0.4, (200, 40), 2, 1, ""),
    ("opencode_sig_SIGTERM", 143, "crashed", None, (0, 0), 0, 0, "go"),
    ("qwen_err_400", 1, "unusable", None, (0, 0), 0, 0, "[API Error: 400 Your credit balan"),
    ("qwen_err_401", 1, "unusable", None, (0, 0), 0, 0, "[API Error: 401 invalid api key]"),
    ("qwen_err_403", 1, "unusable", None, (0, 0), 0, 0, "[API Error: 403 forbidden]"),
    ("qwen_err_404", 1, "unusable", None, (0, 0), 0, 0, "[API Error: 404 no such model]"),
    ("qwen_err_429", 1, "limited", None, (0, 0), 0, 0, "[API Error: 429 Rate limit reache"),
    ("qwen_err_500", 1, "overloaded", None, (0, 0), 0, 0, "[API Error: 500 Internal server e"),
    ("qwen_err_529", 1, "overloaded", None, (0, 0), 0, 0, "[API Error: 529 Overloaded]"),
    ("qwen_err_empty", 1, "empty", None, (500, 100), 0, 0, ""),
    ("qwen_json", 0, "finished", None, (7800, 300), 5, 1, GOOD),
    ("qwen_nokey", 1, "unusable", None, (0, 0), 0, 0, ""),
    ("qwen_refused", 0, "refused", None, (300, 60), 2, 1, GOOD),
    ("qwen_sig_SIGTERM", -15, "crashed", None, (100, 20), 1, 0, ""),
]


def heard_in(name: str) -> ParsedRun:
    agent = name.partition("_")[0]
    parser = importlib.import_module(f"ralph.agents.{agent}").build(AgentOptions(command=(agent,))).parser("stream")
    parser.feed((TRANSCRIPTS / f"{name}.ndjson").read_bytes())
    heard: ParsedRun = parser.summarize_run()
    return heard


def stderr_of(name: str) -> str:
    path = TRANSCRIPTS / f"{name}.stderr"
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("name", "code", "outcome", "cost", "tokens", "tools", "errors", "text"), ROWS, ids=[row[0] for row in ROWS]
)
def test_every_recorded_run(
    name: str,
    code: int,
    outcome: RunOutcome,
    cost: float | None,
    tokens: tuple[int, int],
    tools: int,
    errors: int,
    text: str,
) -> None:
    reported = classify_run(heard_in(name), CommandExit(code=code, seconds=1.5), stderr_of(name))
    assert reported.outcome == outcome, reported.detail
    assert reported.cost_usd == (cost if cost is None else pytest.approx(cost))
    assert (reported.usage.input_tokens, reported.usage.output_tokens) == tokens
    assert (reported.tools, reported.errors) == (tools, errors)
    assert reported.text == text or (text and len(text) < len(reported.text) and reported.text.startswith(text))
    assert (reported.seconds, reported.exit_code) == (1.5, code)


def test_every_recorded_stream_has_its_row() -> None:
    assert sorted(row[0] for row in ROWS) == sorted(path.stem for path in TRANSCRIPTS.glob("*.ndjson"))


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("Selected model is at capacity. Please try a different model.", "overloaded"),  # Codex 0.166.0
        ("[API Error: terminated]", "offline"),  # Gemini 0.61.0, its stream was cut
        ("Connection reset by server", "offline"),  # opencode 1.18.33, the same
    ],
)
def test_words_the_real_clis_were_heard_to_say(words: str, outcome: RunOutcome) -> None:  # issue 4
    assert (
        classify_run(ParsedRun(closing="error", error=words), CommandExit(code=1, seconds=1.0), "").outcome == outcome
    )


# -- what it may not, cannot, or need not try again --------------------------------------------------
def test_refused_commands_are_reported() -> None:  # issue 12
    heard = ParsedRun(closing="success", text="done", denials=("Bash",), refused_commands=("npm test",))
    assert classify_run(heard, CommandExit(code=0, seconds=1.0), "").refused_commands == ("npm test",)


def test_an_agent_that_can_do_nothing_here_is_unusable_whatever_it_claims() -> None:  # issue 12
    heard = ParsedRun(closing="success", text="done", broken="It cannot start a command.")
    reported = classify_run(heard, CommandExit(code=0, seconds=1.0), "")
    assert (reported.outcome, reported.detail, reported.lasting) == ("unusable", "It cannot start a command.", True)


@pytest.mark.parametrize(("status", "outcome"), [(401, "unusable"), (403, "unusable"), (None, "cut_short")])
def test_who_was_stopped_for_its_key_has_spent_no_budget(status: int | None, outcome: RunOutcome) -> None:  # issue 12
    heard = ParsedRun(closing="none", error="API retry 2/10", status=status)
    exited = CommandExit(code=-15, seconds=1.0, ending="enough")
    assert classify_run(heard, exited, "").outcome == outcome


# -- runs that never came to a stream --------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("claude_root_refused", 1, "as root"),
        ("codex_fullauto", 2, "unexpected argument '--full-auto' found"),
        ("codex_nogit", 1, "Not inside a trusted directory"),
        ("copilot_noaccount", 1, "No authentication information found"),
        ("copilot_badtoken", 1, "Classic Personal Access Tokens (ghp_) are not supported"),
    ],
)
def test_a_program_that_refuses_to_start_is_unusable(name: str, code: int, says: str) -> None:
    reported = classify_run(ParsedRun(closing="none"), CommandExit(code=code, seconds=0.2), stderr_of(name))
    assert reported.outcome == "unusable"
    assert says in reported.detail


def test_a_program_that_is_not_there_is_unusable() -> None:
    exited = CommandExit(code=127, seconds=0.0, ending="not_started", error="No such file or directory: 'cloud'")
    reported = classify_run(ParsedRun(closing="none"), exited, "")
    assert reported.outcome == "unusable"
    assert "No such file or directory: 'cloud'. Check agent.command." in reported.detail


# -- plain text ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "code"), [("claude_text.txt", 0), ("codex_text.txt", 0)])
def test_plain_text_is_believed_with_exit_code_0(name: str, code: int) -> None:
    text = (TRANSCRIPTS / name).read_text()
    reported = classify_run(ParsedRun(closing="unknown", text=text), CommandExit(code=code, seconds=1.0), "")
    assert (reported.outcome, reported.text) == ("finished", text)


@pytest.mark.parametrize(
    ("text", "stderr", "outcome"),
    [
        ("Not logged in · Please run /login", "", "unusable"),
        ("", "API Error: 529 overloaded", "overloaded"),
        ("", "curl: (7) Connection refused", "offline"),
        ("", "Segmentation fault", "crashed"),
        ("I made the rate limit configurable. " * 50, "", "crashed"),
    ],
)
def test_plain_text_with_another_exit_code_is_not(text: str, stderr: str, outcome: str) -> None:
    assert (
        classify_run(ParsedRun(closing="unknown", text=text), CommandExit(code=1, seconds=1.0), stderr).outcome
        == outcome
    )


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_blank_text_is_empty(text: str) -> None:
    assert (
        classify_run(ParsedRun(closing="unknown", text=text), CommandExit(code=0, seconds=1.0), "").outcome == "empty"
    )
    assert (
        classify_run(ParsedRun(closing="success", text=text), CommandExit(code=0, seconds=1.0), "").outcome == "empty"
    )


# -- success ---------------------------------------------------------------------------------------
def test_exit_code_0_is_no_success() -> None:
    reported = classify_run(
        ParsedRun(closing="none", text="<response>DONE</response>"), CommandExit(code=0, seconds=1.0), ""
    )
    assert reported.outcome == "crashed"
    assert "exit code 0" in reported.detail


@pytest.mark.parametrize("ending", ["exited", "timed_out", "idle", "lingered", "enough"])
def test_a_success_holds_though_something_it_left_had_to_be_ended(ending: CommandEnding) -> None:
    assert (
        classify_run(
            ParsedRun(closing="success", text="done"), CommandExit(code=-15, seconds=1.0, ending=ending), ""
        ).outcome
        == "finished"
    )


@pytest.mark.parametrize("ending", ["timed_out", "idle", "lingered", "enough"])
def test_who_was_ended_by_us_after_a_success_did_not_choose_its_exit_code(ending: CommandEnding) -> None:
    assert (
        classify_run(
            ParsedRun(closing="success", text="done"), CommandExit(code=-15, seconds=1.0, ending=ending), ""
        ).exit_code
        == 0
    )
    assert (
        classify_run(
            ParsedRun(closing="error", error="it broke"), CommandExit(code=-15, seconds=1.0, ending=ending), ""
        ).exit_code
        == -15
    )
    assert classify_run(ParsedRun(closing="success", text="done"), CommandExit(code=3, seconds=1.0), "").exit_code == 3


def test_an_error_is_an_error_though_its_agent_had_to_be_ended() -> None:
    lingered = CommandExit(code=-15, seconds=600.0, ending="lingered")
    broken = classify_run(ParsedRun(closing="error", error="it broke"), lingered, "")
    assert (broken.outcome, broken.detail) == ("crashed", "The agent ended with an error: it broke.")
    assert classify_run(ParsedRun(closing="error", error="x", status=429), lingered, "").outcome == "limited"


@pytest.mark.parametrize(
    "text",
    [
        "I added rate limit handling: on 429 the client now waits. The usage limit is configurable.",
        "The error was `Claude AI usage limit reached|1763230000`, now handled.\n<response>DONE</response>",
        "Fixed: connection refused, ECONNRESET and overloaded are retried. Invalid API key is not.",
        "You've hit your limit handling tests: all pass.",
        "Weekly limit reached\nis the new message.",
        "Fixed the upload limit: resets when the window ends.",
    ],
)
def test_a_model_may_talk_about_limits(text: str) -> None:
    assert (
        classify_run(
            ParsedRun(closing="success", text=text), CommandExit(code=0, seconds=1.0), "429 rate limit"
        ).outcome
        == "finished"
    )


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("Claude AI usage limit reached|1763230000", 1763230000.0),
        (" Claude AI usage limit reached|1763230000000\n", 1763230000.0),
        ("Claude usage limit reached. Your limit will reset at 5pm (Europe/Warsaw).", NOON + 4 * 3600),
        ("You've hit your limit · resets 2am (Europe/Berlin)", NOON + 13 * 3600),
        ("You’ve hit your session limit · resets Nov 18, 11:30pm (Asia/Calcutta)", NOON + 30 * 3600),
        ("5-hour limit reached ∙ resets 3pm (UTC)", NOON + 3 * 3600),
        ("Weekly limit reached ∙ resets Monday 12pm (UTC)", NOON + 6 * 86_400),
        ("You're out of extra usage · resets 3pm (UTC)", NOON + 3 * 3600),
        ("Your organization's usage allocation has been disabled by your administrator.", None),
        ("limit, resets in 20 s", NOON + 20),
        ("Daily limit reached · resets 3pm (UTC)", NOON + 3 * 3600),
    ],
)
def test_a_limit_that_is_the_whole_answer_is_no_success(text: str, reset: float | None) -> None:
    reported = classify_run(ParsedRun(closing="success", text=text), CommandExit(code=0, seconds=1.0), "", NOON)
    assert (reported.outcome, reported.reset_at) == ("limited", reset)


def test_a_terse_limit_is_an_answer_of_an_agent_that_worked() -> None:
    heard = ParsedRun(closing="success", text="Limit, resets in 20 s", tools=3)
    assert classify_run(heard, CommandExit(code=0, seconds=1.0), "").outcome == "finished"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("API Error: 503", "overloaded"),
        ("API Error (503 upstream connect error)", "overloaded"),
        ("API Error: 403 forbidden", "unusable"),
        ('API Error: 404 {"error":{"message":"model: opus-9"}}', "unusable"),
        ("API Error: 413 request too large", "unusable"),
        ("API Error: 429 slow down", "limited"),
        ("API Error: 503 is what the server says now;\nfixed.", "finished"),
        ("API Error: 999 is handled, too.", "finished"),
    ],
)
def test_an_error_that_is_the_whole_answer_is_no_success(text: str, outcome: RunOutcome) -> None:
    heard = ParsedRun(closing="success", text=text)
    assert classify_run(heard, CommandExit(code=0, seconds=1.0), "").outcome == outcome
    assert classify_run(replace(heard, tools=3), CommandExit(code=0, seconds=1.0), "").outcome == "finished"


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("5-hour limit reached ∙ resets 3pm", "limited"),
        ("Weekly limit reached ∙ resets Mon 9am", "limited"),
        ("You're out of extra usage", "limited"),
        ("Your usage allocation has been disabled", "limited"),
        ("API Error: 503", "overloaded"),
        ("API Error (503 service)", "overloaded"),
        ("API Error: 403 ", "unusable"),
        ("API Error: 404 model", "unusable"),
        ("API Error: 413", "unusable"),
        ("Claude Code cannot be launched inside another Claude Code session.", "unusable"),
    ],
)
def test_trouble_in_an_error_spends_no_iteration(words: str, outcome: RunOutcome) -> None:
    for heard in (ParsedRun(closing="error", error=words), ParsedRun(closing="unknown", text=words)):
        assert classify_run(heard, CommandExit(code=1, seconds=1.0), "").outcome == outcome
    assert classify_run(ParsedRun(closing="none"), CommandExit(code=1, seconds=1.0), words).outcome == outcome


@pytest.mark.parametrize(
    ("words", "lasting"),
    [
        ("error: unexpected argument '--fast'", True),
        ("Not inside a trusted directory", True),
        ("prompt is too long", True),
        ("model_not_found", True),
        ("Invalid API key", False),
        ("Credit balance is too low", False),
    ],
)
def test_what_only_other_settings_mend_is_told_from_what_a_login_mends(words: str, lasting: bool) -> None:
    reported = classify_run(ParsedRun(closing="error", error=words), CommandExit(code=1, seconds=1.0), "")
    assert (reported.outcome, reported.lasting) == ("unusable", lasting)


@pytest.mark.parametrize(("error", "lasting"), [("No such file or directory", True), ("Cannot allocate memory", False)])
def test_a_program_that_will_never_start_is_told_from_one_that_may(error: str, lasting: bool) -> None:
    exited = CommandExit(code=127, seconds=0.0, ending="not_started", error=error)
    reported = classify_run(ParsedRun(closing="none"), exited, "")
    assert (reported.outcome, reported.lasting) == ("unusable", lasting)


def test_a_limits_hour_may_be_told_beside_the_answer() -> None:
    heard = ParsedRun(
        closing="success", text="You've hit your limit · resets 2am", error="rate limit rejected|1763230000"
    )
    reported = classify_run(heard, CommandExit(code=0, seconds=1.0), "")
    assert reported.reset_at == 1763230000.0
    assert "2025-11-15 18:06 UTC" in reported.detail
    assert "|" not in reported.detail


def test_refused_tools_are_named_with_what_to_do() -> None:
    reported = classify_run(
        ParsedRun(closing="success", text="done", denials=("Write", "Bash", "Write")),
        CommandExit(code=0, seconds=1.0),
        "",
    )
    assert reported.outcome == "refused"
    assert reported.refused_tools == ("Write", "Bash", "Write")
    assert "3 tool calls (Write, Bash)" in reported.detail
    assert "agent.permissions" in reported.detail
    assert (
        "1 tool call (Write)"
        in classify_run(
            ParsedRun(closing="success", text="x", denials=("Write",)), CommandExit(code=0, seconds=1.0), ""
        ).detail
    )


# -- trouble that is not the agent's ---------------------------------------------------------------
@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, "unusable"),
        (402, "unusable"),
        (403, "unusable"),
        (404, "unusable"),
        (413, "unusable"),
        (429, "limited"),
        (500, "overloaded"),
        (502, "overloaded"),
        (503, "overloaded"),
        (529, "overloaded"),
        (408, "offline"),
        (400, "crashed"),
        (None, "crashed"),
    ],
)
def test_a_status_decides(status: int | None, outcome: str) -> None:
    assert (
        classify_run(
            ParsedRun(closing="error", error="it broke", status=status), CommandExit(code=1, seconds=1.0), ""
        ).outcome
        == outcome
    )


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours.", "limited"),
        ("You've hit your usage limit. Send a request to your admin or try again at 12:16 PM.", "limited"),
        ('{"error":{"type":"usage_limit_reached","resets_at":1777936568}}', "limited"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "limited"),
        ("RESOURCE_EXHAUSTED", "limited"),
        ("limit, resets in 20 s", "limited"),
        ("You have exhausted your capacity on this model. Your quota will reset after 18h31m10s.", "limited"),
        ("Message limit, then the connection was reset by the peer", "offline"),
        ("We’re currently experiencing high demand", "overloaded"),
        ("API Error: Overloaded", "overloaded"),
        ("unexpected status 503 Service Unavailable", "overloaded"),
        ("Unable to connect to API (ECONNREFUSED)", "offline"),
        ("getaddrinfo ENOTFOUND api.anthropic.com", "offline"),
        ("API Error: Connection error.", "offline"),
        ("Request timed out.", "offline"),
        ("stream disconnected before completion: error sending request", "offline"),
        ("Invalid API key · Please run /login", "unusable"),
        ("OAuth token has expired", "unusable"),
        ("429 insufficient_quota", "unusable"),
        ("Credit balance is too low", "unusable"),
        ("error: unknown option '--modle'", "unusable"),
        ("context_length_exceeded", "unusable"),
        ("model: claude-x does not exist", "unusable"),
        ("it broke", "crashed"),
    ],
)
def test_words_decide(error: str, outcome: str) -> None:
    reported = classify_run(ParsedRun(closing="error", error=error), CommandExit(code=1, seconds=1.0), "")
    assert reported.outcome == outcome
    assert error.rstrip(".") in reported.detail


def test_the_hour_is_found_in_the_services_own_words() -> None:
    error = '{"error":{"type":"usage_limit_reached","resets_at":1777936568,"resets_in_seconds":13872}}'
    assert (
        classify_run(ParsedRun(closing="error", error=error), CommandExit(code=1, seconds=1.0), "").reset_at
        == 1777936568.0
    )


@pytest.mark.parametrize("ending", ["timed_out", "idle"])
def test_a_service_that_kept_it_waiting_explains_the_silence(ending: CommandEnding) -> None:
    exited = CommandExit(code=-15, seconds=600.0, ending=ending)
    assert (
        classify_run(ParsedRun(closing="none", error="API retry 3/10: 529", status=529), exited, "").outcome
        == "overloaded"
    )
    assert classify_run(heard_in("claude_conn_reset_retry"), exited, "").outcome == "offline"
    assert classify_run(heard_in("gemini_err_429"), exited, stderr_of("gemini_err_429")).outcome == "limited"


@pytest.mark.parametrize("ending", ["timed_out", "idle"])
def test_what_tools_complained_about_does_not(ending: CommandEnding) -> None:
    exited = CommandExit(code=-15, seconds=600.0, ending=ending)
    assert (
        classify_run(ParsedRun(closing="none", tools=3), exited, "connect: Connection refused\nrate limit").outcome
        == ending
    )


def test_an_agent_that_did_something_is_not_unusable() -> None:
    stderr = "mcp server: 401 Unauthorized, status 401"
    assert (
        classify_run(ParsedRun(closing="none", tools=3), CommandExit(code=-9, seconds=1.0), stderr).outcome == "crashed"
    )
    assert classify_run(ParsedRun(closing="none"), CommandExit(code=1, seconds=1.0), stderr).outcome == "unusable"


# -- trouble of its own ----------------------------------------------------------------------------
def test_its_own_limit_is_named() -> None:
    heard = ParsedRun(closing="error", error="Reached maximum number of turns (2)", cut_short=True)
    reported = classify_run(heard, CommandExit(code=1, seconds=1.0), "")
    assert reported.outcome == "cut_short"
    assert "Reached maximum number of turns (2)." in reported.detail


@pytest.mark.parametrize(
    ("ending", "key"), [("timed_out", "agent.timeoutSeconds"), ("idle", "agent.idleTimeoutSeconds")]
)
def test_a_timeout_names_its_setting(ending: CommandEnding, key: str) -> None:
    reported = classify_run(
        ParsedRun(closing="none", text="working"), CommandExit(code=-9, seconds=312.4, ending=ending), ""
    )
    assert reported.outcome == ending
    assert "312s" in reported.detail
    assert key in reported.detail


@pytest.mark.parametrize(
    ("code", "stderr", "says"),
    [
        (-9, "", "SIGKILL: somebody killed it, or the machine ran out of memory (exit code -9)"),
        (137, "", "ran out of memory (exit code 137)"),
        (143, "", "SIGTERM: somebody asked it to end (exit code 143)"),
        (-11, "", "SIGSEGV"),
        (3, "", "exit code 3 and no result."),
        (3, "first\nlast words\n\n", "exit code 3 and no result: last words."),
        (3, "real\nReading additional input from stdin...\n}\n", "no result: real."),
        (3, "\x1b[31mred\x1b[0m\x07", "no result: red."),
    ],
)
def test_a_crash_is_explained(code: int, stderr: str, says: str) -> None:
    reported = classify_run(ParsedRun(closing="none"), CommandExit(code=code, seconds=1.0), stderr)
    assert reported.outcome == "crashed"
    assert says in reported.detail


def test_a_run_that_was_stopped_is_no_success() -> None:
    reported = classify_run(
        ParsedRun(closing="none", text="half"), CommandExit(code=-15, seconds=1.0, ending="stopped"), "rate limit"
    )
    assert (reported.outcome, reported.detail) == ("crashed", "The agent was stopped before it had finished.")


# -- for every run ---------------------------------------------------------------------------------
heards = st.builds(
    ParsedRun,
    closing=st.sampled_from(["success", "error", "none", "unknown"]),
    text=st.text(max_size=40),
    error=st.text(max_size=40),
    status=st.none() | st.integers(0, 999),
    cut_short=st.booleans(),
    cost_usd=st.none() | st.floats(0, 10),
    usage=st.builds(Usage, input_tokens=st.integers(0, 9), output_tokens=st.integers(0, 9)),
    denials=st.lists(st.just("Bash"), max_size=2).map(tuple),
)
exits = st.builds(
    CommandExit,
    code=st.integers(-64, 255),
    seconds=st.floats(0, 1e6),
    ending=st.sampled_from(get_args(CommandEnding)),
    error=st.text(max_size=20),
)


@given(heards, exits, st.text(max_size=80))
def test_every_run_has_one_outcome_and_one_line_about_it(heard: ParsedRun, exited: CommandExit, stderr: str) -> None:
    reported = classify_run(heard, exited, stderr)
    assert reported.outcome in get_args(RunOutcome)
    assert reported.detail
    assert "\n" not in reported.detail
    assert (reported.cost_usd, reported.usage) == (heard.cost_usd, heard.usage)
    assert reported.exit_code == exited.code or (heard.closing == "success" and exited.ending != "exited")


@given(heards, exits, st.text(max_size=80))
def test_only_a_success_is_finished(heard: ParsedRun, exited: CommandExit, stderr: str) -> None:
    if classify_run(heard, exited, stderr).outcome in ("finished", "empty", "refused"):
        assert heard.closing == "success" or (heard.closing == "unknown" and exited.code == 0)


# -- bounds ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("filler", ["x", "é", "🎉"])
def test_a_long_text_keeps_head_and_tail(filler: str) -> None:
    text = f"<response>FIRST</response>\n{filler * 400_000}\n<response>LAST</response>"
    kept = classify_run(ParsedRun(closing="success", text=text), CommandExit(code=0, seconds=1.0), "").text
    assert len(kept.encode()) <= MAX_FINAL_TEXT_BYTES
    assert kept.startswith("<response>FIRST</response>\n")
    assert kept.endswith("\n<response>LAST</response>")
