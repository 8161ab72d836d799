"""Makes the answers about costs and stories, with what a chart needs."""

from collections.abc import Sequence
from datetime import date, timedelta

from ralph.app.paths import Paths
from ralph.app.runs.spending import Expense, Grouping, group_expenses, name_group, sum_expenses
from ralph.app.story.loop import locate_stories
from ralph.app.story.report import build_story_report
from ralph.faces.views.shapes import CostsAnswer, CostSeries, StoriesAnswer
from ralph.model.errors import RalphError

MAX_SERIES = 6  # more lines nobody tells apart
MAX_DAYS = 366
OTHERS_NAME = "others"
STORY_FOLDER = "ralph"


def build_costs_answer(expenses: Sequence[Expense], by: Grouping, since: str) -> CostsAnswer:
    groups, days = group_expenses(expenses, by), list_days(expenses)
    named = {one.name for one in groups[:MAX_SERIES]} if by != "day" else {"total"}
    values = {name: dict.fromkeys(days, 0.0) for name in (*sorted(named), OTHERS_NAME)}
    for each in expenses:
        day, group = name_group(each, "day"), name_group(each, by) if by != "day" else "total"
        found = values[group if group in named else OTHERS_NAME]
        if day in found:
            found[day] += (each.cost_usd or 0.0) + (each.estimated_usd or 0.0)
    series = [CostSeries(name=name, values=[*found.values()]) for name, found in values.items()]
    return CostsAnswer(
        by=by,
        since=since,
        total=sum_expenses(expenses),
        groups=groups,
        days=days,
        series=[each for each in series if each.name != OTHERS_NAME or any(each.values)],
    )


def list_days(expenses: Sequence[Expense]) -> list[str]:
    """From the first to the last with an expense, without gaps; the last year of them."""
    names = {name_group(each, "day") for each in expenses}
    if not names:
        return []
    first, last = date.fromisoformat(min(names)), date.fromisoformat(max(names))
    count = min((last - first).days + 1, MAX_DAYS)
    return [(last - timedelta(days=back)).isoformat() for back in reversed(range(count))]


def build_stories_answer(paths: Paths) -> StoriesAnswer:
    """The list in the project's folder; without one, what to type."""
    place = locate_stories(paths.folder, STORY_FOLDER)
    try:
        report = build_story_report(place, paths)
    except RalphError as error:
        return StoriesAnswer(folder=place.folder, problem=error.message, hint=error.hint)
    return StoriesAnswer(
        project=report.project,
        folder=place.folder,
        stories=report.stories,
        iterations=report.iterations,
        seconds=report.seconds,
        cost_usd=report.cost_usd,
    )
