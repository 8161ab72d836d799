"""The board of tasks: real SQLite, several real processes, real kills."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from ralph.model.board import (
    Attempted,
    BranchAssigned,
    Cancelled,
    Change,
    CostRecorded,
    Edited,
    GaveUp,
    IllegalMove,
    InvalidInput,
    IterationEnded,
    NoSuchSpec,
    NoSuchTask,
    Released,
    Spec,
    StagePassed,
    TakenOver,
    TaskLanded,
)
from ralph.model.errors import CorruptState
from ralph.model.spec import CompletionCriteria, Task, TaskCompletionSpec, VerificationAttempt, VerificationMethod
from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.tasks import SqliteTaskStore
from support.processes import wait_until

CRITERIA = CompletionCriteria(
    "AUTH",
    "done",
    verification_method=VerificationMethod.EXTERNAL,
    verification_config={"command": "pytest"},
    max_iterations=15,
)
COMPLETION = TaskCompletionSpec("All endpoints need a token", ["tokens are checked"], coder=CRITERIA)
CLAIMER = """
import sys
from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.tasks import SqliteTaskStore
from ralph.model.board import TaskLanded, StagePassed
tasks = SqliteTaskStore(sqlite.open_database(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
while entry := tasks.claim(sys.argv[2]):
    id_ = entry.task.id
    print(id_, flush=True)
    tasks.apply([StagePassed(id_, "coder"), TaskLanded(id_)], f"done:{id_}", sys.argv[2])
"""
WRITER = """
import sys, time
from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.tasks import SqliteTaskStore
from ralph.model.board import Attempted, IterationBegun
from ralph.model.spec import VerificationAttempt
tasks = SqliteTaskStore(sqlite.open_database(sys.argv[1]))
entry = tasks.claim("run-1") or tasks.get("T-1")
number = entry.task.iteration
print("ready", flush=True)
while True:
    number += 1
    attempt = VerificationAttempt(
        iteration=number, promise_found=True, verified=False, reason="no", timestamp="now", agent="coder"
    )
    begun = IterationBegun(
        task="T-1", stage="coder", iteration=number, max_iterations=10**9, completion_promise="AUTH", at=time.time()
    )
    tasks.apply([Attempted("T-1", attempt), begun], f"run-1:{number}", "run-1")
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ralph.db")


@pytest.fixture
def tasks(path: str) -> Iterator[SqliteTaskStore]:
    database = sqlite.open_database(path)
    store = SqliteTaskStore(database)
    store.specs.add_new(Spec(id="auth", title="Auth", text="Tokens everywhere."))
    yield store
    database.close()


def task(id_: str, *needs: str, priority: int = 2, spec: str = "auth") -> Task:
    return Task(id_, spec, f"Do {id_}", priority=priority, depends_on=needs, completion_spec=COMPLETION)


def finish(tasks: SqliteTaskStore, id_: str) -> None:
    assert tasks.claim("run-1", among=[id_])
    tasks.apply([StagePassed(id_, "coder"), TaskLanded(id_)], f"done:{id_}")


def test_a_task_comes_back_as_it_was_put(tasks: SqliteTaskStore) -> None:  # 002-04
    new = Task("T-1", "auth", "Title", "Text", depends_on=(), metadata={"a": [1]}, completion_spec=COMPLETION)
    tasks.add_new([new, task("T-2", "T-1")])
    found = tasks.get("T-1").task
    assert (found.title, found.description, found.metadata, found.completion_spec) == (
        "Title",
        "Text",
        {"a": [1]},
        COMPLETION,
    )
    assert (found.status, found.iteration, found.created_at > 0) == ("todo", 0, True)
    assert tasks.get("T-2").task.depends_on == ("T-1",)
    with pytest.raises(NoSuchTask, match="T-9"):
        tasks.get("T-9")


def test_completion_criteria_are_a_json_column(tasks: SqliteTaskStore, path: str) -> None:  # 002-04
    tasks.add_new([task("T-1"), Task("T-2", "auth", "From before")])
    rows = sqlite3.connect(path).execute(
        "SELECT json_extract(completion_spec, '$.coder.verification_method') FROM task ORDER BY id"
    )
    assert rows.fetchall() == [("external",), (None,)]
    assert tasks.get("T-2").task.completion_spec is None  # C15


def test_a_database_from_before_gets_the_tables_and_keeps_its_runs(path: str) -> None:  # 002-04
    folder = Path(sqlite.__file__).parent / "migrations"
    old = sqlite3.connect(path, isolation_level=None)
    for name in ("0001_runs.sql", "0002_tasks.sql"):
        old.executescript((folder / name).read_text())
    old.execute(
        "INSERT INTO run VALUES('r', 'run', '', 'claude', x'', 1, 1, '', 0, 0, 1.0, 2.0, 'completed', '', NULL, '')"
    )
    old.execute("PRAGMA user_version=2")
    old.close()
    database = sqlite.open_database(path)
    assert SqliteTaskStore(database).list_cards() == []
    assert database.execute("SELECT id FROM run").fetchall() == [("r",)]


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([task("T-1", spec="gone")], "no spec 'gone'"),
        ([task("T-1", "T-9")], "depends on 'T-9', which is not there"),
        ([task("T-1", "T-2"), task("T-2", "T-1")], "T-1 → T-2 → T-1"),
        ([task("T-1", "T-1")], "T-1 → T-1"),
        ([task("T-0")], "there is a task 'T-0' already"),
        ([task("T-1"), task("T-1")], "there is a task 'T-1' already"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_nothing_is_put(
    tasks: SqliteTaskStore, new: list[Task], told: str
) -> None:
    tasks.add_new([task("T-0")])
    with pytest.raises(InvalidInput, match=told) as refused:
        tasks.add_new([task("T-8"), *new], [Spec(id="other", title="Other")])
    assert refused.value.hint
    assert [card.id for card in tasks.list_cards()] == ["T-0"]
    with pytest.raises(NoSuchSpec):
        tasks.specs.get("other")


def test_the_board_is_in_the_order_of_work(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("low", priority=3), task("high", priority=1), task("usual", "high"), task("usual-too")])
    assert [(card.id, card.needs) for card in tasks.list_cards()] == [
        ("high", ()),
        ("usual", ("high",)),
        ("usual-too", ()),
        ("low", ()),
    ]


def test_the_most_urgent_task_that_waits_for_nothing_is_claimed(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("first", "last", priority=0), task("last", priority=9), task("next", priority=5)])
    taken = [tasks.claim("run-1"), tasks.claim("run-1"), tasks.claim("run-1")]
    assert [entry and entry.task.id for entry in taken] == ["next", "last", None]
    tasks.apply([StagePassed("last", "coder"), TaskLanded("last")], "last")
    freed = tasks.claim("run-2")
    assert freed
    assert (freed.task.id, freed.task.status, freed.task.stage, freed.worker) == (
        "first",
        "in_progress",
        "coder",
        "run-2",
    )


def test_a_dependency_that_was_given_up_does_not_count_as_done(tasks: SqliteTaskStore) -> None:  # §3-14
    tasks.add_new([task("T-1"), task("T-2", "T-1")])
    tasks.apply([Cancelled("T-1")], "cancel")
    assert tasks.claim("run-1") is None


def test_a_claim_can_be_narrowed(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("T-1"), task("T-2"), task("T-3")])
    assert tasks.claim("run-1", among=["T-9"]) is None
    found = tasks.claim("run-1", among=["T-2", "T-3"], besides=["T-2"], stage=lambda task: "reviewer")
    assert found
    assert (found.task.id, found.task.stage) == ("T-3", "reviewer")


