"""One turn of any loop: pure, total, replayable.

The policy knows when work is complete. What is common to all loops is here: limits, the budget, waiting for
trouble that is not the agent's, interruption and resuming.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.agent_chain import find_first_end, find_rested_agent, is_resting, send_to_rest
from ralph.core.standstill import (
    WRITING_ROLES,
    build_standstill_feedback,
    explain_standstill,
    forgive_standstill,
    judge_iteration,
    watch_fact,
)
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_duration
from ralph.core.text.questions import describe_question, find_question
from ralph.model.agent_chain import AgentChain
from ralph.model.control import PersonNote
from ralph.model.loop import (
    AnswersLost,
    Awaited,
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Forbidden,
    Interrupted,
    Landed,
    Looked,
    LoopState,
    Observation,
    Outcome,
    Patience,
    PauseLoop,
    Policy,
    RefusalStreak,
    Reported,
    Restored,
    Resumed,
    RunAgent,
    Save,
    Saved,
    SnapshotTaken,
    Stop,
    Surveyed,
    TakeSnapshot,
    Tally,
    UnseenReport,
    Verified,
    Wait,
    Waited,
    add_reset_margin,
)

_StateT = TypeVar("_StateT")
MAX_LACKING_CHARS = 200
LOST_ANSWER_REASON = "ralph was killed before it recorded the answer"
REPEATED_OUTCOMES = ("empty", "limited", "overloaded", "offline", "unusable")  # the same agent run comes again
MAX_LIMITS_IN_A_ROW = 100  # with an end that is told: who says more of them is not believed
MAX_REFUSALS = 2  # runs in a row that were refused the same: a third would be, too


class Rules(Struct, Generic[_StateT], frozen=True):
    """What one run is judged by."""

    policy: Policy[_StateT]
    patience: Patience | None = Patience()  # None: trouble counts as an iteration, like all else


def step(
    rules: Rules[_StateT], state: LoopState[_StateT] | None, seen: Observation
) -> tuple[LoopState[_StateT], Decision]:
    """The next state and the decision. Only Began needs no state before it."""
    state, decision = _advance(rules, state, seen)
    if seen.interrupted_by and not isinstance(decision, TakeSnapshot):  # that belongs to the step that may finish
        return state, Stop(Outcome.INTERRUPTED, seen.interrupted_by)
    return state, decision


def _advance(
    rules: Rules[_StateT], state: LoopState[_StateT] | None, seen: Observation
) -> tuple[LoopState[_StateT], Decision]:
    fact = seen.fact
    if isinstance(fact, Began):
        inner, wanted = rules.policy.begin(fact.limits)
        tally = Tally(cost_usd=fact.spent_usd, standstill=forgive_standstill(fact.standstill, fact.limits.stuck))
        state = LoopState(inner=inner, wanted=wanted, tally=tally, limits=fact.limits, pending_notes=fact.pending_notes)
        return _await_snapshot(state, fact.report, 0) if fact.report else _apply_limits(rules, state, seen)
    if state is None:
        raise ValueError(f"a journal starts with Began, not with {fact!r}")
    match fact:
        case Interrupted(paused=True):
            state = replace(state, tally=_add_cost(state.tally, fact))
            return (state, PauseLoop(seen.paused_by)) if seen.paused_by else _apply_limits(rules, state, seen)
        case Interrupted(by):
            return replace(state, tally=_add_cost(state.tally, fact)), Stop(Outcome.INTERRUPTED, by)
        case AnswersLost():  # what was wanted still is
            return replace(state, tally=_add_cost(state.tally, fact)), Wait(0.0, LOST_ANSWER_REASON)
        case Resumed(limits):
            tally = replace(state.tally, troubles=0, empties=0, limit_seconds=0.0, refusals=RefusalStreak())
            tally = replace(tally, standstill=forgive_standstill(tally.standstill, state.limits.stuck))
            tally = tally if fact.waits_on else replace(tally, resting=(), agent="")
            state = replace(state, limits=limits, tally=tally)
            if state.unseen is not None:
                return state, TakeSnapshot(state.unseen.iteration)
            if isinstance(state.wanted, Stop) and state.wanted.outcome is Outcome.TAMPERED:
                return _ask_policy(rules, state, seen)  # a person may have accepted what was refused
            if fact.rechecks and _rests_on_checks(state.wanted):
                return _ask_policy(rules, state, seen)  # nobody knows what became of the files since
            return _wait_on(state, fact, seen) or _apply_limits(rules, state, seen)
        case Waited() if not isinstance(state.wanted, Wait):  # it was trouble that was waited for
            return _apply_limits(rules, state, seen)
        case Reported(unseen=True):
            counted = _count_report(rules, state, fact)
            return _await_snapshot(counted, fact, state.tally.iterations + 1)
        case Reported():
            return _judge_run(rules, _count_report(rules, state, fact), seen, fact)
        case SnapshotTaken():
            if state.unseen is None:
                raise ValueError("a snapshot of no agent run")
            reported = _complete_report(state.unseen.reported, fact)
            return _judge_run(rules, replace(state, unseen=None), replace(seen, fact=reported), reported)
        case Saved() | Verified():
            state = replace(state, tally=_add_cost(state.tally, fact))
            if isinstance(fact, Saved):
                state = replace(state, tally=replace(state.tally, scm_problems=fact.problems))
            if isinstance(fact, Verified) and fact.verified:  # whatever was refused, the work got on
                state = replace(state, tally=replace(state.tally, refusals=RefusalStreak()))
        case Landed():
            state = replace(state, tally=_add_known_cost(state.tally, fact.cost_usd))
        case Checked() | Looked() | Awaited() | Surveyed() | Restored():
            pass
        case Waited() | Forbidden():
            pass
        case _:
            assert_never(fact)
    return _ask_policy(rules, state, seen)


def _count_report(rules: Rules[_StateT], state: LoopState[_StateT], reported: Reported) -> LoopState[_StateT]:
    """What people told an agent that did not come to work is told the next one."""
    tally = _count_run(state.tally, reported, rules.patience)
    pending = state.pending_notes if reported.outcome in REPEATED_OUTCOMES else ()
    return replace(state, tally=tally, pending_notes=pending)


def _await_snapshot(
    state: LoopState[_StateT], reported: Reported, iteration: int
) -> tuple[LoopState[_StateT], Decision]:
    """What an agent did is on record before anything else is done: looking at its work takes long enough to be killed
    meanwhile."""
    return replace(state, unseen=UnseenReport(reported, iteration)), TakeSnapshot(iteration)


def _complete_report(reported: Reported, taken: SnapshotTaken) -> Reported:
    return replace(
        reported,
        unseen=False,
        tree=taken.tree,
        head=taken.head,
        present=taken.present,
        proofs=taken.proofs,
        undone=taken.undone,
    )


def _judge_run(
    rules: Rules[_StateT], state: LoopState[_StateT], seen: Observation, reported: Reported
) -> tuple[LoopState[_StateT], Decision]:
    """A run that the tally counts already."""
    state = replace(state, tally=_count_refusal(state.tally, reported))
    return (
        _handle_trouble(rules, state, reported, seen)
        or _stop_for_question(state, reported)
        or _ask_policy(rules, state, seen)
    )


def _stop_for_question(state: LoopState[_StateT], reported: Reported) -> tuple[LoopState[_StateT], Decision] | None:
    """What was wanted stays wanted: whoever has the answer does the same again."""
    question = find_question(reported)
    return (state, Stop(Outcome.BLOCKED, describe_question(question), question=question)) if question else None


def _rests_on_checks(wanted: Decision) -> bool:
    completes = isinstance(wanted, Stop) and wanted.outcome is Outcome.COMPLETED
    return completes or isinstance(wanted, Save) or (isinstance(wanted, Check) and wanted.sealed)


def replay(rules: Rules[_StateT], seen: Iterable[Observation]) -> tuple[LoopState[_StateT] | None, list[Decision]]:
    """Fold `step` over what a journal holds."""
    state: LoopState[_StateT] | None = None
    decisions = []
    for observation in seen:
        state, decision = step(rules, state, observation)
        decisions.append(decision)
    return state, decisions


def _ask_policy(
    rules: Rules[_StateT], state: LoopState[_StateT], seen: Observation
) -> tuple[LoopState[_StateT], Decision]:
    role = state.wanted.brief.role if isinstance(state.wanted, RunAgent) else ""
    standstill = watch_fact(state.tally.standstill, seen.fact, iteration=state.tally.iterations, role=role)
    state = replace(state, tally=replace(state.tally, standstill=standstill))
    inner, wanted = rules.policy.decide(state.inner, seen, state.tally, state.limits)
    return _apply_limits(rules, replace(state, inner=inner, wanted=wanted), seen)


def _apply_limits(
    rules: Rules[_StateT], state: LoopState[_StateT], seen: Observation
) -> tuple[LoopState[_StateT], Decision]:
    """A limit forbids starting work, never judging work already done."""
    match state.wanted:
        case RunAgent(brief):
            state = _judge_iteration(rules, state)
            if stop := _check_limits(rules, state, seen):
                return state, stop
            if seen.paused_by:
                return state, PauseLoop(seen.paused_by)
            state = replace(state, tally=replace(state.tally, agent=_choose_agent(state, brief, seen.wall)))
            state = replace(state, pending_notes=_add_notes(state.pending_notes, seen.notes))
            return state, RunAgent(_fill_brief(brief, state, seen))
        case Save() if stop := _check_budget_and_time(state, seen):
            return _ask_policy(rules, state, replace(seen, fact=Forbidden(stop.why)))
        case Save(iteration):
            return state, Save(iteration, _budget_left(state, seen))
        case wanted:
            return state, wanted


def _judge_iteration(rules: Rules[_StateT], state: LoopState[_StateT]) -> LoopState[_StateT]:
    """Another agent is to start, so what the last one did can be compared with what went before."""
    if state.tally.standstill.open is None:
        return state
    standstill = judge_iteration(state.tally.standstill, rules.policy.sign_progress(state.inner))
    return replace(state, tally=replace(state.tally, standstill=standstill))


def _fill_brief(brief: Brief, state: LoopState[_StateT], seen: Observation) -> Brief:
    stuck, standstill, feedback = state.limits.stuck, state.tally.standstill, brief.feedback
    if stuck and stuck.tell and standstill.count >= stuck.tell:
        feedback = (*feedback, build_standstill_feedback(standstill))
    return replace(
        brief,
        iteration=state.tally.iterations + 1,
        limit=state.limits.iterations,
        budget_usd=_budget_left(state, seen),
        feedback=feedback,
        agent=state.tally.agent,
        notes=state.pending_notes,
    )


def _add_notes(pending: tuple[PersonNote, ...], notes: tuple[PersonNote, ...]) -> tuple[PersonNote, ...]:
    known = {note.id for note in pending}
    return (*pending, *(note for note in notes if note.id not in known))


def _choose_agent(state: LoopState[_StateT], brief: Brief, wall: float) -> str:
    """The stronger one for a loop that stands still, else the first of the chain that can work."""
    stuck, tally, chain = state.limits.stuck, state.tally, state.limits.chain or AgentChain()
    escalates = stuck and stuck.agent and stuck.escalate and tally.standstill.count >= stuck.escalate
    if stuck and escalates and not is_resting(stuck.agent, tally.resting, wall):
        return stuck.agent
    rested = find_rested_agent(chain, tally.resting, wall)
    return brief.agent if rested is None else rested


def _budget_left(state: LoopState[_StateT], seen: Observation) -> float | None:
    """Of the run's own budget or of the day's, whichever is less."""
    limits, left = state.limits, []
    if limits.cost_usd is not None:
        left.append(limits.cost_usd - _find_reserve(state) - state.tally.spent_usd)
    if limits.day_usd is not None and seen.today_usd is not None:
        left.append(limits.day_usd - seen.today_usd)
    return min(left, default=None)


def _check_limits(rules: Rules[_StateT], state: LoopState[_StateT], seen: Observation) -> Stop | None:
    limits, tally = state.limits, state.tally
    if tally.refusals.times >= MAX_REFUSALS:
        again = f"It was refused the same {tally.refusals.times} times in a row."
        return Stop(Outcome.UNUSABLE, f"{tally.refusals.detail} {again}")
    if limits.stuck and limits.stuck.stop and tally.standstill.count >= limits.stuck.stop:
        return Stop(Outcome.STUCK, _explain_stuck(rules, state))
    if tally.iterations >= limits.iterations:
        stop: Stop | None = Stop(Outcome.EXHAUSTED, rules.policy.explain_exhaustion(limits))
    else:
        stop = _check_budget_and_time(state, seen)
    missing = rules.policy.explain_incompletion(state.inner) if stop else ""
    return replace(stop, why=f"{stop.why}: {missing}") if stop and missing else stop


def _explain_stuck(rules: Rules[_StateT], state: LoopState[_StateT]) -> str:
    """Who got no further, in what, and what was lacking."""
    brief = state.wanted.brief if isinstance(state.wanted, RunAgent) else Brief(iteration=0, limit=0)
    lacking = rules.policy.explain_incompletion(state.inner)
    if not lacking and brief.role and brief.feedback:
        lacking = one_line(brief.feedback[-1].text, MAX_LACKING_CHARS)
    why = explain_standstill(state.tally.standstill)
    why = f"{brief.role}: {why}" if brief.role else why
    return f"{why}; {lacking}" if lacking and "failed the same way" not in why else why


def _find_reserve(state: LoopState[_StateT]) -> float:
    """What of the budget is not for the agent that is wanted next."""
    writes = isinstance(state.wanted, RunAgent) and state.wanted.brief.role in WRITING_ROLES
    return state.limits.reserve_usd if writes else 0.0


def _check_budget_and_time(state: LoopState[_StateT], seen: Observation, later: float = 0.0) -> Stop | None:
    """Whether they are used up; `later`: in so many seconds."""
    tally, limits = state.tally, state.limits
    reserve = _find_reserve(state)
    if reserve and limits.cost_usd is not None and limits.cost_usd - reserve <= tally.spent_usd < limits.cost_usd:
        spent = f"${tally.spent_usd:.2f} of the ${limits.cost_usd:.2f} budget spent"
        return Stop(Outcome.OVER_BUDGET, f"{spent}; the other ${reserve:.2f} are reserved for reviews (budgetReserve)")
    if limits.cost_usd is not None and tally.spent_usd >= limits.cost_usd:
        sign = "≈" if tally.estimated_usd else ""
        return Stop(Outcome.OVER_BUDGET, f"{sign}${tally.spent_usd:.2f} of the ${limits.cost_usd:.2f} budget spent")
    if limits.day_usd is not None and seen.today_usd is not None and seen.today_usd >= limits.day_usd:
        spent = f"${seen.today_usd:.2f} of the ${limits.day_usd:.2f} for a day spent, by all runs of this machine"
        return Stop(Outcome.OVER_BUDGET, f"{spent} (budgetUsdPerDay)")
    if limits.seconds is not None and seen.at + later >= limits.seconds:
        return Stop(Outcome.EXHAUSTED, f"time limit of {limits.seconds:g}s reached")
    return None


def _count_run(tally: Tally, fact: Reported, patience: Patience | None) -> Tally:
    tally = _add_cost(tally, fact)
    match fact.outcome:
        case "unusable":
            return tally
        case "limited" | "overloaded" | "offline" if patience:
            return replace(tally, troubles=tally.troubles + 1)
        case "limited" if fact.reset_at is not None and tally.troubles < MAX_LIMITS_IN_A_ROW:
            return replace(tally, troubles=tally.troubles + 1)  # the policy waits for its end
        case "empty" if patience and tally.empties < patience.empty_retries:
            return replace(tally, empties=tally.empties + 1)
        case _:
            return replace(tally, iterations=tally.iterations + 1, troubles=0, empties=0, limit_seconds=0.0)


def _count_refusal(tally: Tally, fact: Reported) -> Tally:
    if not fact.refused_tools:
        return replace(tally, refusals=RefusalStreak())
    sign = "\n".join((*sorted({*fact.refused_tools, *fact.refused_commands}), fact.tree))
    times = tally.refusals.times + 1 if sign == tally.refusals.sign else 1
    return replace(tally, refusals=RefusalStreak(sign, times, fact.detail))


def _add_cost(tally: Tally, fact: Reported | Saved | Verified | Interrupted | AnswersLost) -> Tally:
    tally = replace(tally, usage=tally.usage + fact.usage)
    if not isinstance(fact, Reported):
        return _add_known_cost(tally, fact.cost_usd)
    tally = tally if fact.is_free else _add_known_cost(tally, fact.cost_usd)
    estimated = (fact.estimated_usd or 0.0) if fact.cost_usd is None else 0.0
    return replace(
        tally, estimated_usd=tally.estimated_usd + estimated, unpriced=tally.unpriced + int(fact.is_unpriced)
    )


def _add_known_cost(tally: Tally, usd: float | None) -> Tally:
    return tally if usd is None else replace(tally, cost_usd=(tally.cost_usd or 0.0) + usd)


def _handle_trouble(
    rules: Rules[_StateT], state: LoopState[_StateT], fact: Reported, seen: Observation
) -> tuple[LoopState[_StateT], Decision] | None:
    """What is not the agent's doing spends no iteration: another agent, wait, ask again, or give up."""
    chain = state.limits.chain
    if chain and fact.outcome == "limited" and chain.on_limit == "stop":
        return state, Stop(Outcome.FAILED, f"{fact.detail} ralph does not wait for it (onLimit: stop).")
    switches = fact.outcome == "unusable" or (fact.outcome == "limited" and chain and chain.on_limit == "switch")
    if chain and switches and (chain.others or state.tally.agent):
        state, fact = _send_to_rest(chain, state, fact, seen)
        if find_rested_agent(chain, state.tally.resting, seen.wall) is not None:
            return _apply_limits(rules, state, seen)
    match fact.outcome:
        case "unusable":
            return state, Stop(Outcome.UNUSABLE, fact.detail, fact.lasting)
        case "empty" if state.tally.empties:
            return _apply_limits(rules, state, seen)
        case "limited" if rules.patience and rules.patience.retries and rules.patience.max_wait is not None:
            return _wait_for_limit(rules.patience, rules.patience.max_wait, state=state, fact=fact, seen=seen)
        case "limited" | "overloaded" | "offline" if rules.patience:
            return state, _wait_or_give_up(rules.patience, state, fact, seen)
        case _:
            return None


