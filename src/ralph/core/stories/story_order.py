"""Which story comes next, which have to wait, and what makes a list of stories unworkable."""

from collections.abc import Sequence

from ralph.core.stories.review import CHANGES_REQUESTED, NEEDS_REVIEW, Story, find_invariant_problems, is_story_done
from ralph.core.tasks import graph


def choose_next_story(stories: Sequence[Story], skip_review: bool) -> Story | None:
    """What an implement iteration works on: the lowest priority number that waits for nothing; None without one."""
    waiting = find_blocked_stories(stories, skip_review)
    free = [story for story in _open_stories(stories, skip_review) if story.id not in waiting]
    return min(free, key=lambda story: story.priority, default=None)


def find_blocked_stories(stories: Sequence[Story], skip_review: bool) -> dict[str, tuple[str, ...]]:
    """The open stories that have to wait, and for which ids: they are not done, or not there at all."""
    waits = graph.find_blocked(
        {s.id: s.needs for s in stories}, [s.id for s in stories if is_story_done(s, skip_review)]
    )
    return {story.id: waits[story.id] for story in _open_stories(stories, skip_review) if story.id in waits}


def find_plan_problems(stories: Sequence[Story], cap: int, skip_review: bool) -> list[str]:
    """Why no loop can begin with these valid stories."""
    if not stories:
        return ["tasks.json has no user stories."]
    needs = {story.id: story.needs for story in stories}
    problems = [
        f"Story {id_} depends on {', '.join(map(repr, away))}, which tasks.json does not have."
        for id_, away in graph.find_unknown_needs(needs).items()
    ]
    if ring := graph.find_cycle(needs):
        problems.append(f"Stories wait for each other: {graph.format_cycle(ring)}.")
    return (
        problems
        if skip_review
        else [*problems, *find_invariant_problems(stories, cap), *_find_unreviewable(stories, cap)]
    )


def _find_unreviewable(stories: Sequence[Story], cap: int) -> list[str]:
    """Stories that a lowered cap leaves without a legal next review."""
    return [
        f"Story {story.id} still needs a review but has had {story.count}: raise the review cap to {story.count}."
        for story in stories
        if story.status in (NEEDS_REVIEW, CHANGES_REQUESTED) and story.count == cap + 1
    ]


def _open_stories(stories: Sequence[Story], skip_review: bool) -> list[Story]:
    return [story for story in stories if not story.passes and (skip_review or story.status is None)]