def test_a_repeat_with_the_same_key_is_harmless(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("T-1")])
    tasks.claim("run-1")
    failed: list[Change] = [
        Attempted(
            "T-1", VerificationAttempt(iteration=1, promise_found=True, verified=False, reason="no", timestamp="now")
        ),
        GaveUp(task="T-1", iterations_used=1, last_output="bye"),
    ]
    assert tasks.apply(failed, "run-1:1") is True
    assert tasks.apply(failed, "run-1:1") is False
    assert len(tasks.history.list_attempts("T-1")) == 1
    with pytest.raises(IllegalMove):
        tasks.apply(failed, "run-1:2")
    assert len(tasks.history.list_attempts("T-1")) == 1  # all or nothing


def test_only_who_holds_a_task_may_change_it(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("T-1")])
    tasks.claim("run-1")
    tasks.apply([TakenOver("T-1", "run-2", "run-1")], "over")
    with pytest.raises(IllegalMove, match="in the hands of run-2, not of run-1"):
        tasks.apply([Released("T-1")], "late", worker="run-1")
    assert tasks.apply([BranchAssigned("T-1", "b", "main"), Released("T-1")], "good", worker="run-2")
    assert (tasks.get("T-1").branch, tasks.get("T-1").target) == ("b", "main")


def test_attempts_are_kept_whole_and_in_order(tasks: SqliteTaskStore) -> None:  # 002-18, 000-22
    tasks.add_new([task("T-1")])
    made = [
        VerificationAttempt(
            iteration=n,
            promise_found=n > 1,
            verified=n == 3,
            reason=f"reason {n}",
            timestamp="2024-01-15T10:30:00Z",
            agent=agent,
            method="external",
            digest="ab12",
            seconds=1.5,
            cost_usd=0.1,
            notes=("x",),
            detail="out",
        )
        for n, agent in ((1, "coder"), (2, "coder"), (3, "coder"), (1, "qa"))
    ]
    tasks.apply([Attempted("T-1", attempt, "run-1") for attempt in made], "key")
    assert tasks.history.list_attempts("T-1") == made
    assert tasks.history.list_attempts("T-1", agent="coder", last=2) == made[1:3]


