"""`.ralph-active`: whose it is, and when it goes."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.engine.marker import MarkerFile, find_owner_pid
from ralph.model.loop import Brief
from ralph.model.story import StoryPaths, StoryRules
from ralph.process.identity import identify_process, identify_self
from support.stories import make_story

TASKS = json.dumps({"project": "p", "description": "d", "userStories": [make_story("S-1")]})


@pytest.fixture
def place(tmp_path: Path) -> StoryPaths:
    (tmp_path / "loop").mkdir()
    return StoryPaths(str(tmp_path), str(tmp_path / "loop"))


@pytest.fixture
def other() -> Iterator[int]:
    """Another process that lives."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def write(place: StoryPaths, content: object) -> None:
    Path(place.marker).write_text(json.dumps(content))


def test_it_says_what_the_iteration_may_do_and_whose_it_is(place: StoryPaths) -> None:
    rules, me = StoryRules(), identify_self()
    MarkerFile(place, rules).write(Brief(iteration=2, limit=9, tasks=TASKS))
    content = json.loads(Path(place.marker).read_text())
    assert (content["pid"], content["ticks"], content["boot"]) == (me.pid, me.ticks, me.boot)
    assert (content["max_iterations"], content["ralphDir"]) == (9, "loop")
    assert content["iterationMode"] == "implement", "by the list, where nobody said"
    MarkerFile(place, rules).write(Brief(iteration=2, limit=9, role="review", tasks=TASKS))
    assert json.loads(Path(place.marker).read_text())["iterationMode"] == "review"


def test_ours_goes_with_us_whatever_an_agent_made_of_it(place: StoryPaths) -> None:
    marker = MarkerFile(place, StoryRules())
    for text in (json.dumps({"pid": os.getpid()}), "{", "[]", json.dumps({"pid": "x"})):
        Path(place.marker).write_text(text)
        marker.remove()
        assert not Path(place.marker).exists(), text


def test_that_of_another_loop_that_lives_stays(place: StoryPaths, other: int) -> None:
    write(place, {"pid": other})
    MarkerFile(place, StoryRules()).remove()
    assert Path(place.marker).exists()


def test_an_owner_is_another_process_that_lives_and_is_the_very_one(place: StoryPaths, other: int) -> None:
    living = identify_process(other)
    assert living is not None
    known = {"pid": other, "ticks": living.ticks, "boot": living.boot}
    for content, owner in (
        (known, other),
        ({"pid": other}, other),  # as other tools write it
        ({**known, "ticks": living.ticks + 1}, 0),  # its number is another's by now
        ({**known, "boot": "another"}, 0),
        ({"pid": os.getpid()}, 0),
        ({"pid": 0}, 0),
        ({"pid": -1}, 0),
        ({"pid": 2**22 + 1}, 0),
        ({"pid": str(other)}, 0),
        ({}, 0),
        ([other], 0),
    ):
        write(place, content)
        assert find_owner_pid(place.marker) == owner, content
    os.unlink(place.marker)
    assert find_owner_pid(place.marker) == 0
