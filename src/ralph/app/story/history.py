"""What earlier loops on a list of stories left in their journals: work nobody judged, and what it took."""

import time
from collections.abc import Iterator
from itertools import takewhile

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.runs.proofs.evidence import JournalRows
from ralph.app.stores import open_existing_stores
from ralph.core.stories.review import is_story_done, parse_story_file
from ralph.model.loop import (
    Brief,
    Decision,
    Observation,
    Outcome,
    Reported,
    Restore,
    Restored,
    RunAgent,
    Stop,
    Survey,
    Surveyed,
    TakeSnapshot,
)
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore
from ralph.model.story import StoryRules

KIND = "story"
LIST_CLOSED_MARK = "put_away"  # a note on the last loop of a list: what comes after it is another list


class StoryAgentRun(Struct, frozen=True):
    """One agent run of a loop; one that is tried again is not an iteration but costs all the same."""

    story: str
    reported: Reported
    is_iteration: bool


class _StoredRequest(Struct, frozen=True):
    """What of a loop's request matters here."""

    rules: StoryRules = StoryRules()


def list_current_loops(runs: RunStore, folder: str) -> list[RunRecord]:
    """The loops on the list in this folder, the newest first."""
    return list(takewhile(lambda loop: not runs.has_wish(loop.id, LIST_CLOSED_MARK), _list_loops(runs, folder)))


def has_loops(runs: RunStore, folder: str) -> bool:
    """Whether any is on record, of this list or of one before it."""
    return bool(_list_loops(runs, folder))


def close_story_list(places: Paths, folder: str) -> None:
    """The folder gets a new list: what the loops before did does not concern it."""
    with open_existing_stores(places) as stores:
        if stores is None:
            return
        for loop in _list_loops(stores.runs, folder)[:1]:
            stores.runs.add_wish(loop.id, LIST_CLOSED_MARK, time.time())


def find_unjudged_iteration(runs: RunStore, folder: str) -> Brief | None:
    """The iteration after which nobody looked at tasks.json: its loop was killed, interrupted or gave up."""
    for loop in list_current_loops(runs, folder):
        is_known, brief = _find_open_iteration(runs.list_transitions(loop.id))
        if is_known:
            return brief
    return None


def read_agent_runs(rows: JournalRows) -> Iterator[StoryAgentRun]:
    """Every agent run of a loop that told its end."""
    story, reported = "", None
    for seen, decision in _decode_rows(rows):
        reported = seen.fact if isinstance(seen.fact, Reported) else reported
        if isinstance(decision, TakeSnapshot):  # whether it counts is decided after that
            continue
        if reported and story:
            yield StoryAgentRun(story, reported, isinstance(decision, Survey) or _is_interruption(decision))
        story, reported = decision.brief.story if isinstance(decision, RunAgent) else "", None
    if reported and story:
        yield StoryAgentRun(story, reported, True)


def compute_average_iterations(runs: RunStore, skip_review: bool) -> float | None:
    """How many iterations a story took so far, in all loops of the repository that ended one; None without any."""
    taken: dict[tuple[str, int, str], int] = {}
    done: set[tuple[str, int, str]] = set()
    lists: dict[str, int] = {}  # how many were put away, by folder
    for loop in reversed(_list_loops(runs)):
        if msgspec.json.decode(runs.read_request(loop.id), type=_StoredRequest).rules.skip_review == skip_review:
            place = (loop.folder, lists.get(loop.folder, 0))
            rows = runs.list_transitions(loop.id)
            for effort in read_agent_runs(rows):
                key = (*place, effort.story)
                taken[key] = taken.get(key, 0) + effort.is_iteration
            done |= {(*place, story) for story in _list_finished_stories(rows, skip_review)}
        if runs.has_wish(loop.id, LIST_CLOSED_MARK):
            lists[loop.folder] = lists.get(loop.folder, 0) + 1
    counts = [count for key, count in taken.items() if key in done and count]
    return sum(counts) / len(counts) if counts else None


def _is_interruption(decision: Decision) -> bool:
    return isinstance(decision, Stop) and decision.outcome is Outcome.INTERRUPTED


def _list_loops(runs: RunStore, folder: str | None = None) -> list[RunRecord]:
    return [run for run in runs.list_latest(1000) if run.kind == KIND and folder in (None, run.folder)]


def _find_open_iteration(rows: JournalRows) -> tuple[bool, Brief | None]:
    """Whether this journal knows of one at all, and the one it left."""
    is_known, brief = False, None
    for seen, decision in _decode_rows(rows):
        match seen.fact:
            case Restored():
                is_known, brief = True, None
            case Surveyed() if not seen.interrupted_by and not isinstance(decision, Restore):
                is_known, brief = True, None
            case _:
                pass
        if isinstance(decision, RunAgent):
            is_known, brief = True, decision.brief
    return is_known, brief


def _list_finished_stories(rows: JournalRows, skip_review: bool) -> set[str]:
    """The stories that are done in the last list this loop held to be true."""
    text = ""
    for seen, decision in _decode_rows(rows):
        if isinstance(seen.fact, Surveyed):
            text = seen.fact.text or text
        if isinstance(decision, Restore):
            text = decision.text or text
    return {story.id for story in parse_story_file(text).stories if is_story_done(story, skip_review)}


def _decode_rows(rows: JournalRows) -> Iterator[tuple[Observation, Decision]]:
    for seen, decision in rows:
        yield msgspec.json.decode(seen, type=Observation), msgspec.json.decode(decision, type=Decision)