def test_every_iteration_is_logged_with_its_cost(tasks: SqliteTaskStore) -> None:  # 000-16, 000-22
    tasks.add_new([task("T-1")])
    ended = IterationEnded(
        task="T-1",
        stage="coder",
        iteration=3,
        max_iterations=15,
        promise_found=False,
        continuing=True,
        duration_ms=45000,
        at=7.0,
        outcome="timed_out",
        run="run-1",
        reason="It took too long.",
    )
    another = CostRecorded(
        task="T-1", stage="coder", iteration=3, at=8.0, cost_usd=5.0, input_tokens=1, output_tokens=2, run="run-1"
    )
    tasks.apply(
        [
            CostRecorded(
                task="T-1",
                stage="coder",
                iteration=3,
                at=7.0,
                cost_usd=0.25,
                input_tokens=1,
                output_tokens=2,
                run="run-1",
            ),
            ended,
            another,
        ],
        "key",
    )
    assert tasks.history.list_iterations("T-1") == [
        {
            "task_id": "T-1",
            "stage": "coder",
            "ralph_iteration": 3,
            "ralph_max": 15,
            "promise_found": False,
            "continuing": True,
            "duration_ms": 45000,
            "outcome": "timed_out",
            "reason": "It took too long.",
            "cost_usd": 0.25,
            "run": "run-1",
            "at": 7.0,
        }
    ]


