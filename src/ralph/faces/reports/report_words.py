"""The words of a report, whatever it is written as."""

from collections.abc import Iterator

from msgspec import Struct

from ralph.app.reports.report import Report, ReportedRun
from ralph.app.runs.journal_reader import Iteration
from ralph.app.runs.receipt import Receipt
from ralph.app.runs.spending import ExpenseSum
from ralph.core.text.quantities import format_cost, format_duration, format_money, format_usage, pluralize
from ralph.faces.clock import format_local_time
from ralph.faces.proof_words import BY_WORDS_WARNING, COMMIT_HASH_CHARS, describe_check, describe_checked_tree
from ralph.model.events import NO_USAGE

NO_ENTRY = "—"
MAX_CHECKS_NAMED = 3
OUTCOME_SIGNS = {"completed": "✓", "interrupted": "‖", None: "●"}


class RunTitle(Struct, frozen=True, kw_only=True):
    """How a run is called in a report."""

    sign: str
    name: str  # the task, or the loop and its run
    goal: str
    state: str  # completed, running, …


def title_run(run: ReportedRun) -> RunTitle:
    receipt = run.receipt
    name = receipt.task if receipt.kind == "execute" and receipt.task else f"{receipt.kind} {receipt.id}"
    state = "running" if receipt.active else (receipt.outcome or "unknown").replace("_", " ")
    sign = OUTCOME_SIGNS[None] if receipt.active else OUTCOME_SIGNS.get(receipt.outcome, "✗")
    return RunTitle(sign=sign, name=name, goal="" if run.goal == name else run.goal, state=state)


def format_effort(receipt: Receipt) -> str:
    """3 iterations · 6m7s · $0.71"""
    parts = [count_iterations(receipt), format_duration(receipt.seconds)]
    if cost := format_cost(receipt.cost_usd, receipt.estimated_usd, unpriced=receipt.unpriced, unknown=""):
        parts.append(cost)
    return " · ".join(parts)


def count_iterations(receipt: Receipt) -> str:
    """One that a limit or a kill had repeated is one."""
    return pluralize(len({each.iteration for each in receipt.iterations}), "iteration")


def format_spending(total: ExpenseSum) -> str:
    """$1.24 (≈ $0.20 of it estimated, 2 calls reported no cost) · 184K in / 9K out"""
    known = total.cost_usd is not None or total.estimated_usd is not None
    asides = []
    if total.estimated_usd:
        asides.append(f"≈ {format_money(total.estimated_usd)} of it estimated")
    if total.unpriced:
        asides.append(f"{pluralize(total.unpriced, 'call')} reported no cost")
    money = format_money((total.cost_usd or 0.0) + (total.estimated_usd or 0.0) if known else None, "cost unknown")
    words = f"{money} ({', '.join(asides)})" if asides else money
    return words if total.usage == NO_USAGE else f"{words} · {format_usage(total.usage)}"


def describe_proof(receipt: Receipt) -> str:
    """verified: what completion rests on, in a line; empty where it did not complete."""
    proof = receipt.proof
    if receipt.outcome != "completed" or proof is None:
        return ""
    if proof.by_words_only or not proof.checks:
        return f"not verified, {BY_WORDS_WARNING}"
    checks = [describe_check(check).replace(", exit code 0", "") for check in proof.checks]
    more = f"; {len(checks) - MAX_CHECKS_NAMED} more" if len(checks) > MAX_CHECKS_NAMED else ""
    return f"verified: {'; '.join(checks[:MAX_CHECKS_NAMED])}{more}{describe_checked_tree(proof)}"


def list_results(receipt: Receipt) -> list[str]:
    """What is there now that was not before: commits and merges."""
    found = []
    for each in receipt.iterations:
        if each.saved and each.saved.done:
            found.append(f"{', '.join(each.saved.done)}: {each.saved.message}" if each.saved.message else "committed")
        if each.landed and each.landed.done:
            found.append(f"merged as {each.landed.commit[:COMMIT_HASH_CHARS]}")
    return found


def describe_headline(report: Report) -> str:
    """3 runs · 2 completed · 1 running · 1 waits for you"""
    states = [title_run(run).state for run in report.runs]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states))]
    waiting = [f"{len(report.next_steps)} waiting for you"] if report.next_steps else []
    return " · ".join([pluralize(len(states), "run"), *counts, *waiting])


def describe_period(report: Report) -> str:
    """2026-11-17 08:00 – 09:12"""
    if report.since is not None:
        return f"since {format_local_time('%Y-%m-%d %H:%M', report.since)}"
    began = min(run.receipt.started_at for run in report.runs)
    ends = [run.receipt.ended_at for run in report.runs]
    if any(end is None for end in ends):
        return f"{format_local_time('%Y-%m-%d %H:%M', began)}, still running"
    last = max(end for end in ends if end is not None)
    is_same_day = format_local_time("%F", began) == format_local_time("%F", last)
    ended = format_local_time("%H:%M" if is_same_day else "%Y-%m-%d %H:%M", last)
    return f"{format_local_time('%Y-%m-%d %H:%M', began)} – {ended}"


def describe_part(each: Iteration, receipt: Receipt) -> str:
    """coder 2/15, implement US-001; empty in a loop without parts."""
    if each.turns:
        return f"{each.role} {each.turn}/{each.turns}"
    return " ".join(filter(None, (each.role, "" if each.story == receipt.task else each.story)))


def describe_iteration_end(each: Iteration, receipt: Receipt) -> str:
    if each.outcome is None:
        return "at work" if receipt.active and each is receipt.iterations[-1] else "no report"
    return each.outcome.replace("_", " ")


def list_aftermath(each: Iteration) -> Iterator[str]:
    """What came after an agent run, a line each; foreign words as they are."""
    if each.detail and each.outcome != "finished":
        yield each.detail
    for check in each.checks:
        code = "" if check.exit_code is None else f", exit code {check.exit_code}"
        found = check.reason or check.summary
        reason = f": {found}" if found and not check.passed else f": {check.reason}" if check.reason else ""
        what = f"{check.name} ({check.command})" if check.command else check.name
        yield f"{'✓' if check.passed else '✗'} {what}{code}{reason}"
    if each.reviewed:
        feedback = f": {each.reviewed.feedback}" if each.reviewed.feedback else ""
        yield f"{each.story} {(each.reviewed.status or 'open').replace('_', ' ')}{feedback}"
    if each.saved:
        yield from ([f"✓ {', '.join(each.saved.done)}: {each.saved.message}"] if each.saved.done else [])
        yield from (f"! {problem}" for problem in each.saved.problems)
    if each.landed:
        landed = each.landed
        why = landed.conflict or landed.red or landed.problem or "its files differ from those that were verified"
        yield f"✓ merged as {landed.commit[:COMMIT_HASH_CHARS]}" if landed.done else f"✗ not merged: {why}"
    for remark in each.remarks:
        waited = f" {format_duration(remark.seconds)}" if remark.kind == "waited" else ""
        text = f": {remark.text}" if remark.text else ""
        yield f"{remark.kind.replace('_', ' ')}{waited}{text}"


def list_afterword(run: ReportedRun) -> list[str]:
    """For who was away while it ran: how it was verified, what came of it, and what is left to do."""
    step = [f"{run.next_step.reason}: `{run.next_step.command}`"] if run.next_step else []
    return [line for line in (describe_proof(run.receipt), *list_results(run.receipt), *step) if line]
