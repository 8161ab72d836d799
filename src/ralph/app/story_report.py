"""Use case: what a story loop cost and how often each story was reviewed."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app.places import Places
from ralph.core.review import Story, is_done, read
from ralph.model.loop import Decision, Observation, Reported, RunAgent
from ralph.model.story import StoryPlace
from ralph.stores import sqlite
from ralph.stores.runs import Runs

KIND = "story"


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
    with open(place.tasks, encoding="utf-8", errors="replace") as file:
        tasks = read(file.read())
    lines = {story.id: _line(story) for story in tasks.stories}
    for brief_story, told in _told(place, places):
        if brief_story in lines:
            lines[brief_story] = _with(lines[brief_story], told)
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
    return StoryLine(story.id, story.title, story.status or ("passes" if story.passes else "open"), done, story.count)


def _with(line: StoryLine, told: Reported) -> StoryLine:
    cost = line.cost_usd if told.cost_usd is None else (line.cost_usd or 0.0) + told.cost_usd
    return replace(line, iterations=line.iterations + 1, seconds=line.seconds + told.seconds, cost_usd=cost)


def _told(place: StoryPlace, places: Places) -> list[tuple[str, Reported]]:
    """Every agent run on these stories, with the story it was about."""
    database = sqlite.opened_to_read(places.database)
    if database is None:
        return []
    runs = Runs(database)
    found = []
    for record in runs.latest(1000):
        if record.kind == KIND and record.folder == place.folder:
            story = ""
            for seen, decision in runs.transitions(record.id):
                fact = msgspec.json.decode(seen, type=Observation).fact
                if isinstance(fact, Reported) and story:
                    found.append((story, fact))
                decided = msgspec.json.decode(decision, type=Decision)
                story = decided.brief.story if isinstance(decided, RunAgent) else ""
    return found