def test_spending_is_summed_by_task_and_by_run(tasks: SqliteTaskStore) -> None:  # 000-22
    tasks.add_new([task("T-1"), task("T-2")])
    tasks.apply(
        [
            CostRecorded(
                task="T-1",
                stage="coder",
                iteration=1,
                at=1.0,
                cost_usd=0.25,
                input_tokens=10,
                output_tokens=20,
                run="run-1",
            ),
            CostRecorded(
                task="T-1",
                stage="coder",
                iteration=2,
                at=2.0,
                cost_usd=None,
                input_tokens=1,
                output_tokens=2,
                run="run-2",
            ),
            CostRecorded(
                task="T-2",
                stage="coder",
                iteration=1,
                at=3.0,
                cost_usd=0.5,
                input_tokens=0,
                output_tokens=0,
                run="run-1",
            ),
        ],
        "key",
    )
    spent = tasks.history.sum_for_task("T-1")
    assert (spent.cost_usd, spent.input_tokens, spent.output_tokens) == (0.25, 11, 22)
    assert tasks.history.sum_for_run("run-1").cost_usd == 0.75
    assert tasks.history.sum_for_run("run-2").cost_usd is None


def test_history_tells_how_many_iterations_it_took(tasks: SqliteTaskStore) -> None:  # 002-26
    tasks.add_new([task("T-1")])
    seen = [(1, False, "coder"), (2, True, "coder"), (4, True, "coder"), (3, True, "qa")]
    for n, verified, agent in seen:
        tasks.apply(
            [
                Attempted(
                    "T-1",
                    VerificationAttempt(
                        iteration=n, promise_found=True, verified=verified, reason="", timestamp="", agent=agent
                    ),
                )
            ],
            f"{agent}:{n}",
        )
    assert tasks.history.list_iterations_to_pass("coder") == [4, 2]
    assert tasks.history.list_iterations_to_pass("coder", last=1) == [4]


def test_edited_dependencies_are_checked(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("T-1"), task("T-2", "T-1"), task("T-3", "T-2")])
    with pytest.raises(InvalidInput, match="T-1 → T-3 → T-2 → T-1"):
        tasks.apply([Edited(task="T-1", depends_on=("T-3",))], "a")
    with pytest.raises(InvalidInput, match="'T-9'"):
        tasks.apply([Edited(task="T-1", title="New", depends_on=("T-9",))], "b")
    assert tasks.get("T-1").task.title == "Do T-1"
    tasks.apply([Edited(task="T-3", depends_on=("T-1", "T-1"))], "c")
    assert tasks.get("T-3").task.depends_on == ("T-1",)


def test_what_others_need_or_work_on_is_not_deleted(tasks: SqliteTaskStore) -> None:
    tasks.add_new([task("T-1"), task("T-2", "T-1")])
    with pytest.raises(InvalidInput, match="needed by T-2"):
        tasks.delete("T-1")
    tasks.delete("T-2")
    tasks.claim("run-1")
    with pytest.raises(IllegalMove, match="in progress"):
        tasks.delete("T-1")
    with pytest.raises(NoSuchTask):
        tasks.delete("T-2")


def test_a_wish_is_for_the_worker_of_the_day(tasks: SqliteTaskStore) -> None:  # 000-18
    tasks.add_new([task("T-1")])
    tasks.claim("run-1")
    tasks.add_wish("T-1", "cancel")
    tasks.add_wish("T-1", "cancel")
    assert tasks.has_wish("T-1", "cancel")
    tasks.apply([Released("T-1")], "released")
    tasks.claim("run-2")
    assert not tasks.has_wish("T-1", "cancel")


def test_specs_are_kept_and_edited(tasks: SqliteTaskStore) -> None:
    with pytest.raises(InvalidInput, match="there is a spec 'auth' already"):
        tasks.specs.add_new(Spec(id="auth", title="Again"))
    tasks.specs.edit("auth", text="New text")
    assert (tasks.specs.get("auth").title, tasks.specs.get("auth").text) == ("Auth", "New text")
    tasks.add_new([task("T-1")], [Spec(id="auth", title="Ignored"), Spec(id="other", title="Other")])
    assert [(spec.id, spec.title, count) for spec, count in tasks.specs.list_all()] == [
        ("auth", "Auth", 1),
        ("other", "Other", 0),
    ]
    with pytest.raises(NoSuchSpec, match="'gone'") as missing:
        tasks.specs.edit("gone", title="x")
    assert "ralph spec create gone" in missing.value.hint


