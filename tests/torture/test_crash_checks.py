"""Each thing that must hold after a crash is truly looked at: broken on purpose, it is named."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from torture.crash_memory import check_legal_states, check_nothing_lost, remember
from torture.crash_scenes import Scene

LAST = "(SELECT max(seq) FROM transition)"


@pytest.fixture(scope="module", params=["run", "execute"])
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    scene = Scene(request.param, tmp_path_factory.mktemp(request.param))
    assert scene.shop.ralph(*scene.words).returncode == 0
    shutil.copytree(scene.folder, scene.folder.with_name(f"{scene.folder.name}-kept"), symlinks=True)
    return scene


@pytest.fixture
def scene(finished: Scene) -> Iterator[Scene]:
    yield finished
    kept = finished.folder.with_name(f"{finished.folder.name}-kept")
    shutil.rmtree(finished.folder)
    shutil.copytree(kept, finished.folder, symlinks=True)


def change(scene: Scene, sql: str) -> None:
    with closing(sqlite3.connect(scene.database)) as database, database:
        database.execute(sql)


def edit_receipt(scene: Scene) -> None:
    (path,) = scene.repo.glob(".git/ralph/runs/*/receipt.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "cost_usd": 7.0}))


def repeat_agent(scene: Scene) -> None:
    (path,) = scene.repo.glob(".git/ralph/runs/*/agent_001.log")
    path.with_name("agent_009.log").write_bytes(path.read_bytes())


def pass_by_words(scene: Scene) -> None:
    if scene.loop == "run":
        pytest.skip("it has no stages")
    change(scene, "UPDATE verification SET by_words = 1 WHERE agent = 'reviewer'")


def change_work(scene: Scene) -> None:
    for name in ("a.txt", "T.txt"):
        if (path := scene.repo / name).exists():
            path.write_text("other\n")


def forget_the_pass(scene: Scene) -> None:
    """All that was green turns red in the journal."""
    with closing(sqlite3.connect(scene.database)) as database, database:
        for run, seq, seen in database.execute("SELECT run, seq, seen FROM transition").fetchall():
            red = (
                bytes(seen)
                .replace(b'"passed":true', b'"passed":false')
                .replace(b'"verified":true', b'"verified":false')
            )
            database.execute("UPDATE transition SET seen = ? WHERE run = ? AND seq = ?", (red, run, seq))


BROKEN: dict[str, tuple[Callable[[Scene], object], str]] = {
    "the journal has a hole": (lambda s: change(s, "DELETE FROM transition WHERE seq = 3"), "jumps"),
    "an iteration is counted back": (
        lambda s: change(s, f"UPDATE transition SET iteration = 0 WHERE seq = {LAST}"),
        "go back",
    ),
    "a run has no end": (lambda s: change(s, "UPDATE run SET ended_at = NULL"), "has no end"),
    "money is counted twice": (
        lambda s: change(s, f"UPDATE transition SET cost_usd = cost_usd + 0.01 WHERE seq = {LAST}"),
        "its rows say",
    ),
    "money that an agent told is lost": (repeat_agent, "ralph counts"),
    "an agent run is had again": (repeat_agent, "had again"),
    "a commit is made twice": (lambda s: s.shop.git("commit", "-q", "--allow-empty", "-m", "Do"), "commits"),
    "a stage passes by words": (pass_by_words, "passed by words"),
    "a receipt says something else": (edit_receipt, "the receipt of"),
    "the files are not those that passed": (change_work, "passed with another"),
    "a file of the user's is gone": (lambda s: (s.repo / "README").write_text(""), "nobody worked on"),
    "there is no pass": (forget_the_pass, "without a pass"),
    "a lock is left": (lambda s: (s.repo / ".git/refs/heads/main.lock").touch(), "stale main.lock"),
    "a work tree is left": (
        lambda s: s.shop.git("worktree", "add", "-q", "--detach", str(s.folder / "tree")),
        "work tree",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_on_purpose_is_named(name: str, scene: Scene) -> None:
    break_it, fault = BROKEN[name]
    break_it(scene)
    assert fault in "\n".join(scene.find_faults())


@pytest.mark.slow
def test_nothing_is_named_where_nothing_is_broken(scene: Scene) -> None:
    memory = remember(scene)
    assert [*check_nothing_lost(scene, memory), *scene.find_faults()] == []


@pytest.mark.slow
def test_a_second_resume_that_works_on_is_named(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scene, "resume_again", lambda scene: scene.shop.ralph("run", "-p", "again", "-m", "1"))
    assert "no no-op" in "\n".join(scene.find_faults())


@pytest.mark.slow
def test_a_process_that_is_left_is_named(scene: Scene) -> None:
    with subprocess.Popen(["sleep", "60"], env=scene.shop.environment) as left:
        try:
            assert "a process is left" in scene.find_faults()
        finally:
            os.kill(left.pid, signal.SIGKILL)


@pytest.mark.parametrize("sql", ["DELETE FROM transition WHERE seq = 2", "DELETE FROM run"])
def test_a_row_that_was_acknowledged_and_is_lost_is_named(sql: str, scene: Scene) -> None:
    memory = remember(scene)
    change(scene, sql)
    assert "are lost" in "\n".join(check_nothing_lost(scene, memory))


def test_a_commit_and_a_log_that_are_lost_are_named(scene: Scene) -> None:
    memory = remember(scene)
    (log,) = scene.repo.glob(".git/ralph/runs/*/agent_001.log")
    log.write_text("other\n")
    scene.shop.git("reset", "-q", "--hard", "HEAD~1")
    faults = "\n".join(check_nothing_lost(scene, memory))
    assert "does not begin as it did" in faults
    assert "is not in the branch" in faults


def test_a_task_in_no_legal_state_is_named(tmp_path: Path) -> None:
    scene = Scene("execute", tmp_path)
    assert [*check_legal_states(scene)] == []
    change(scene, "UPDATE task SET status = 'blocked', worker = ''")
    assert "is blocked" in "\n".join(check_legal_states(scene))
