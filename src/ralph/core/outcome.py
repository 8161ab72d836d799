"""What an agent run was. Exit code 0 is no success; a terminal success event without an error is."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from ralph.model.command import Exited
from ralph.model.loop import Reported, RunOutcome
from ralph.model.ports import Heard

TEXT_LIMIT = 256 << 10  # bytes of the final text that are kept
TAIL = 4_000  # characters of stderr that may tell why
BRIEF = 500  # plain output longer than this is an answer, not an error message
LINE = 300


class Verdict(Struct, frozen=True):
    """An outcome and the sentence for it."""

    outcome: RunOutcome
    detail: str
    reset_at: float | None = None
    lasting: bool = False


class Sign(Struct, frozen=True):
    """What betrays a trouble that is not the agent's: the service's status or its words."""

    outcome: RunOutcome
    statuses: tuple[int, ...]
    words: str  # a pattern; compiled only when something went wrong, which is most of this module's cost
    sentence: str  # {} is where the agent's own words go
    lasting: bool = False  # only other settings or another prompt can mend it


LIMITED = Sign(
    "limited",
    (429,),
    r"usage[ _]limit|rate[ _-]?limit|hit your .{0,20}limit|too many requests|quota (exceeded|exhausted)"
    r"|exceeded your current quota|resource_exhausted",
    "The account's limit is reached: {}",
)
# The first that fits decides, so the special stand before the general.
SIGNS = (
    Sign(
        "unusable",
        (402,),
        r"credit balance is too low|insufficient_quota|insufficient (credits?|balance)|billing_error|payment required",
        "The account has no credit: {} Add credit, then start again.",
    ),
    Sign(
        "unusable",
        (401, 403),
        r"invalid (x-)?api[ _-]?key|not logged in|please run /login|authentication[_ ](failed|error)|unauthorized"
        r"|api[ _]key (is )?(not (found|set)|missing)|OAuth token (has )?(expired|revoked)|set an auth method",
        "The agent is not logged in or its key is not accepted: {} Log in with the agent's own CLI, or check its key.",
    ),
    Sign(
        "unusable",
        (),
        r"cannot be used with root",
        "The agent refuses to run as root: {} Use another user, or set IS_SANDBOX=1 where that is true.",
    ),
    Sign(
        "unusable",
        (),
        r"unexpected argument|unknown (option|argument|flag|command)|unrecognized (option|argument)|invalid option",
        "The agent does not know one of its flags: {} Check agent.flags.",
        lasting=True,
    ),
    Sign(
        "unusable",
        (),
        r"not inside a trusted directory",
        "The agent does not trust this folder: {} Run ralph in a git repository, or allow it in agent.flags.",
        lasting=True,
    ),
    Sign(
        "unusable",
        (413,),
        r"prompt is too long|context[_ ]length[_ ]exceeded|maximum context length|input is too long",
        "The prompt is too long for the model: {} Shorten it, or lower outputTruncateChars.",
        lasting=True,
    ),
    Sign(
        "unusable",
        (404,),
        r"model_not_found|no such model|\bmodel\b.{0,60}(does not exist|may not exist)",
        "The model or its address is unknown: {} Check the model in agent.flags.",
        lasting=True,
    ),
    LIMITED,
    Sign(
        "overloaded",
        (500, 502, 503, 504, 520, 522, 529),
        r"overloaded|high demand|at capacity|internal server error|service (is )?(temporarily )?unavailable|bad gateway"
        r"|gateway time-?out",
        "The model's service is in trouble: {}",
    ),
    Sign(
        "offline",
        (408,),
        r"no connection|connection (was )?(refused|reset|error|closed|lost|aborted)|connect(ion)? ?timed? ?out"
        r"|request timed out|ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH"
        r"|getaddrinfo|name resolution|network is unreachable|fetch failed|error sending request"
        r"|stream disconnected|API Error: terminated",
        "The model's service cannot be reached: {}",
    ),
)
# What passes by waiting. An agent that already did something is not unusable, whatever stands on its stderr.
PASSING = tuple(sign for sign in SIGNS if sign.outcome != "unusable")
# A limit told as the answer itself. Only the whole text counts: a model may well talk about limits.
LIMIT_ANSWERS = (
    r"Claude( AI)? usage limit reached(\|\d+|\. Your limit will reset at [^\n]{1,60})?"
    r"|You['’]ve hit your ([\w-]+ ){0,2}limit( · resets [^\n]{1,60})?"
    r"|(5-hour|Weekly|Session|Opus( weekly)?) limit reached( [·∙] resets [^\n]{1,60})?"
)
RESET = r'(?:\||resets?(?:[ _]at)?"?:? ?)(\d{10})(?:\d{3})?(?!\d)'
STATUS = r"\bstatus(?: code)?:? (\d{3})\b"
CONTROL = r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]|\|\d{10,13}$"
NOISE = r"Reading (additional input|prompt) from stdin|^[\s{}\[\]()]*$|For more information, try"
SIGNALS = {
    1: "SIGHUP: its terminal was closed",
    2: "SIGINT: it was interrupted",
    6: "SIGABRT: it gave up on an error inside it",
    9: "SIGKILL: somebody killed it, or the machine ran out of memory",
    11: "SIGSEGV: it crashed",
    13: "SIGPIPE: nobody read its output",
    15: "SIGTERM: somebody asked it to end",
}
NO_PROGRAM = "No such file|Exec format|Argument list"  # what the system says of a command that will never start
SHELL_SIGNAL = 128  # a shell, and Node, tell a signal as this and its number


def judged(heard: Heard, exited: Exited, stderr: str) -> Reported:
    """One outcome, before any policy sees the run."""
    verdict = _verdict(heard, exited, stderr)
    return Reported(
        verdict.outcome,
        text=bounded(heard.text),
        detail=verdict.detail,
        cost_usd=heard.cost_usd,
        usage=heard.usage,
        seconds=exited.seconds,
        exit_code=_code(heard, exited),
        reset_at=verdict.reset_at,
        tools=heard.tools,
        errors=heard.errors,
        unparsed=heard.unparsed,
        lasting=verdict.lasting,
    )


def bounded(text: str) -> str:
    """Its head and its tail, when it is longer than anyone needs."""
    if len(text) * 4 <= TEXT_LIMIT or len(data := text.encode("utf-8", "replace")) <= TEXT_LIMIT:
        return text
    mark = "\n... [cut] ...\n"
    half = (TEXT_LIMIT - len(mark)) // 2
    return data[:half].decode("utf-8", "ignore") + mark + data[-half:].decode("utf-8", "ignore")


def _verdict(heard: Heard, exited: Exited, stderr: str) -> Verdict:
    if exited.ending == "not_started":
        detail = f"The agent could not be started: {_sentence(exited.error)} Check agent.command."
        return Verdict("unusable", detail, lasting=bool(re.search(NO_PROGRAM, exited.error)))
    if _succeeded(heard, exited):
        return _success(heard)
    if exited.ending == "stopped":
        return Verdict("crashed", "The agent was stopped before it had finished.")
    if exited.ending == "enough":
        return Verdict("cut_short", "The agent was stopped: it had spent what was left of the budget.")
    if heard.cut_short:
        return Verdict("cut_short", f"The agent stopped at a limit of its own: {_sentence(heard.error)}")
    return _trouble(heard, exited, stderr) or _unfinished(heard, exited, stderr)


def _succeeded(heard: Heard, exited: Exited) -> bool:
    """A success event holds even if what the agent left running had to be ended after it."""
    if heard.closing == "unknown":
        return exited.ending == "exited" and exited.code == 0
    return heard.closing == "success"


def _code(heard: Heard, exited: Exited) -> int:
    """Who was ended by us after a success did not choose its exit code."""
    ours = exited.ending not in ("exited", "not_started")
    return 0 if ours and heard.closing == "success" else exited.code


def _success(heard: Heard) -> Verdict:
    text = heard.text.strip()
    if heard.denials:
        return Verdict("refused", _refusal(heard.denials))
    if len(text) <= LINE and re.fullmatch(LIMIT_ANSWERS, text, re.IGNORECASE):
        return _signed(LIMITED, text, f"{text}\n{heard.error}")
    if not text:
        return Verdict("empty", "The agent ended without a word.")
    return Verdict("finished", "The agent finished.")


def _refusal(denials: tuple[str, ...]) -> str:
    calls = "1 tool call" if len(denials) == 1 else f"{len(denials)} tool calls"
    return (
        f"The agent was refused {calls} ({', '.join(dict.fromkeys(denials))}). Allow it more in agent.flags; for Claude"
        " that is --permission-mode acceptEdits, or --dangerously-skip-permissions in a sandbox."
    )


def _trouble(heard: Heard, exited: Exited, stderr: str) -> Verdict | None:
    """The first sign in the agent's own words, then in what it printed besides."""
    for words, signs in _sources(heard, exited, stderr):
        told = re.search(STATUS, words, re.IGNORECASE)
        status = heard.status or (int(told[1]) if told else None)
        for sign in signs:
            found = re.search(sign.words, words, re.IGNORECASE)
            if found or status in sign.statuses:
                return _signed(sign, _line_at(words, found.start() if found else 0), words)
    return None


