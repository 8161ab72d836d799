"""What an agent run was. Exit code 0 is no success; a terminal success event without an error is."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.answer import shorten_answer, unwrap_claim
from ralph.core.refusal import describe_refusal
from ralph.model.command import CommandExit
from ralph.model.loop import Reported, RunOutcome
from ralph.model.ports import ParsedRun

MAX_FINAL_TEXT_BYTES = 256 << 10  # bytes of the final text that are kept
MAX_STDERR_CHARS = 4_000  # characters of stderr that may tell why
MAX_ERROR_ANSWER_CHARS = 500  # plain output longer than this is an answer, not an error message
MAX_DETAIL_CHARS = 300


class Classification(Struct, frozen=True, kw_only=True):
    """An outcome, its one-sentence explanation, and whether and when trying again can help."""

    outcome: RunOutcome
    detail: str
    lasting: bool = False
    evidence: str = ""  # the words it was recognised by


class TroubleSign(Struct, frozen=True, kw_only=True):
    """A pattern by which trouble that is not the agent's is recognised: HTTP status or words."""

    outcome: RunOutcome
    statuses: tuple[int, ...]
    words: str  # a pattern; compiled only when something went wrong, which is most of this module's cost
    sentence: str  # {} is where the agent's own words go
    lasting: bool = False  # only other settings or another prompt can mend it


