"""Killed at a named point, or with a full disk: each loop comes to its end as if nothing had happened. Some of what
`make torture` does; its figures are in docs/reliability.md."""

import importlib
import re
from pathlib import Path

import pytest

from torture.crash_points import POINTS, Point
from torture.crash_scenes import LOOPS, Scene
from torture.crashes import Blow, play_one
from torture.full_disk import can_mount

AGENT, STORE = "engine.agent_run:AgentRunner", "stores.sqlite.runs:SqliteRunStore"
RECORDED = "engine.loops.pipeline:PipelineEffects._record_end"
QUICK = (
    Blow(loop="run", kind="kill", where=f"{AGENT}.run", side="after", number=2),  # of a commit message
    Blow(loop="story", kind="kill", where=f"{AGENT}.run", side="after"),  # it has reported, and nobody knows
    Blow(loop="supervise", kind="ENOSPC", where=f"{STORE}.append", side="before", number=6),
    Blow(loop="execute", kind="kill", where=RECORDED, side="before", number=2),
    Blow(loop="execute", kind="full", where="2", side="after", number=40),  # before a judge is asked
)


@pytest.mark.slow
@pytest.mark.parametrize("blow", QUICK, ids=[blow.name for blow in QUICK])
def test_a_loop_comes_to_its_end_as_if_nothing_had_happened(blow: Blow, tmp_path: Path) -> None:
    if blow.kind == "full" and not can_mount():
        pytest.skip("no disk of its own can be had here")
    (tmp_path / "template").mkdir()
    template = Scene(blow.loop, tmp_path / "template")
    assert play_one(template, blow, tmp_path / "scene") == []


@pytest.mark.parametrize("point", POINTS, ids=[point.name for point in POINTS])
def test_every_named_point_is_there(point: Point) -> None:
    owner: object = importlib.import_module(point.module)
    for part in point.function.split("."):
        owner = getattr(owner, part)
    assert callable(owner)


def test_there_are_many_points_and_the_published_trials_found_no_fault() -> None:
    page = (Path(__file__).parents[2] / "docs/reliability.md").read_text()
    kills = re.search(r"^\d+ named points, (\d+) kills, \d+ trials in all\.$", page, re.MULTILINE)
    assert len(POINTS) >= 40
    assert kills
    assert int(kills[1]) >= 500
    assert all(re.search(rf"^\| {loop} \|.*\| 0 \|$", page, re.MULTILINE) for loop in LOOPS)
