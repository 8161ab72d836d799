"""Use case: try an installed agent CLI on everything the loop relies on, and tell what was found."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralph.app.agents.trial import Laboratory, Subject, Trial, laboratory, subject
from ralph.model.agent_card import Traits
from ralph.model.events import Noted, Said, ToolEnded, ToolStarted, Unparsed

__all__ = ["Card", "Mark", "Subject", "examined", "subject"]
Verdict = Literal["yes", "no", "wrong", "unverified"]  # no: and its adapter does not say so either
LONG = 200 << 10
DONE = "<response>DONE</response>"
SMALL = f"This is a test of the line. Reply with exactly this and nothing else:\n{DONE}"
SESSION = ("session: ", "thread: ")
BY_SCRIPT, BY_PROMPT = "with the scripted model", "by one small real prompt"
# What no scripted model can show, for any agent.
BEYOND = "its prices, its login, its own way to resume, and what its real model makes of all this"


class Mark(Struct, frozen=True):
    """One thing that was looked at."""

    topic: str
    verdict: Verdict
    detail: str = ""


class Card(Struct, frozen=True):
    """All that was found."""

    name: str
    title: str
    path: str
    version: str
    how: str
    marks: tuple[Mark, ...]

    @property
    def conforms(self) -> bool:
        """Nothing is wrong."""
        return all(mark.verdict != "wrong" for mark in self.marks)


def examined(tried: Subject, variables: Mapping[str, str], on_trial: Callable[[str], object] = len) -> Card:
    """Every trial; `on_trial` is told what is tried next. Where it costs money, the caller has asked before."""
    with laboratory(tried, variables) as lab:
        version = lab.version()
        marks = (_by_script if tried.is_free else _by_prompt)(tried, lab, on_trial)
        how = BY_SCRIPT if tried.is_free else BY_PROMPT
        return Card(tried.crew.adapter, tried.traits.title, tried.crew.words[0], version, how, tuple(marks))


# -- what is tried ---------------------------------------------------------------------------------
def _by_script(tried: Subject, lab: Laboratory, on_trial: Callable[[str], object]) -> Iterator[Mark]:
    on_trial("a day's work")
    yield from _work(tried.traits, lab)
    on_trial("text mode, with a long prompt")
    yield from _text_mode(lab)
    on_trial("trouble with the service")
    yield _exit_codes(lab)
    yield from _trouble(lab)
    on_trial("being stopped in the middle of a tool")
    yield _stopped(lab)
    yield Mark("beyond this kit", "unverified", BEYOND)


def _work(traits: Traits, lab: Laboratory) -> Iterator[Mark]:
    trial = lab.tried(
        "Do your work.",
        [
            {"say": "Writing."},
            {"write": {"path": "made.txt", "content": "made\n"}},
            {"bash": "echo heard; exit 3"},
            {"say": f"Done.\n\n{DONE}"},
        ],
    )
    yield _completion(trial)
    yield from _told(traits, trial)
    yield _tools(traits, trial)


def _completion(trial: Trial) -> Mark:
    claimed = trial.outcome == "finished" and trial.reported is not None and trial.reported.text.rstrip().endswith(DONE)
    return Mark("completion", "yes" if claimed else "wrong", f"{_ended(trial)} Exit code {trial.exited.code}.")


def _told(traits: Traits, trial: Trial) -> Iterator[Mark]:
    """What its events tell, held against what its adapter says they do."""
    said = sum(isinstance(event, Said) for event in trial.events)
    sessions = [event.text for event in trial.events if isinstance(event, Noted) and event.text.startswith(SESSION)]
    tokens = trial.reported.usage.input_tokens + trial.reported.usage.output_tokens if trial.reported else 0
    cost = trial.reported.cost_usd if trial.reported else None
    yield _promised("streaming", traits.streaming, said > 0, f"{len(trial.events)} events")
    yield _promised("session", traits.session, bool(sessions), sessions[0] if sessions else "")
    yield _promised("tokens", traits.tokens, tokens > 0, f"{tokens}")
    yield _promised("cost", traits.cost, cost is not None and cost > 0, f"${cost or 0:.4f}")
    if traits.streaming:
        yield _unknown_events(trial)


def _promised(topic: str, promised: bool, found: bool, detail: str) -> Mark:
    if found:
        return Mark(topic, "yes", detail)
    return Mark(topic, "wrong", "its adapter says so, but nothing was told") if promised else Mark(topic, "no")


def _tools(traits: Traits, trial: Trial) -> Mark:
    started = [event.name for event in trial.events if isinstance(event, ToolStarted)]
    outputs = [f"{event.output}{event.error or ''}" for event in trial.events if isinstance(event, ToolEnded)]
    made = os.path.exists(os.path.join(trial.folder, "made.txt"))
    if made and not traits.tools:
        return Mark("tools", "no", "it used them, and told nothing")
    if made and len(started) >= 2 and any("heard" in output for output in outputs):
        return Mark("tools", "yes", ", ".join(started))
    told = f"told {', '.join(started) or 'no tool'}; the file was {'' if made else 'not '}made"
    return Mark("tools", "wrong", told)


def _unknown_events(trial: Trial) -> Mark:
    kinds = [event.kind or event.sample[:40] for event in trial.events if isinstance(event, Unparsed)]
    if not kinds:
        return Mark("known events", "yes", "every line was understood")
    return Mark("known events", "wrong", f"{len(kinds)} not understood: {', '.join(dict.fromkeys(kinds))}")


def _text_mode(lab: Laboratory) -> Iterator[Mark]:
    prompt = "word " * (LONG // 5) + "\nthe very end"
    trial = lab.tried(prompt, [{"say": f"Read.\n\n{DONE}"}], mode="text")
    right = trial.outcome == "finished" and trial.reported is not None and DONE in trial.reported.text
    yield Mark("text mode", "yes" if right else "wrong", "" if right else _ended(trial))
    whole = trial.asked.count("word ") >= LONG // 5 and "the very end" in trial.asked
    arrived: Verdict = "yes" if whole else "wrong"
    yield Mark("long prompt", arrived, f"{LONG >> 10} KiB {'arrived' if whole else 'did not arrive whole'}")


def _exit_codes(lab: Laboratory) -> Mark:
    trial = lab.tried("Try.", [{"error": {"status": 401, "message": "invalid x-api-key"}}])
    return _expected("exit codes", trial, "unusable", "{code} for a key that is not accepted")


def _trouble(lab: Laboratory) -> Iterator[Mark]:
    down = {"error": {"status": 500, "message": "Internal server error", "retry_after": 0.1}}
    yield _expected("overload", lab.tried("Try.", [down]), "overloaded", "exit code {code}")
    yield _expected("empty answer", lab.tried("Try.", [{"empty": True}]), "empty", "exit code {code}")


def _stopped(lab: Laboratory) -> Mark:
    up = "touch up; sleep 600"
    trial = lab.tried("Wait.", [{"bash": up}, {"say": DONE}], stop_at="up")
    if trial.reported is not None:
        return Mark("signals", "wrong", f"its tool never ran: {_ended(trial)}")
    return Mark("signals", "yes", f"stopped in a tool, exit code {trial.exited.code}, and nothing was left")


def _expected(topic: str, trial: Trial, outcome: str, detail: str) -> Mark:
    if trial.outcome == outcome:
        return Mark(topic, "yes", detail.format(code=trial.exited.code))
    return Mark(topic, "wrong", f"expected {outcome!r}: {_ended(trial)}")


def _ended(trial: Trial) -> str:
    return f"{trial.outcome}. {trial.reported.detail}" if trial.reported else "it was stopped"


def _by_prompt(tried: Subject, lab: Laboratory, on_trial: Callable[[str], object]) -> Iterator[Mark]:
    on_trial("one small real prompt")
    yield Mark("its format", "unverified", tried.traits.verified)
    trial = lab.tried(SMALL, ())
    yield _completion(trial)
    yield from _told(tried.traits, trial)
    for topic in ("tools", "text mode", "long prompt", "exit codes", "overload", "empty answer", "signals"):
        yield Mark(topic, "unverified", "it cannot be pointed at the scripted model")