def _send_to_rest(
    chain: AgentChain, state: LoopState[_StateT], fact: Reported, seen: Observation
) -> tuple[LoopState[_StateT], Reported]:
    """Who reported cannot go on. Where nobody else can, either, the first that has rested is waited for."""
    resting = send_to_rest(state.tally.resting, state.tally.agent, fact, chain=chain, wall=seen.wall)
    end = find_first_end(chain, resting)
    state = replace(state, tally=replace(state.tally, resting=resting))
    return state, fact if end is None else replace(fact, outcome="limited", reset_at=end)


def _wait_for_limit(
    patience: Patience, max_wait: float, *, state: LoopState[_StateT], fact: Reported, seen: Observation
) -> tuple[LoopState[_StateT], Decision]:
    """A limit of the account is waited for by the clock, not by tries: it ends when it ends."""
    seconds, waited = _choose_delay(patience, state, fact, seen), state.tally.limit_seconds
    if waited + seconds > max_wait:
        longer = f"That is longer than ralph waits for a limit ({format_duration(max_wait)}, retry.maxWaitSeconds)."
        return state, Stop(Outcome.FAILED, f"{fact.detail} {longer}")
    tally = replace(state.tally, limit_seconds=waited + seconds, limit_end=seen.wall + seconds)
    return replace(state, tally=tally), _wait_within_limits(state, fact, seen, seconds)