REJECTED_STATUSES = (401, 403)  # a key that is not accepted, which no second try makes better
ACCOUNT_LIMIT_SIGN = TroubleSign(
    outcome="limited",
    statuses=(429,),
    words=r"usage[ _]limit|rate[ _-]?limit|hit your .{0,20}limit|too many requests|quota (exceeded|exhausted)"
    r"|exceeded your current quota|resource_exhausted|(5-hour|weekly|session|opus) limit reached|out of extra usage"
    r"|usage allocation has been disabled|exhausted your capacity"
    r"|\b(limit|quota)\b[^\n]{0,40}\b(resets|reset (at|in|on|after))\b",
    sentence="The account's limit is reached: {}",
)
# The first that fits decides, so the special stand before the general.
TROUBLE_SIGNS = (
    TroubleSign(
        outcome="unusable",
        statuses=(402,),
        words=r"credit balance is too low|insufficient_quota|insufficient (credits?|balance)|billing_error"
        r"|payment required",
        sentence="The account has no credit: {} Add credit, then start again.",
    ),
    TroubleSign(
        outcome="unusable",
        statuses=REJECTED_STATUSES,
        words=r"invalid (x-)?api[ _-]?key|not logged in|please run /login|authentication[_ ](failed|error)|unauthorized"
        r"|api[ _]key (is )?(not (found|set)|missing)|OAuth token (has )?(expired|revoked)|set an auth method"
        r"|no auth type is selected|no authentication information found|personal access tokens .{0,20}not supported",
        sentence="The agent is not logged in or its key is not accepted: {} Log in with the agent's own CLI, or"
        " check its key.",
    ),
    TroubleSign(
        outcome="unusable",
        statuses=(),
        words=r"cannot be used with root",
        sentence="The agent refuses to run as root: {} Use another user, or set IS_SANDBOX=1 where that is true.",
    ),
    TroubleSign(
        outcome="unusable",
        statuses=(),
        words=r"unexpected argument|unknown (option|argument|flag|command)|unrecognized (option|argument)"
        r"|invalid option",
        sentence="The agent does not know one of its flags: {} Check agent.flags.",
        lasting=True,
    ),
    TroubleSign(
        outcome="unusable",
        statuses=(),
        words=r"cannot be launched inside another Claude Code session",
        sentence="The agent refuses to run inside another Claude Code: {} Start ralph from another terminal.",
    ),
    TroubleSign(
        outcome="unusable",
        statuses=(),
        words=r"not inside a trusted directory",
        sentence="The agent does not trust this folder: {} Run ralph in a git repository, or allow it in agent.flags.",
        lasting=True,
    ),
    TroubleSign(
        outcome="unusable",
        statuses=(413,),
        words=r"prompt is too long|context[_ ]length[_ ]exceeded|maximum context length|input is too long",
        sentence="The prompt is too long for the model: {} Shorten it, or lower outputTruncateChars.",
        lasting=True,
    ),
    TroubleSign(
        outcome="unusable",
        statuses=(404,),
        words=r"model_not_found|no such model|\bmodel\b.{0,60}(does not exist|may not exist)",
        sentence="The model or its address is unknown: {} Check the model in agent.flags.",
        lasting=True,
    ),
    ACCOUNT_LIMIT_SIGN,
    TroubleSign(
        outcome="overloaded",
        statuses=(500, 502, 503, 504, 520, 522, 529),
        words=r"overloaded|high demand|at capacity|internal server error|service (is )?(temporarily"
        r" )?unavailable|bad gateway"
        r"|gateway time-?out",
        sentence="The model's service is in trouble: {}",
    ),
    TroubleSign(
        outcome="offline",
        statuses=(408,),
        words=r"no connection|connection (was )?(refused|reset|error|closed|lost|aborted)|connect(ion)? ?timed? ?out"
        r"|request timed out|ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH"
        r"|getaddrinfo|name resolution|network is unreachable|fetch failed|error sending request"
        r"|stream disconnected|API Error: terminated",
        sentence="The model's service cannot be reached: {}",
    ),
)
# What passes by waiting. An agent that already did something is not unusable, whatever stands on its stderr.
TRANSIENT_SIGNS = tuple(sign for sign in TROUBLE_SIGNS if sign.outcome != "unusable")
# A limit told as the answer itself. Only the whole text counts: a model may well talk about limits.
LIMIT_ANSWER_PATTERN = (
    r"Claude( AI)? usage limit reached(\|\d+|\. Your limit will reset at [^\n]{1,60})?"
    r"|You['’]ve hit your ([\w-]+ ){0,2}limit( · resets [^\n]{1,60})?"
    r"|(5-hour|Weekly|Session|Opus( weekly)?) limit reached( [·∙] resets [^\n]{1,60})?"
    r"|You['’]re out of extra usage( [·∙] resets [^\n]{1,60})?"
    r"|Your ([\w'’]+ ){0,3}usage allocation has been disabled[^\n]{0,120}"
)
# In nobody's known words; it counts only of an agent that did nothing.
TERSE_LIMIT_PATTERN = r"([\w'’-]+ ){0,4}limit( reached)? ?[·∙,;:.|-] ?resets (in |at )?\d[^\n]{0,60}"
ERROR_ANSWER_PATTERN = r"API Error:? ?\(?\d{3}\b[^\n]*"  # an error told as the answer, likewise
HTTP_STATUS_PATTERN = r"\b(?:status(?: code)?:?|API Error:?) \(?(\d{3})\b"
CONTROL_CHARS_PATTERN = r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]|\|\d{10,13}$"
STDERR_NOISE_PATTERN = r"Reading (additional input|prompt) from stdin|^[\s{}\[\]()]*$|For more information, try"
SIGNAL_MEANINGS = {
    1: "SIGHUP: its terminal was closed",
    2: "SIGINT: it was interrupted",
    6: "SIGABRT: it gave up on an error inside it",
    9: "SIGKILL: somebody killed it, or the machine ran out of memory",
    11: "SIGSEGV: it crashed",
    13: "SIGPIPE: nobody read its output",
    15: "SIGTERM: somebody asked it to end",
}
NEVER_STARTS_PATTERN = (
    "No such file|Exec format|Argument list"  # what the system says of a command that will never start
)
SHELL_SIGNAL_OFFSET = 128  # a shell, and Node, tell a signal as this and its number


def classify_run(
    parsed: ParsedRun, exited: CommandExit, stderr: str, now: float = 0.0, *, allowed: Sequence[str] = ()
) -> Reported:
    """Turns parser result, exit and stderr into one outcome, before any policy sees the run. `now`, the unix time when
    it ended, is what "in 3 hours" and "at 5pm" count from; `allowed` are the commands it may run."""
    verdict = _classify(parsed, exited, stderr)
    if verdict.outcome == "refused":
        verdict = replace(verdict, detail=_describe_denials(parsed, allowed))
    until = _find_limit_end(verdict, now)
    return Reported(
        outcome=verdict.outcome,
        text=shorten_answer(unwrap_claim(parsed.text), MAX_FINAL_TEXT_BYTES),
        detail=verdict.detail if until is None else f"{verdict.detail} {_describe_end(until)}",
        cost_usd=parsed.cost_usd,
        usage=parsed.usage,
        seconds=exited.seconds,
        exit_code=_effective_exit_code(parsed, exited),
        reset_at=until,
        tools=parsed.tools,
        errors=parsed.errors,
        unparsed=parsed.unparsed,
        lasting=verdict.lasting,
        refused_tools=parsed.denials if verdict.outcome == "refused" else (),
        refused_commands=parsed.refused_commands,
        permitted_commands=tuple(allowed) if verdict.outcome == "refused" else (),
    )


