"""Use case: what a story loop cost and how often each story was reviewed."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Places
from ralph.app.story.history import Effort, current, efforts
from ralph.core.stories.review import AUTO_APPROVED, Story, is_done, read
from ralph.engine.atomic_file import read_whole
from ralph.model.errors import ConfigError
from ralph.model.story import StoryPlace
from ralph.stores import sqlite
from ralph.stores.runs import Runs


class StoryLine(Struct, frozen=True):
    """One story of the report."""

    id: str
    title: str
    status: str
    done: bool
    reviews: int
    iterations: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None


class Report(Struct, frozen=True):
    """All stories, and the sums."""

    project: str
    stories: tuple[StoryLine, ...]
    iterations: int
    seconds: float
    cost_usd: float | None


def report(place: StoryPlace, places: Places) -> Report:
    """From tasks.json and the journals of every run on it."""
    try:
        tasks = read(read_whole(place.tasks))
    except OSError as error:
        raise ConfigError(f"cannot read {place.tasks}: {error.strerror}", "make it with `ralph story init`") from error
    if tasks.problems:
        raise ConfigError(f"{place.tasks}: {tasks.problems[0]}", "see all of it with `ralph story check`")
    lines = {story.id: _line(story) for story in tasks.stories}
    for effort in _efforts(place, places):
        if effort.story in lines:
            lines[effort.story] = _with(lines[effort.story], effort)
    costs = [line.cost_usd for line in lines.values() if line.cost_usd is not None]
    return Report(
        str(tasks.document.get("project") or ""),
        tuple(lines.values()),
        sum(line.iterations for line in lines.values()),
        sum(line.seconds for line in lines.values()),
        sum(costs) if costs else None,
    )


def _line(story: Story) -> StoryLine:
    done = is_done(story, skip_review=story.status is None)
    status = story.status or ("passes" if story.passes else "open")
    if story.passes and story.feedback.startswith(AUTO_APPROVED):
        status = "approved at cap"
    return StoryLine(story.id, story.title, status, done, story.count)


def _with(line: StoryLine, effort: Effort) -> StoryLine:
    told = effort.told
    return replace(
        line,
        iterations=line.iterations + effort.is_iteration,
        seconds=line.seconds + told.seconds,
        cost_usd=line.cost_usd if told.cost_usd is None else (line.cost_usd or 0.0) + told.cost_usd,
    )


def _efforts(place: StoryPlace, places: Places) -> list[Effort]:
    """Every agent run on these stories."""
    database = sqlite.opened_to_read(places.database)
    if database is None:
        return []
    runs = Runs(database)
    return [effort for loop in current(runs, place.folder) for effort in efforts(runs.transitions(loop.id))]