def _sources(heard: Heard, exited: Exited, stderr: str) -> Iterator[tuple[str, tuple[Sign, ...]]]:
    if heard.error or heard.status is not None:
        yield heard.error, SIGNS
    if heard.closing == "unknown" and len(heard.text) <= BRIEF:
        yield heard.text, SIGNS
    if heard.closing == "unknown" or (heard.closing == "none" and not heard.text and not heard.tools):
        yield _complaint(exited, stderr), SIGNS
    elif heard.closing == "none":
        yield _complaint(exited, stderr), PASSING


def _complaint(exited: Exited, stderr: str) -> str:
    """The end of stderr. Of a run we ended only a status counts: its tools may have complained about anything."""
    tail = stderr[-TAIL:]
    if exited.ending == "exited":
        return tail
    statuses = re.findall(STATUS, tail, re.IGNORECASE)
    return f"status {statuses[-1]}" if statuses else ""


def _signed(sign: Sign, line: str, words: str) -> Verdict:
    detail = sign.sentence.format(_sentence(line) or "it did not say why.")
    reset = re.search(RESET, words, re.IGNORECASE) if sign.outcome == "limited" else None
    if reset is None:
        return Verdict(sign.outcome, detail, lasting=sign.lasting)
    until = float(reset[1])
    return Verdict(sign.outcome, f"{detail} It ends at {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC.", until)


