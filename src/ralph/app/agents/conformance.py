"""Use case: try an installed agent CLI on everything the loop relies on, and tell what was found."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralph.app.agents.trial import (
    AgentUnderTest,
    TrialEnvironment,
    TrialResult,
    open_trial_environment,
    resolve_agent_under_test,
)
from ralph.model.agent_card import AgentCard
from ralph.model.events import Noted, Said, ToolEnded, ToolStarted, Unparsed

__all__ = ["AgentUnderTest", "CheckResult", "ConformanceCard", "check_conformance", "resolve_agent_under_test"]
CheckVerdict = Literal["yes", "no", "wrong", "unverified"]  # no: and its adapter does not say so either
LONG_PROMPT_CHARS = 200 << 10
DONE_RESPONSE = "<response>DONE</response>"
SMALL_PROMPT = f"This is a test of the line. Reply with exactly this and nothing else:\n{DONE_RESPONSE}"
SESSION_PREFIXES = ("session: ", "thread: ")
TRIED_BY_SCRIPT, TRIED_BY_PROMPT = "with the scripted model", "by one small real prompt"
# What no scripted model can show, for any agent.
NOT_COVERED = "its prices, its login, its own way to resume, and what its real model makes of all this"


class CheckResult(Struct, frozen=True):
    """One thing that was looked at."""

    topic: str
    verdict: CheckVerdict
    detail: str = ""


class ConformanceCard(Struct, frozen=True, kw_only=True):
    """All that was found."""

    name: str
    title: str
    path: str
    version: str
    how: str
    marks: tuple[CheckResult, ...]

    @property
    def conforms(self) -> bool:
        return all(mark.verdict != "wrong" for mark in self.marks)


def check_conformance(
    tried: AgentUnderTest, variables: Mapping[str, str], on_trial: Callable[[str], object] = len
) -> ConformanceCard:
    """Every trial; `on_trial` is told what is tried next. Where it costs money, the caller has asked before."""
    with open_trial_environment(tried, variables) as lab:
        version = lab.read_version()
        marks = (_check_by_script if tried.is_free else _check_by_prompt)(tried, lab, on_trial)
        how = TRIED_BY_SCRIPT if tried.is_free else TRIED_BY_PROMPT
        return ConformanceCard(
            name=tried.command.adapter,
            title=tried.card.title,
            path=tried.command.argv[0],
            version=version,
            how=how,
            marks=tuple(marks),
        )


# -- what is tried ---------------------------------------------------------------------------------
def _check_by_script(
    tried: AgentUnderTest, lab: TrialEnvironment, on_trial: Callable[[str], object]
) -> Iterator[CheckResult]:
    on_trial("a day's work")
    yield from _check_work(tried.card, lab)
    on_trial("text mode, with a long prompt")
    yield from _check_text_mode(lab)
    on_trial("trouble with the service")
    yield _check_exit_codes(lab)
    yield from _check_service_trouble(lab)
    on_trial("being stopped in the middle of a tool")
    yield _check_stopping(lab)
    yield CheckResult("beyond this kit", "unverified", NOT_COVERED)


def _check_work(card: AgentCard, lab: TrialEnvironment) -> Iterator[CheckResult]:
    trial = lab.run_trial(
        "Do your work.",
        [
            {"say": "Writing."},
            {"write": {"path": "made.txt", "content": "made\n"}},
            {"bash": "echo heard; exit 3"},
            {"say": f"Done.\n\n{DONE_RESPONSE}"},
        ],
    )
    yield _check_completion(trial)
    yield from _check_events(card, trial)
    yield _check_tools(card, trial)


def _check_completion(trial: TrialResult) -> CheckResult:
    claimed = (
        trial.outcome == "finished"
        and trial.reported is not None
        and trial.reported.text.rstrip().endswith(DONE_RESPONSE)
    )
    return CheckResult(
        "completion", "yes" if claimed else "wrong", f"{_describe_ending(trial)} Exit code {trial.exited.code}."
    )


def _check_events(card: AgentCard, trial: TrialResult) -> Iterator[CheckResult]:
    """What its events tell, held against what its adapter says they do."""
    said = sum(isinstance(event, Said) for event in trial.events)
    sessions = [
        event.text for event in trial.events if isinstance(event, Noted) and event.text.startswith(SESSION_PREFIXES)
    ]
    tokens = trial.reported.usage.input_tokens + trial.reported.usage.output_tokens if trial.reported else 0
    cost = trial.reported.cost_usd if trial.reported else None
    yield _check_promised("streaming", card.streaming, said > 0, f"{len(trial.events)} events")
    yield _check_promised("session", card.session, bool(sessions), sessions[0] if sessions else "")
    yield _check_promised("tokens", card.tokens, tokens > 0, f"{tokens}")
    yield _check_promised("cost", card.cost, cost is not None and cost > 0, f"${cost or 0:.4f}")
    if card.streaming:
        yield _check_known_events(trial)


def _check_promised(topic: str, promised: bool, found: bool, detail: str) -> CheckResult:
    if found:
        return CheckResult(topic, "yes", detail)
    return (
        CheckResult(topic, "wrong", "its adapter says so, but nothing was reported")
        if promised
        else CheckResult(topic, "no")
    )


def _check_tools(card: AgentCard, trial: TrialResult) -> CheckResult:
    started = [event.name for event in trial.events if isinstance(event, ToolStarted)]
    outputs = [f"{event.output}{event.error or ''}" for event in trial.events if isinstance(event, ToolEnded)]
    made = os.path.exists(os.path.join(trial.folder, "made.txt"))
    if made and not card.tools:
        return CheckResult("tools", "no", "it used them, but reported nothing")
    if made and len(started) >= 2 and any("heard" in output for output in outputs):
        return CheckResult("tools", "yes", ", ".join(started))
    detail = f"told {', '.join(started) or 'no tool'}; the file was {'' if made else 'not '}made"
    return CheckResult("tools", "wrong", detail)


def _check_known_events(trial: TrialResult) -> CheckResult:
    kinds = [event.kind or event.sample[:40] for event in trial.events if isinstance(event, Unparsed)]
    if not kinds:
        return CheckResult("known events", "yes", "every line was understood")
    return CheckResult("known events", "wrong", f"{len(kinds)} not understood: {', '.join(dict.fromkeys(kinds))}")


def _check_text_mode(lab: TrialEnvironment) -> Iterator[CheckResult]:
    prompt = "word " * (LONG_PROMPT_CHARS // 5) + "\nthe very end"
    trial = lab.run_trial(prompt, [{"say": f"Read.\n\n{DONE_RESPONSE}"}], mode="text")
    right = trial.outcome == "finished" and trial.reported is not None and DONE_RESPONSE in trial.reported.text
    yield CheckResult("text mode", "yes" if right else "wrong", "" if right else _describe_ending(trial))
    whole = trial.model_requests.count("word ") >= LONG_PROMPT_CHARS // 5 and "the very end" in trial.model_requests
    arrived: CheckVerdict = "yes" if whole else "wrong"
    yield CheckResult(
        "long prompt", arrived, f"{LONG_PROMPT_CHARS >> 10} KiB {'arrived' if whole else 'did not arrive whole'}"
    )


def _check_exit_codes(lab: TrialEnvironment) -> CheckResult:
    trial = lab.run_trial("Try.", [{"error": {"status": 401, "message": "invalid x-api-key"}}])
    return _check_outcome("exit codes", trial, "unusable", "{code} for a key that is not accepted")


def _check_service_trouble(lab: TrialEnvironment) -> Iterator[CheckResult]:
    down = {"error": {"status": 500, "message": "Internal server error", "retry_after": 0.1}}
    yield _check_outcome("overload", lab.run_trial("Try.", [down]), "overloaded", "exit code {code}")
    yield _check_outcome("empty answer", lab.run_trial("Try.", [{"empty": True}]), "empty", "exit code {code}")


def _check_stopping(lab: TrialEnvironment) -> CheckResult:
    up = "touch up; sleep 600"
    trial = lab.run_trial("Wait.", [{"bash": up}, {"say": DONE_RESPONSE}], stop_at="up")
    if trial.reported is not None:
        return CheckResult("signals", "wrong", f"its tool never ran: {_describe_ending(trial)}")
    return CheckResult("signals", "yes", f"stopped in a tool, exit code {trial.exited.code}, and nothing was left")


def _check_outcome(topic: str, trial: TrialResult, outcome: str, detail: str) -> CheckResult:
    if trial.outcome == outcome:
        return CheckResult(topic, "yes", detail.format(code=trial.exited.code))
    return CheckResult(topic, "wrong", f"expected {outcome!r}: {_describe_ending(trial)}")


def _describe_ending(trial: TrialResult) -> str:
    return f"{trial.outcome}. {trial.reported.detail}" if trial.reported else "it was stopped"


def _check_by_prompt(
    tried: AgentUnderTest, lab: TrialEnvironment, on_trial: Callable[[str], object]
) -> Iterator[CheckResult]:
    on_trial("one small real prompt")
    yield CheckResult("its format", "unverified", tried.card.verified)
    trial = lab.run_trial(SMALL_PROMPT, ())
    yield _check_completion(trial)
    yield from _check_events(tried.card, trial)
    for topic in ("tools", "text mode", "long prompt", "exit codes", "overload", "empty answer", "signals"):
        yield CheckResult(topic, "unverified", "it cannot be pointed at the scripted model")