def _classify(parsed: ParsedRun, exited: CommandExit, stderr: str) -> Classification:
    if exited.ending == "not_started":
        detail = f"The agent could not be started: {_as_sentence(exited.error)} Check agent.command."
        return Classification(
            outcome="unusable", detail=detail, lasting=bool(re.search(NEVER_STARTS_PATTERN, exited.error))
        )
    if parsed.broken:
        return Classification(outcome="unusable", detail=parsed.broken, lasting=True)
    if _is_success(parsed, exited):
        return _classify_success(parsed)
    if exited.ending == "stopped":
        return Classification(outcome="crashed", detail="The agent was stopped before it had finished.")
    if exited.ending == "enough" and parsed.status not in REJECTED_STATUSES:
        return Classification(
            outcome="cut_short", detail="The agent was stopped: it had spent what was left of the budget."
        )
    if parsed.cut_short:
        return Classification(
            outcome="cut_short", detail=f"The agent stopped at its own limit: {_as_sentence(parsed.error)}"
        )
    return _find_trouble(parsed, exited, stderr) or _classify_unfinished(parsed, exited, stderr)


def _is_success(parsed: ParsedRun, exited: CommandExit) -> bool:
    """A success event holds even if what the agent left running had to be ended after it."""
    if parsed.closing == "unknown":
        return exited.ending == "exited" and exited.code == 0
    return parsed.closing == "success"


def _effective_exit_code(parsed: ParsedRun, exited: CommandExit) -> int:
    """The exit code to report: 0 where ralph itself ended an agent that had already succeeded."""
    ours = exited.ending not in ("exited", "not_started")
    return 0 if ours and parsed.closing == "success" else exited.code


def _classify_success(parsed: ParsedRun) -> Classification:
    text = parsed.text.strip()
    if parsed.denials:
        return Classification(outcome="refused", detail=_describe_denials(parsed))
    told = LIMIT_ANSWER_PATTERN if parsed.tools else f"{LIMIT_ANSWER_PATTERN}|{TERSE_LIMIT_PATTERN}"
    if len(text) <= MAX_DETAIL_CHARS and re.fullmatch(told, text, re.IGNORECASE):
        return _classify_by_sign(ACCOUNT_LIMIT_SIGN, text, f"{text}\n{parsed.error}")
    if not parsed.tools and re.fullmatch(ERROR_ANSWER_PATTERN, text) and (found := _search_signs(text, TROUBLE_SIGNS)):
        return found
    if not text:
        return Classification(outcome="empty", detail="The agent ended without an answer.")
    return Classification(outcome="finished", detail="The agent finished.")


def _describe_denials(parsed: ParsedRun, allowed: Sequence[str] = ()) -> str:
    return describe_refusal(parsed.denials, parsed.refused_commands, allowed=allowed, guard_words=parsed.guard_words)


def _find_trouble(parsed: ParsedRun, exited: CommandExit, stderr: str) -> Classification | None:
    """The first sign in the agent's own words, then in what it printed besides."""
    for words, signs in _evidence_sources(parsed, exited, stderr):
        if found := _search_signs(words, signs, parsed.status):
            return found
    return None


def _search_signs(words: str, signs: tuple[TroubleSign, ...], status: int | None = None) -> Classification | None:
    named = re.search(HTTP_STATUS_PATTERN, words, re.IGNORECASE)
    status = status or (int(named[1]) if named else None)
    for sign in signs:
        found = re.search(sign.words, words, re.IGNORECASE)
        if found or status in sign.statuses:
            return _classify_by_sign(sign, _line_at(words, found.start() if found else 0), words)
    return None