def _unfinished(heard: Heard, exited: Exited, stderr: str) -> Verdict:
    match exited.ending:
        case "timed_out":
            return Verdict(
                "timed_out",
                f"The agent was stopped after {exited.seconds:.0f}s, its time limit. Raise agent.timeoutSeconds if the"
                " work needs longer, or ask for less at once.",
            )
        case "idle":
            return Verdict(
                "idle",
                f"The agent was silent for too long and stopped after {exited.seconds:.0f}s. Raise"
                " agent.idleTimeoutSeconds if its tools take that long.",
            )
        case _:
            return Verdict("crashed", _crash(heard, exited.code, _last_line(stderr)))


def _crash(heard: Heard, code: int, last: str) -> str:
    if heard.closing == "error":
        return f"The agent ended with an error: {_sentence(heard.error)}"
    if meaning := SIGNALS.get(-code if code < 0 else code - SHELL_SIGNAL):
        return _with(f"The agent was ended by {meaning} (exit code {code})", last)
    if code == 0:
        return _with("The agent ended with exit code 0 but never said that it had finished", last)
    return _with(f"The agent ended with exit code {code} and no result", last)


def _with(sentence: str, last: str) -> str:
    return f"{sentence}: {_sentence(last)}" if last else f"{sentence}."


def _sentence(words: str) -> str:
    """One line, ended with a full stop."""
    line = " ".join(re.sub(CONTROL, " ", words).split())
    line = line if len(line) <= LINE else line[: LINE - 1] + "…"
    return line if not line or line[-1] in ".!?…" else f"{line}."


def _line_at(words: str, at: int) -> str:
    start = words.rfind("\n", 0, at) + 1
    return words[start:].partition("\n")[0]


def _last_line(stderr: str) -> str:
    lines = [line for line in stderr[-TAIL:].splitlines() if not re.search(NOISE, line)]
    return lines[-1] if lines else ""
