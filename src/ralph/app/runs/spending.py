"""Use case: what agents, judges and commit messages cost, by run, task, agent, model or day."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.repositories import list_repositories
from ralph.app.runs.recovery import recover_lost_reports
from ralph.app.stores import open_existing_stores
from ralph.model.errors import UsageError
from ralph.model.events import NO_USAGE, Usage
from ralph.model.loop import AnswersLost, Interrupted, Landed, Observation, Reported, Saved, Verified
from ralph.model.runs import CostlyTransition

Grouping = Literal["day", "task", "agent", "model", "run", "repository"]
GROUPINGS: tuple[Grouping, ...] = ("day", "task", "agent", "model", "run", "repository")
SINCE_HINT = "write today, yesterday, 7d, 24h, 2w, a date such as 2026-11-01, or all"
_DIGITS = 9  # of a dollar; below that is only what sums of fractions leave behind
_SPAN_HOURS = {"h": 1, "d": 24, "w": 168}


class Expense(Struct, frozen=True, kw_only=True):
    """What one call of an agent or a judge cost."""

    at: float  # unix time
    repository: str
    run: str
    kind: str
    task: str
    agent: str
    model: str
    iteration: int
    cost_usd: float | None  # None: it did not say
    estimated_usd: float | None = None  # by its tokens, where it did not
    usage: Usage


class ExpenseSum(Struct, frozen=True, kw_only=True):
    """All expenses of one group together."""

    name: str
    calls: int
    cost_usd: float | None  # as agents reported it
    estimated_usd: float | None = None  # by tokens and `prices`, of calls that reported none
    unpriced: int  # calls of which nobody knows the cost
    usage: Usage


def parse_since(text: str, now: datetime) -> float:
    """Unix time from which on expenses count. UsageError: it says no time."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "all":
        return 0.0
    if text in ("today", "yesterday"):
        return (midnight - timedelta(days=text == "yesterday")).timestamp()
    if found := re.fullmatch(r"(\d{1,5})([hdw])", text):
        return (now - timedelta(hours=int(found[1]) * _SPAN_HOURS[found[2]])).timestamp()
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"{text!r} is not a time", SINCE_HINT) from None


def list_expenses(paths: Paths, since: float) -> list[Expense]:
    """Of one repository, the oldest first."""
    with open_existing_stores(paths) as stores:
        if stores is not None:
            recover_lost_reports(stores, paths)
        rows = [] if stores is None else stores.runs.list_costly_transitions(since)
    return [expense for row in rows if (expense := _read_expense(row, paths.root))]


def list_all_expenses(variables: Mapping[str, str], here: Paths, since: float) -> list[Expense]:
    """Of every repository of this machine that ralph ran in."""
    places = {paths.state: paths for paths in (*list_repositories(variables), here)}
    found = [expense for paths in places.values() for expense in list_expenses(paths, since)]
    return sorted(found, key=lambda expense: expense.at)


def sum_expenses(expenses: Iterable[Expense], name: str = "total") -> ExpenseSum:
    """What they come to."""
    found = [*expenses]
    reported = [expense.cost_usd for expense in found if expense.cost_usd is not None]
    estimated = [expense.estimated_usd for expense in found if expense.estimated_usd is not None]
    usage = NO_USAGE
    for expense in found:
        usage += expense.usage
    return ExpenseSum(
        name=name,
        calls=len(found),
        cost_usd=round(sum(reported), _DIGITS) if reported else None,
        estimated_usd=round(sum(estimated), _DIGITS) if estimated else None,
        unpriced=len(found) - len(reported) - len(estimated),
        usage=usage,
    )


def group_expenses(expenses: Sequence[Expense], by: Grouping) -> list[ExpenseSum]:
    """One sum a group: days in their order, all others by what they cost."""
    groups: dict[str, list[Expense]] = {}
    for expense in expenses:
        groups.setdefault(name_group(expense, by), []).append(expense)
    sums = [sum_expenses(members, key) for key, members in groups.items()]
    return sorted(sums, key=lambda one: one.name) if by == "day" else sorted(sums, key=_by_cost)


def name_group(expense: Expense, by: Grouping) -> str:
    """Which group it belongs to."""
    return _GROUP_NAMES[by](expense)


def _by_cost(one: ExpenseSum) -> tuple[float, str]:
    return -((one.cost_usd or 0.0) + (one.estimated_usd or 0.0)), one.name


_GROUP_NAMES: Mapping[Grouping, Callable[[Expense], str]] = {
    "day": lambda expense: datetime.fromtimestamp(expense.at).astimezone().strftime("%Y-%m-%d"),
    "task": lambda expense: expense.task or f"(ralph {expense.kind})",
    "agent": lambda expense: expense.agent,
    "model": lambda expense: expense.model or f"{expense.agent}'s default",
    "run": lambda expense: expense.run,
    "repository": lambda expense: expense.repository,
}


def _read_expense(row: CostlyTransition, repository: str) -> Expense | None:
    try:
        fact = msgspec.json.decode(row.seen, type=Observation).fact
    except (msgspec.DecodeError, ValueError):
        return None  # of another version; what it cost is not known
    if not isinstance(fact, Reported | Saved | Verified | Landed | Interrupted | AnswersLost):
        return None
    usage = NO_USAGE if isinstance(fact, Landed) else fact.usage
    is_unpriced = isinstance(fact, Reported) and fact.is_unpriced
    if fact.cost_usd is None and usage == NO_USAGE and not is_unpriced:
        return None
    who = fact if isinstance(fact, Reported) else Reported(outcome="finished", agent=getattr(fact, "agent", ""))
    return Expense(
        at=row.wall,
        repository=repository,
        run=row.run,
        kind=row.kind,
        task=row.task,
        agent=who.agent or row.agent,
        model=who.model or _find_model(row.request),
        iteration=row.iteration,
        cost_usd=fact.cost_usd,
        estimated_usd=who.estimated_usd if fact.cost_usd is None else None,
        usage=usage,
    )


class _AgentPart(Struct, frozen=True):
    model: str = ""


class _SettingsPart(Struct, frozen=True):
    agent: _AgentPart = _AgentPart()


class _RequestPart(Struct):
    """As much as all loops' requests have in common: the agent's settings, in one of two places."""

    settings: _SettingsPart = _SettingsPart()
    agent: _AgentPart = _AgentPart()


def _find_model(request: bytes) -> str:
    try:
        found = msgspec.json.decode(request, type=_RequestPart)
    except msgspec.DecodeError:
        return ""
    return found.settings.agent.model or found.agent.model