def _evidence_sources(
    parsed: ParsedRun, exited: CommandExit, stderr: str
) -> Iterator[tuple[str, tuple[TroubleSign, ...]]]:
    if parsed.error or parsed.status is not None:
        yield parsed.error, TROUBLE_SIGNS
    if parsed.closing == "unknown" and len(parsed.text) <= MAX_ERROR_ANSWER_CHARS:
        yield parsed.text, TROUBLE_SIGNS
    if parsed.closing == "unknown" or (parsed.closing == "none" and not parsed.text and not parsed.tools):
        yield _stderr_evidence(exited, stderr), TROUBLE_SIGNS
    elif parsed.closing == "none":
        yield _stderr_evidence(exited, stderr), TRANSIENT_SIGNS


def _stderr_evidence(exited: CommandExit, stderr: str) -> str:
    """The end of stderr. Of a run we ended only a status counts: its tools may have complained about anything."""
    tail = stderr[-MAX_STDERR_CHARS:]
    if exited.ending == "exited":
        return tail
    statuses = re.findall(HTTP_STATUS_PATTERN, tail, re.IGNORECASE)
    return f"status {statuses[-1]}" if statuses else ""


def _classify_by_sign(sign: TroubleSign, line: str, words: str) -> Classification:
    detail = sign.sentence.format(_as_sentence(line) or "it did not say why.")
    return Classification(outcome=sign.outcome, detail=detail, lasting=sign.lasting, evidence=words)


def _find_limit_end(verdict: Classification, now: float) -> float | None:
    if verdict.outcome != "limited":
        return None
    from ralph.core.limit_end import find_limit_end  # zones cost milliseconds; only a limit needs them

    return find_limit_end(verdict.evidence, now)


def _describe_end(until: float) -> str:
    return f"It ends at {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC."


def _classify_unfinished(parsed: ParsedRun, exited: CommandExit, stderr: str) -> Classification:
    match exited.ending:
        case "timed_out":
            return Classification(
                outcome="timed_out",
                detail=f"The agent was stopped after {_round_limit(exited)}s, its time limit. Raise"
                f" agent.timeoutSeconds if the"
                " work needs longer, or ask for less at once.",
            )
        case "idle":
            return Classification(
                outcome="idle",
                detail=f"The agent printed nothing for too long and was stopped after {_round_limit(exited)}s. Raise"
                " agent.idleTimeoutSeconds if its tools take that long.",
            )
        case _:
            return Classification(outcome="crashed", detail=_describe_crash(parsed, exited.code, _last_line(stderr)))


def _round_limit(exited: CommandExit) -> str:
    """When it was told to end: that it took a while to is not the limit."""
    return f"{exited.seconds if exited.stopped_after is None else exited.stopped_after:.0f}"


def _describe_crash(parsed: ParsedRun, code: int, last: str) -> str:
    if parsed.closing == "error":
        return f"The agent ended with an error: {_as_sentence(parsed.error)}"
    if meaning := SIGNAL_MEANINGS.get(-code if code < 0 else code - SHELL_SIGNAL_OFFSET):
        return _append_reason(f"The agent was ended by {meaning} (exit code {code})", last)
    if code == 0:
        return _append_reason("The agent ended with exit code 0 but never said that it had finished", last)
    return _append_reason(f"The agent ended with exit code {code} and no result", last)


def _append_reason(sentence: str, last: str) -> str:
    return f"{sentence}: {_as_sentence(last)}" if last else f"{sentence}."


def _as_sentence(words: str) -> str:
    """One line, ended with a full stop."""
    line = " ".join(re.sub(CONTROL_CHARS_PATTERN, " ", words).split())
    line = line if len(line) <= MAX_DETAIL_CHARS else line[: MAX_DETAIL_CHARS - 1] + "…"
    return line if not line or line[-1] in ".!?…" else f"{line}."


def _line_at(words: str, at: int) -> str:
    start = words.rfind("\n", 0, at) + 1
    return words[start:].partition("\n")[0]


def _last_line(stderr: str) -> str:
    lines = [line for line in stderr[-MAX_STDERR_CHARS:].splitlines() if not re.search(STDERR_NOISE_PATTERN, line)]
    return lines[-1] if lines else ""
