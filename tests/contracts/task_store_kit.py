"""What every database guarantees that keeps the ports of `ralph.model.store_ports`: tasks, specs, their history."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from msgspec.structs import replace

from contracts.store_kit import DatabaseUnderTest, start_process
from ralph.model.board import (
    Attempted,
    Blocked,
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
    TaskTotals,
)
from ralph.model.spec import CompletionCriteria, Task, TaskCompletionSpec, VerificationAttempt, VerificationMethod
from ralph.model.store_ports import TaskStore
from support.processes import wait_until

CRITERIA = CompletionCriteria(
    "AUTH",
    "done",
    verification_method=VerificationMethod.EXTERNAL,
    verification_config={"command": "pytest"},
    max_iterations=15,
)
COMPLETION = TaskCompletionSpec("All endpoints need a token", ["tokens are checked"], coder=CRITERIA)
CLAIMING = """
from ralph.model.board import TaskLanded, StagePassed
tasks = stores.tasks
print("ready", flush=True)
sys.stdin.readline()
while entry := tasks.claim(sys.argv[1]):
    id_ = entry.task.id
    print(id_, flush=True)
    tasks.apply([StagePassed(id_, "coder"), TaskLanded(id_)], f"done:{id_}", sys.argv[1])
"""
WRITING = """
import time
from ralph.model.board import Attempted, IterationBegun
from ralph.model.spec import VerificationAttempt
tasks = stores.tasks
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
ENDED = IterationEnded(
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


def make_task(id_: str, *needs: str, priority: int = 2, spec: str = "auth") -> Task:
    return Task(id_, spec, f"Do {id_}", priority=priority, depends_on=needs, completion_spec=COMPLETION)


def open_board(database: DatabaseUnderTest) -> TaskStore:
    """With one spec for the tasks to come."""
    tasks = database.connect().tasks
    tasks.specs.add_new(Spec(id="auth", title="Auth", text="Tokens everywhere."))
    return tasks


class TaskStoreContract:
    """Tasks: put, claimed, changed, deleted."""

    @pytest.fixture
    def tasks(self, database: DatabaseUnderTest) -> TaskStore:
        return open_board(database)

    def test_a_task_comes_back_as_it_was_put(self, tasks: TaskStore) -> None:  # 002-04
        new = Task("T-1", "auth", "Title", "Text", depends_on=(), metadata={"a": [1]}, completion_spec=COMPLETION)
        tasks.add_new([new, make_task("T-2", "T-1")])
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

    @pytest.mark.parametrize(
        ("new", "told"),
        [
            ([make_task("T-1", spec="gone")], "no spec 'gone'"),
            ([make_task("T-1", "T-9")], "depends on 'T-9', which is not there"),
            ([make_task("T-1", "T-2"), make_task("T-2", "T-1")], "T-1 → T-2 → T-1"),
            ([make_task("T-1", "T-1")], "T-1 → T-1"),
            ([make_task("T-0")], "there is a task 'T-0' already"),
            ([make_task("T-1"), make_task("T-1")], "there is a task 'T-1' already"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name_and_nothing_is_put(
        self, tasks: TaskStore, new: list[Task], told: str
    ) -> None:
        tasks.add_new([make_task("T-0")])
        with pytest.raises(InvalidInput, match=told) as refused:
            tasks.add_new([make_task("T-8"), *new], [Spec(id="other", title="Other")])
        assert refused.value.hint
        assert [card.id for card in tasks.list_cards()] == ["T-0"]
        with pytest.raises(NoSuchSpec):
            tasks.specs.get("other")

    def test_the_board_is_in_the_order_of_work(self, tasks: TaskStore) -> None:
        tasks.add_new(
            [
                make_task("low", priority=3),
                make_task("high", priority=1),
                make_task("usual", "high"),
                make_task("usual-too"),
            ]
        )
        assert [(card.id, card.needs) for card in tasks.list_cards()] == [
            ("high", ()),
            ("usual", ("high",)),
            ("usual-too", ()),
            ("low", ()),
        ]

    def test_the_most_urgent_task_that_waits_for_nothing_is_claimed(self, tasks: TaskStore) -> None:
        tasks.add_new(
            [make_task("first", "last", priority=0), make_task("last", priority=9), make_task("next", priority=5)]
        )
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

    def test_a_dependency_that_was_given_up_does_not_count_as_done(self, tasks: TaskStore) -> None:  # §3-14
        tasks.add_new([make_task("T-1"), make_task("T-2", "T-1")])
        tasks.apply([Cancelled("T-1")], "cancel")
        assert tasks.claim("run-1") is None

    def test_a_claim_can_be_narrowed(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1"), make_task("T-2"), make_task("T-3")])
        assert tasks.claim("run-1", among=["T-9"]) is None
        found = tasks.claim("run-1", among=["T-2", "T-3"], besides=["T-2"], stage=lambda task: "reviewer")
        assert found
        assert (found.task.id, found.task.stage) == ("T-3", "reviewer")

    def test_a_repeat_with_the_same_key_is_harmless(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        tasks.claim("run-1")
        failed: list[Change] = [
            Attempted(
                "T-1",
                VerificationAttempt(iteration=1, promise_found=True, verified=False, reason="no", timestamp="now"),
            ),
            GaveUp(task="T-1", iterations_used=1, last_output="bye"),
        ]
        assert tasks.apply(failed, "run-1:1") is True
        assert tasks.apply(failed, "run-1:1") is False
        assert len(tasks.history.list_attempts("T-1")) == 1
        with pytest.raises(IllegalMove):
            tasks.apply(failed, "run-1:2")
        assert len(tasks.history.list_attempts("T-1")) == 1  # all or nothing

    def test_only_who_holds_a_task_may_change_it(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        tasks.claim("run-1")
        tasks.apply([TakenOver("T-1", "run-2", "run-1")], "over")
        with pytest.raises(IllegalMove, match="held by run-2, not by run-1"):
            tasks.apply([Released("T-1")], "late", worker="run-1")
        assert tasks.apply([BranchAssigned("T-1", "b", "main"), Released("T-1")], "good", worker="run-2")
        assert (tasks.get("T-1").branch, tasks.get("T-1").target) == ("b", "main")

    def test_edited_dependencies_are_checked(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1"), make_task("T-2", "T-1"), make_task("T-3", "T-2")])
        with pytest.raises(InvalidInput, match="T-1 → T-3 → T-2 → T-1"):
            tasks.apply([Edited(task="T-1", depends_on=("T-3",))], "a")
        with pytest.raises(InvalidInput, match="'T-9'"):
            tasks.apply([Edited(task="T-1", title="New", depends_on=("T-9",))], "b")
        assert tasks.get("T-1").task.title == "Do T-1"
        tasks.apply([Edited(task="T-3", depends_on=("T-1", "T-1"))], "c")
        assert tasks.get("T-3").task.depends_on == ("T-1",)

    def test_what_others_need_or_work_on_is_not_deleted(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1"), make_task("T-2", "T-1")])
        with pytest.raises(InvalidInput, match="needed by T-2"):
            tasks.delete("T-1")
        tasks.delete("T-2")
        tasks.claim("run-1")
        with pytest.raises(IllegalMove, match="in progress"):
            tasks.delete("T-1")
        with pytest.raises(NoSuchTask):
            tasks.delete("T-2")

    def test_a_wish_is_for_the_worker_of_the_day(self, tasks: TaskStore) -> None:  # 000-18
        tasks.add_new([make_task("T-1")])
        tasks.claim("run-1")
        tasks.add_wish("T-1", "cancel")
        tasks.add_wish("T-1", "cancel")
        assert tasks.has_wish("T-1", "cancel")
        tasks.apply([Released("T-1")], "released")
        tasks.claim("run-2")
        assert not tasks.has_wish("T-1", "cancel")

    @pytest.mark.slow
    def test_ten_thousand_tasks_are_listed_and_claimed_in_no_time(self, tasks: TaskStore) -> None:
        needs = [(f"T-{n - 1}",) if n % 3 == 2 else () for n in range(10_000)]
        tasks.add_new([make_task(f"T-{n}", *needs[n], priority=n % 5) for n in range(10_000)])

        def best(call: str) -> float:
            times = []
            for _ in range(3):
                began = time.process_time()  # others may keep the machine busy
                assert getattr(tasks, call)(*(["run-1"] if call == "claim" else []))
                times.append(time.process_time() - began)
            return min(times)

        assert best("list_cards") < 0.15
        assert best("claim") < 0.15

    def test_what_one_connection_put_another_claims(self, database: DatabaseUnderTest, tasks: TaskStore) -> None:
        other = database.connect().tasks
        tasks.add_new([make_task("T-1")])
        assert other.claim("run-1")
        assert tasks.get("T-1").worker == "run-1"
        assert tasks.claim("run-2") is None

    def test_of_several_who_claim_at_once_each_has_its_own(self, database: DatabaseUnderTest, tasks: TaskStore) -> None:
        tasks.add_new([make_task(f"T-{n}") for n in range(4)])
        together = threading.Barrier(8)

        def claim(number: int) -> str:
            mine = database.connect(shared=True).tasks  # closed by another thread, in the end
            together.wait(30)
            entry = mine.claim(f"run-{number}")
            return entry.task.id if entry else ""

        with ThreadPoolExecutor(8) as pool:
            taken = list(pool.map(claim, range(8)))
        assert sorted(taken) == ["", "", "", "", "T-0", "T-1", "T-2", "T-3"]

    def test_a_key_is_known_to_every_connection(self, database: DatabaseUnderTest, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        assert tasks.apply([Edited(task="T-1", title="Once")], "key")
        assert not database.connect().tasks.apply([Edited(task="T-1", title="Twice")], "key")
        assert tasks.get("T-1").task.title == "Once"

    def test_what_was_refused_may_be_tried_again_with_its_key(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        with pytest.raises(NoSuchTask):
            tasks.apply([Edited(task="T-1", title="New"), Edited(task="T-2", title="New")], "key")
        assert tasks.get("T-1").task.title == "Do T-1"
        assert tasks.apply([Edited(task="T-1", title="New")], "key")

    def test_changes_happen_in_their_order(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        tasks.apply([Edited(task="T-1", title="First"), Edited(task="T-1", title="Second")], "key")
        assert tasks.get("T-1").task.title == "Second"

    def test_it_is_known_why_tasks_rest(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1"), make_task("T-2"), make_task("T-3")])
        tasks.claim("run-1", among=["T-2"])
        gave_up = GaveUp(task="T-2", iterations_used=1, last_output="", reason="too hard")
        tasks.apply([Blocked("T-1", "needs a key"), gave_up], "key")
        assert tasks.list_reasons() == {"T-1": "needs a key", "T-2": "too hard"}

    def test_nothing_of_a_deleted_task_is_left(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        spent = CostRecorded(task="T-1", stage="coder", iteration=1, at=1.0, cost_usd=0.5, run="run-1")
        tasks.apply([ENDED, spent], "key")
        tasks.delete("T-1")
        tasks.add_new([make_task("T-1")])
        assert tasks.history.list_iterations("T-1") == []
        assert tasks.history.sum_for_task("T-1").cost_usd is None

    def test_processes_that_claim_at_once_share_the_work(self, database: DatabaseUnderTest, tasks: TaskStore) -> None:
        count = 60
        needs = [[f"T-{n - 1}"] if n % 3 == 2 else [] for n in range(count)]
        tasks.add_new([make_task(f"T-{n}", *needs[n], priority=n % 4) for n in range(count)])
        workers = [start_process(database, CLAIMING, f"run-{n}") for n in range(3)]
        for worker in workers:
            assert worker.stdin
            worker.stdin.write("go\n")
            worker.stdin.flush()
        took = [worker.communicate(timeout=60)[0].split() for worker in workers]
        assert sorted(id_ for ids in took for id_ in ids) == sorted(f"T-{n}" for n in range(count))
        assert {card.status for card in tasks.list_cards()} == {"done"}

    @pytest.mark.slow
    def test_a_kill_at_any_time_leaves_whole_changes_and_a_task_to_go_on_with(
        self, database: DatabaseUnderTest, tasks: TaskStore
    ) -> None:
        tasks.add_new([make_task("T-1")])
        for round_ in range(5):
            enough = tasks.get("T-1").task.iteration + 3
            writer = start_process(database, WRITING)
            assert wait_until(partial(has_iterated, tasks, enough))
            time.sleep(0.003 * round_)
            writer.kill()
            writer.communicate()
            entry = tasks.get("T-1")
            assert (entry.task.status, entry.worker) == ("in_progress", "run-1")
            assert len(tasks.history.list_attempts("T-1")) == entry.task.iteration
        database.check_integrity()
        tasks.apply([TakenOver("T-1", "run-2", "run-1"), Released("T-1")], "healed")
        assert tasks.claim("run-3")


class TaskHistoryContract:
    """What was tried, logged and spent."""

    @pytest.fixture
    def tasks(self, database: DatabaseUnderTest) -> TaskStore:
        return open_board(database)

    def test_attempts_are_kept_whole_and_in_order(self, tasks: TaskStore) -> None:  # 002-18, 000-22
        tasks.add_new([make_task("T-1")])
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
                command="make test",
                log="verification_001.log",
                run="run-1",
            )
            for n, agent in ((1, "coder"), (2, "coder"), (3, "coder"), (1, "qa"))
        ]
        tasks.apply([Attempted("T-1", attempt, "run-1") for attempt in made], "key")
        assert tasks.history.list_attempts("T-1") == made
        assert tasks.history.list_attempts("T-1", agent="coder", last=2) == made[1:3]

    def test_every_iteration_is_logged_with_its_cost(self, tasks: TaskStore) -> None:  # 000-16, 000-22
        tasks.add_new([make_task("T-1")])
        spent = CostRecorded(task="T-1", stage="coder", iteration=3, at=7.0, cost_usd=0.25, run="run-1")
        of_another = replace(spent, at=8.0, cost_usd=5.0)
        tasks.apply([spent, ENDED, of_another], "key")
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

    def test_spending_is_summed_by_task_and_by_run(self, tasks: TaskStore) -> None:  # 000-22
        tasks.add_new([make_task("T-1"), make_task("T-2")])
        first = CostRecorded(
            task="T-1",
            stage="coder",
            iteration=1,
            at=1.0,
            cost_usd=0.25,
            input_tokens=10,
            output_tokens=20,
            run="run-1",
        )
        untold = replace(first, iteration=2, at=2.0, cost_usd=None, input_tokens=1, output_tokens=2, run="run-2")
        other = replace(first, task="T-2", at=3.0, cost_usd=0.5, input_tokens=0, output_tokens=0)
        tasks.apply([first, untold, other], "key")
        spent = tasks.history.sum_for_task("T-1")
        assert (spent.cost_usd, spent.input_tokens, spent.output_tokens) == (0.25, 11, 22)
        assert tasks.history.sum_for_run("run-1").cost_usd == 0.75
        assert tasks.history.sum_for_run("run-2").cost_usd is None

    def test_history_tells_how_many_iterations_it_took(self, tasks: TaskStore) -> None:  # 002-26
        tasks.add_new([make_task("T-1")])
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

    def test_what_is_said_later_of_an_iteration_takes_the_place_of_what_was(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        tasks.apply([ENDED], "before")
        tasks.apply([replace(ENDED, promise_found=True, continuing=False, reason="verified")], "after")
        assert [(each["ralph_iteration"], each["reason"]) for each in tasks.history.list_iterations("T-1")] == [
            (3, "verified")
        ]

    def test_all_costs_are_summed_or_unknown(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1")])
        assert tasks.history.sum_all_costs() is None
        spent = CostRecorded(task="T-1", stage="coder", iteration=1, at=1.0, cost_usd=0.5, run="run-1")
        tasks.apply([spent, replace(spent, run="run-2", cost_usd=None), replace(spent, at=2.0)], "key")
        assert tasks.history.sum_all_costs() == 1.0

    def test_the_work_on_every_task_is_summed(self, tasks: TaskStore) -> None:
        tasks.add_new([make_task("T-1"), make_task("T-2")])
        spent = CostRecorded(task="T-1", stage="coder", iteration=3, at=7.0, cost_usd=0.5, run="run-1")
        tasks.apply([ENDED, spent, replace(ENDED, iteration=4, at=8.0), replace(spent, at=8.0)], "key")
        assert tasks.history.list_totals() == {"T-1": TaskTotals(cost_usd=1.0, iterations=2, seconds=90.0)}


class SpecStoreContract:
    """Specs: what tasks are there for."""

    @pytest.fixture
    def tasks(self, database: DatabaseUnderTest) -> TaskStore:
        return open_board(database)

    def test_specs_are_kept_and_edited(self, tasks: TaskStore) -> None:
        with pytest.raises(InvalidInput, match="there is a spec 'auth' already"):
            tasks.specs.add_new(Spec(id="auth", title="Again"))
        tasks.specs.edit("auth", text="New text")
        assert (tasks.specs.get("auth").title, tasks.specs.get("auth").text) == ("Auth", "New text")
        tasks.add_new([make_task("T-1")], [Spec(id="auth", title="Ignored"), Spec(id="other", title="Other")])
        assert [(spec.id, spec.title, count) for spec, count in tasks.specs.list_all()] == [
            ("auth", "Auth", 1),
            ("other", "Other", 0),
        ]
        with pytest.raises(NoSuchSpec, match="'gone'") as missing:
            tasks.specs.edit("gone", title="x")
        assert "ralph spec create gone" in missing.value.hint


def has_iterated(tasks: TaskStore, enough: int) -> bool:
    return tasks.get("T-1").task.iteration > enough