def _wait_on(state: LoopState[_StateT], fact: Resumed, seen: Observation) -> tuple[LoopState[_StateT], Decision] | None:
    """What was killed while it waited for a limit waits on."""
    left = state.tally.limit_end - seen.wall
    if not fact.waits_on or left <= 0 or not isinstance(state.wanted, RunAgent):
        return None
    stop = _check_budget_and_time(state, seen)
    return state, stop or Wait(left, "The account's limit has not ended yet.")


def _wait_or_give_up(patience: Patience, state: LoopState[_StateT], fact: Reported, seen: Observation) -> Decision:
    troubles = state.tally.troubles
    if troubles > patience.retries:
        return Stop(Outcome.FAILED, f"{fact.detail} Gave up after {troubles} tries in a row.")
    return _wait_within_limits(state, fact, seen, _choose_delay(patience, state, fact, seen))


def _choose_delay(patience: Patience, state: LoopState[_StateT], fact: Reported, seen: Observation) -> float:
    if fact.reset_at is not None and fact.reset_at > seen.wall:
        return add_reset_margin(fact.reset_at - seen.wall)
    doublings = min(state.tally.troubles - 1, 1000)  # a float ends at 2**1024
    return min(patience.longest, patience.delay * 2.0**doublings)


def _wait_within_limits(state: LoopState[_StateT], fact: Reported, seen: Observation, seconds: float) -> Decision:
    if (stop := _check_budget_and_time(state, seen, later=seconds)) is not None:
        return replace(stop, why=f"{fact.detail} Waiting {seconds:.0f}s for it would pass the limit: {stop.why}")
    return Wait(seconds, fact.detail)
