"""A transition of the journal, told as events for whoever watches."""

from typing import TypeVar

from ralph.core.claims import extract_promise, extract_response
from ralph.core.text.secrets import redact
from ralph.model.agent_chain import ESCALATION
from ralph.model.control import PersonNote
from ralph.model.events import (
    AgentEnded,
    Committed,
    Debugged,
    Event,
    IterationStarted,
    Noted,
    Paused,
    RunEnded,
    RunStarted,
    Waiting,
    Warned,
)
from ralph.model.loop import (
    Began,
    Brief,
    Checked,
    Decision,
    Interrupted,
    Looked,
    LoopState,
    Observation,
    PauseLoop,
    Reported,
    Restore,
    Resumed,
    RunAgent,
    Saved,
    Stop,
    Surveyed,
    Wait,
)

_StateT = TypeVar("_StateT")


def build_events(
    run: str, agent: str, *, seen: Observation, state: LoopState[_StateT], decision: Decision
) -> list[Event]:
    """The events watchers get for one transition: those of the fact, then those of the decision."""
    return [*_build_fact_events(run, agent, seen, state), *_build_decision_events(run, seen, state, decision)]


def is_cut_off(seen: Observation, state: LoopState[_StateT]) -> bool:
    """Whether an agent was interrupted: its iteration was begun, and the tally does not count it."""
    return isinstance(seen.fact, Interrupted) and isinstance(state.wanted, RunAgent) and not state.unseen


def _build_fact_events(run: str, agent: str, seen: Observation, state: LoopState[_StateT]) -> list[Event]:
    match seen.fact:
        case Began(limits) | Resumed(limits):
            tally = state.tally
            return [
                RunStarted(
                    run=run,
                    agent=agent,
                    limit=limits.iterations,
                    resumed=isinstance(seen.fact, Resumed),
                    budget_usd=limits.cost_usd,
                    spent_usd=tally.spent_usd,
                    estimated=tally.estimated_usd > 0,
                )
            ]
        case Reported() as it:
            count = state.tally.iterations
            return [
                AgentEnded(
                    iteration=count,
                    outcome=it.outcome,
                    detail=it.detail,
                    seconds=it.seconds,
                    cost_usd=it.cost_usd,
                    usage=it.usage,
                    tools=it.tools,
                    errors=it.errors,
                    exit_code=it.exit_code,
                    unparsed=it.unparsed,
                    estimated_usd=it.estimated_usd if it.cost_usd is None else None,
                ),
                Debugged(
                    f"Completion check: <response> {extract_response(it.text)!r}, "
                    f"<promise> {extract_promise(it.text)!r}"
                ),
            ]
        case Checked() as checked if checked.failures and state.tally.iterations == 0:
            names = ", ".join(redact(f.gate) for f in checked.failures)
            return [Warned(f"Baseline is red: {names} failed before the first agent call")]
        case Looked(needs=needs) if needs:
            return [Noted(f"Waiting for {', '.join(needs)}: no DONE file yet")]
        case Surveyed(uncommitted=paths) if paths and state.tally.iterations == 0:
            names, more = ", ".join(paths[:5]), ", …" if len(paths) > 5 else ""
            return [Warned(f"Not committed yet: {names}{more}. Agents are told to commit everything")]
        case Surveyed(rewritten=names) if names:
            return [Warned(f"{name} has changed: the next agents get the new text") for name in names]
        case Saved(done=done, message=message, problems=problems):
            return [Committed(done, message, problems)]
        case _:
            return []


def _build_decision_events(run: str, seen: Observation, state: LoopState[_StateT], decision: Decision) -> list[Event]:
    match decision:
        case RunAgent(brief) if brief.agent:
            who = "the agent for stuck runs" if brief.agent == ESCALATION else brief.agent
            return [Warned(f"{who} takes over"), *_build_start_events(brief)]
        case RunAgent(brief):
            return _build_start_events(brief)
        case Restore(why=lines):
            return [Warned(line) for line in lines]
        case Wait(seconds, why):
            return [Waiting(seconds, why)]
        case PauseLoop(by):
            return [Paused(by)]
        case Stop(outcome, why, flagged=flagged, question=question):
            tally, cut = state.tally, is_cut_off(seen, state)
            return [
                RunEnded(
                    run=run,
                    outcome=outcome.value,
                    why=why,
                    exit_code=outcome.exit_code,
                    iterations=tally.iterations + cut,
                    seconds=seen.at,
                    cost_usd=tally.cost_usd,
                    usage=tally.usage,
                    cut_off=cut,
                    flagged=flagged,
                    question=question,
                    problems=tally.scm_problems,
                    estimated_usd=tally.estimated_usd,
                    unpriced=tally.unpriced,
                )
            ]
        case _:
            return []


def _build_start_events(brief: Brief) -> list[Event]:
    notes: list[Event] = [Noted(f"told: {_describe_note(note)}") for note in brief.notes]
    return [_describe_start(brief), *notes]


def _describe_note(note: PersonNote) -> str:
    what = "answer" if note.question else "note"
    return f"{what} from {note.by}: {note.text}"


def _describe_start(brief: Brief) -> IterationStarted:
    if brief.is_conflict_resolution:
        return IterationStarted(1, 1, f"{brief.role} (resolves a merge conflict) {brief.story}")
    about = " ".join(filter(None, (brief.role, brief.story)))
    if brief.turns:
        return IterationStarted(brief.turn, brief.turns, about)
    return IterationStarted(brief.iteration, brief.limit, about)
