"""What journals of earlier loops tell the next one."""

from pathlib import Path

import msgspec
import pytest

from ralph.app import paths as places
from ralph.app.story.history import (
    close_story_list,
    compute_average_iterations,
    find_unjudged_iteration,
    list_current_loops,
    read_agent_runs,
)
from ralph.model.loop import (
    Began,
    Brief,
    Decision,
    Fact,
    Interrupted,
    Observation,
    Outcome,
    Reported,
    Restore,
    Restored,
    RunAgent,
    Stop,
    Survey,
    Surveyed,
    Wait,
    Waited,
)
from ralph.model.runs import NewRun, RunOwner
from support.stores import connect

Rows = list[tuple[Observation, Decision]]
BRIEF = Brief(iteration=1, limit=15, role="implement", story="US-001", tasks="before")
ENDED = Reported(outcome="finished", seconds=2.0)
SURVEYED = Surveyed(text="after", head="abc")
INTERRUPTED = Stop(Outcome.INTERRUPTED, "SIGINT")
RAN: Rows = [(Observation(fact=Began()), Survey()), (Observation(fact=SURVEYED), RunAgent(BRIEF))]


class Past:
    """A repository's runs, made up."""

    def __init__(self, folder: Path) -> None:
        (folder / ".git").mkdir()
        (folder / ".git/HEAD").touch()
        self.places = places.find_paths(str(folder))
        Path(self.places.state).mkdir()
        self.runs = connect(self.places.database).runs
        self._count = 0

    def loop(self, *rows: tuple[Observation, Decision], folder: str = "ralph", skip_review: bool = False) -> None:
        self._count += 1
        name = f"run-{self._count}"
        asked = msgspec.json.encode({"rules": {"skip_review": skip_review}})
        self.runs.begin(
            NewRun(
                id=name,
                kind="story",
                folder=folder,
                agent="claude",
                request=asked,
                owner=RunOwner(pid=1, ticks=1, boot="", guardian=0, guardian_ticks=0),
                started_at=float(self._count),
            )
        )
        for number, (seen, decision) in enumerate(rows):
            encoded = msgspec.json.encode(seen), msgspec.json.encode(decision)
            self.runs.append((name, number, 0.0, 0.0, 0, 15, None, "", *encoded))


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def seen(fact: Fact, decision: Decision, by: str = "") -> tuple[Observation, Decision]:
    return Observation(fact=fact, interrupted_by=by), decision


@pytest.mark.parametrize(
    "rest",
    [
        [],  # killed
        [seen(Interrupted("SIGINT"), INTERRUPTED)],
        [seen(ENDED, INTERRUPTED, "SIGINT")],
        [seen(ENDED, Survey())],
        [seen(ENDED, Survey()), seen(SURVEYED, INTERRUPTED, "SIGINT")],
        [seen(ENDED, Survey()), seen(SURVEYED, Restore("before"))],
        [seen(Reported(outcome="unusable"), Stop(Outcome.UNUSABLE, "no credit"))],
        [seen(Reported(outcome="limited"), Stop(Outcome.FAILED, "gave up"))],
        [seen(Reported(outcome="limited"), Wait(5, "limit")), seen(Waited(), INTERRUPTED, "SIGINT")],
    ],
)
def test_an_iteration_nobody_judged_is_found_wherever_its_loop_ended(past: Past, rest: Rows) -> None:  # C18
    past.loop(*RAN, *rest)
    assert find_unjudged_iteration(past.runs, "ralph") == BRIEF
    past.loop((Observation(fact=Began()), Survey()))  # a loop that ended before it looked leaves it as it is
    assert find_unjudged_iteration(past.runs, "ralph") == BRIEF


@pytest.mark.parametrize(
    "rest",
    [
        [seen(ENDED, Survey()), seen(SURVEYED, Stop(Outcome.EXHAUSTED, "15"))],
        [seen(ENDED, Survey()), seen(SURVEYED, Restore("before")), seen(Restored(), INTERRUPTED, "SIGINT")],
    ],
)
def test_what_was_judged_is_not_judged_again(past: Past, rest: Rows) -> None:
    past.loop(*RAN)
    past.loop(*RAN, *rest)
    assert find_unjudged_iteration(past.runs, "ralph") is None


def test_another_folder_and_a_list_put_away_do_not_matter(past: Past) -> None:
    past.loop(*RAN, folder="plans")
    assert find_unjudged_iteration(past.runs, "ralph") is None
    close_story_list(past.places, "plans")
    assert find_unjudged_iteration(past.runs, "plans") is None
    past.loop(*RAN, folder="plans")
    assert [loop.id for loop in list_current_loops(past.runs, "plans")] == ["run-2"]
    assert find_unjudged_iteration(past.runs, "plans") == BRIEF


def test_putting_away_needs_no_database(tmp_path: Path) -> None:
    close_story_list(places.find_paths(str(tmp_path)), "ralph")
    assert list(tmp_path.iterdir()) == []


def test_what_is_tried_again_is_no_iteration_but_counts(past: Past) -> None:
    past.loop(
        *RAN,
        seen(Reported(outcome="limited", seconds=1.0), Wait(5, "limit")),
        seen(Waited(), RunAgent(BRIEF)),
        seen(ENDED, Survey()),
    )
    found = list(read_agent_runs(past.runs.list_transitions("run-1")))
    assert [(effort.story, effort.reported.seconds, effort.is_iteration) for effort in found] == [
        ("US-001", 1.0, False),
        ("US-001", 2.0, True),
    ]


def test_nothing_was_observed_until_a_story_is_done(past: Past) -> None:
    past.loop(*RAN, seen(ENDED, Survey()), seen(SURVEYED, Stop(Outcome.EXHAUSTED, "1")))
    assert compute_average_iterations(past.runs, skip_review=False) is None
