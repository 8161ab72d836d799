"""Use case: what a story loop cost and how often each story was reviewed."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.app.stores import open_existing_stores
from ralph.app.story.history import StoryAgentRun, list_current_loops, read_agent_runs
from ralph.core.stories.review import AUTO_APPROVED_MARK, Story, is_story_done, parse_story_file
from ralph.model.errors import ConfigError
from ralph.model.story import StoryPaths
from ralph.process.atomic_file import read_regular_file


class StoryLine(Struct, frozen=True, kw_only=True):
    """One story of the report."""

    id: str
    title: str
    status: str
    done: bool
    reviews: int
    iterations: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None


class StoryReport(Struct, frozen=True, kw_only=True):
    """All stories, and the sums."""

    project: str
    stories: tuple[StoryLine, ...]
    iterations: int
    seconds: float
    cost_usd: float | None


def build_story_report(place: StoryPaths, places: Paths) -> StoryReport:
    """From tasks.json and the journals of every run on it."""
    try:
        tasks = parse_story_file(read_regular_file(place.tasks))
    except OSError as error:
        raise ConfigError(
            f"cannot read {place.tasks}: {error.strerror}", "create it with `ralph story init`"
        ) from error
    if tasks.problems:
        raise ConfigError(f"{place.tasks}: {tasks.problems[0]}", "see all problems with `ralph story check`")
    lines = {story.id: _build_line(story) for story in tasks.stories}
    for effort in _read_all_agent_runs(place, places):
        if effort.story in lines:
            lines[effort.story] = _add_agent_run(lines[effort.story], effort)
    costs = [line.cost_usd for line in lines.values() if line.cost_usd is not None]
    return StoryReport(
        project=str(tasks.document.get("project") or ""),
        stories=tuple(lines.values()),
        iterations=sum(line.iterations for line in lines.values()),
        seconds=sum(line.seconds for line in lines.values()),
        cost_usd=sum(costs) if costs else None,
    )


def _build_line(story: Story) -> StoryLine:
    done = is_story_done(story, skip_review=story.status is None)
    status = story.status or ("passes" if story.passes else "open")
    if story.passes and story.feedback.startswith(AUTO_APPROVED_MARK):
        status = "approved at cap"
    return StoryLine(id=story.id, title=story.title, status=status, done=done, reviews=story.count)


def _add_agent_run(line: StoryLine, effort: StoryAgentRun) -> StoryLine:
    reported = effort.reported
    return replace(
        line,
        iterations=line.iterations + effort.is_iteration,
        seconds=line.seconds + reported.seconds,
        cost_usd=line.cost_usd if reported.cost_usd is None else (line.cost_usd or 0.0) + reported.cost_usd,
    )


def _read_all_agent_runs(place: StoryPaths, places: Paths) -> list[StoryAgentRun]:
    """Every agent run on these stories."""
    with open_existing_stores(places) as stores:
        if stores is None:
            return []
        return [
            effort
            for loop in list_current_loops(stores.runs, place.folder)
            for effort in read_agent_runs(stores.runs.list_transitions(loop.id))
        ]