def test_a_damaged_record_is_told_not_dumped(tasks: SqliteTaskStore, path: str) -> None:
    tasks.add_new([task("T-1")])
    other = sqlite3.connect(path)
    other.execute("UPDATE task SET completion_spec='{\"outcome\": 3}'")
    other.commit()
    with pytest.raises(CorruptState, match="task 'T-1' is damaged"):
        tasks.get("T-1")
    assert [card.id for card in tasks.list_cards()] == ["T-1"]


def test_the_database_itself_allows_no_worker_without_work(tasks: SqliteTaskStore, path: str) -> None:  # §3-15
    tasks.add_new([task("T-1")])
    other = sqlite3.connect(path)
    for change in ("status='in_progress'", "worker='me'", "status='finished'", "stage='boss'"):
        with pytest.raises(sqlite3.IntegrityError):
            other.execute(f"UPDATE task SET {change}")


def started(script: str, *words: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", script, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    return child


def test_processes_that_claim_at_once_share_the_work(tasks: SqliteTaskStore, path: str) -> None:
    count = 60
    tasks.add_new([task(f"T-{n}", *([f"T-{n - 1}"] if n % 3 == 2 else []), priority=n % 4) for n in range(count)])
    workers = [started(CLAIMER, path, f"run-{n}") for n in range(3)]
    for worker in workers:
        assert worker.stdin
        worker.stdin.write("go\n")
        worker.stdin.flush()
    took = [worker.communicate(timeout=60)[0].split() for worker in workers]
    assert sorted(id_ for ids in took for id_ in ids) == sorted(f"T-{n}" for n in range(count))
    assert {card.status for card in tasks.list_cards()} == {"done"}


def test_a_claim_waits_for_who_came_first(tasks: SqliteTaskStore, path: str) -> None:
    tasks.add_new([task("T-1"), task("T-2")])
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    first.execute("UPDATE task SET status='in_progress', worker='run-1' WHERE id='T-1'")
    with ThreadPoolExecutor() as pool:
        second = pool.submit(lambda: SqliteTaskStore(sqlite.open_database(path)).claim("run-2"))
        time.sleep(0.3)
        first.execute("COMMIT")
        claimed = second.result(30)
    assert claimed
    assert claimed.task.id == "T-2"


def has_iterated(tasks: SqliteTaskStore, enough: int) -> bool:
    return tasks.get("T-1").task.iteration > enough


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_whole_changes_and_a_task_to_go_on_with(tasks: SqliteTaskStore, path: str) -> None:
    tasks.add_new([task("T-1")])
    for round_ in range(5):
        enough = tasks.get("T-1").task.iteration + 3
        writer = started(WRITER, path)
        assert wait_until(partial(has_iterated, tasks, enough))
        time.sleep(0.003 * round_)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        entry = tasks.get("T-1")
        assert (entry.task.status, entry.worker) == ("in_progress", "run-1")
        assert len(tasks.history.list_attempts("T-1")) == entry.task.iteration
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    tasks.apply([TakenOver("T-1", "run-2", "run-1"), Released("T-1")], "healed")
    assert tasks.claim("run-3")


@pytest.mark.slow
def test_ten_thousand_tasks_are_listed_and_claimed_in_no_time(tasks: SqliteTaskStore) -> None:
    needs = [(f"T-{n - 1}",) if n % 3 == 2 else () for n in range(10_000)]
    tasks.add_new([task(f"T-{n}", *needs[n], priority=n % 5) for n in range(10_000)])

    def best(call: str) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            assert getattr(tasks, call)(*(["run-1"] if call == "claim" else []))
            times.append(time.perf_counter() - began)
        return min(times)

    assert best("list_cards") < 0.15
    assert best("claim") < 0.15
