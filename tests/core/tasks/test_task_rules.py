"""The life of a task."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.tasks.task_rules import (
    CANCELLED_AT_WORK,
    CANCELLED_RUN_GONE,
    MAX_LAST_OUTPUT_CHARS,
    apply_change,
    format_iso_time,
    is_only_work_cancelled,
    list_send_backs,
)
from ralph.model.board import (
    Attempted,
    Blocked,
    BranchAssigned,
    Cancelled,
    Change,
    Claimed,
    CostRecorded,
    Edited,
    Entry,
    GaveUp,
    IllegalMove,
    IterationBegun,
    IterationEnded,
    Released,
    Reopened,
    SentBack,
    StageEntered,
    StagePassed,
    TakenOver,
    TaskLanded,
)
from ralph.model.spec import (
    ROLES,
    TASK_STATUSES,
    CompletionCriteria,
    Role,
    Task,
    TaskCompletionSpec,
    VerificationAttempt,
    VerificationMethod,
)

ID = "TASK-001"
AT = 1705314600.0  # 2024-01-15T10:30:00Z
NEW = Entry(task=Task(ID, "auth", "Implement it"))
CLAIM = Claimed(ID, "run-1")
BEGIN = IterationBegun(
    task=ID, stage="coder", iteration=1, max_iterations=15, completion_promise="IMPLEMENTATION_COMPLETE", at=AT
)
FAIL = GaveUp(task=ID, iterations_used=15, last_output="the end")


def played(*changes: Change, entry: Entry = NEW) -> Entry:
    for change in changes:
        entry = apply_change(entry, change)
    return entry


def through(*stages: Role) -> list[Change]:
    return [step for stage in stages for step in (StageEntered(ID, stage), StagePassed(ID, stage))]


REACH: dict[str, Sequence[Change]] = {
    "todo": [],
    "in_progress": [CLAIM],
    "blocked": [CLAIM, Blocked(ID, "conflict")],
    "done": [CLAIM, *through(*ROLES), TaskLanded(ID)],
    "cancelled": [Cancelled(ID)],
}
MOVES: list[tuple[Change, set[str], str]] = [  # the change, where it may come, what follows ("" the same)
    (CLAIM, {"todo"}, "in_progress"),
    (TakenOver(ID, "run-2", "run-1"), {"in_progress"}, ""),
    (BranchAssigned(ID, "ralph/TASK-001", "main"), {"in_progress"}, ""),
    (StageEntered(ID, "coder"), {"in_progress"}, ""),
    (BEGIN, {"in_progress"}, ""),
    (StagePassed(ID, "coder"), {"in_progress"}, ""),
    (FAIL, {"in_progress"}, "todo"),
    (Released(ID), {"in_progress"}, "todo"),
    (Blocked(ID, "conflict"), {"todo", "in_progress"}, "blocked"),
    (Cancelled(ID), {"todo", "in_progress", "blocked"}, "cancelled"),
    (Reopened(ID), {"blocked", "cancelled"}, "todo"),
    (Edited(task=ID, title="Another"), {"todo", "blocked", "cancelled"}, ""),
    (
        IterationEnded(
            task=ID,
            stage="coder",
            iteration=1,
            max_iterations=15,
            promise_found=False,
            continuing=True,
            duration_ms=5,
            at=AT,
        ),
        {*TASK_STATUSES},
        "",
    ),
    (
        Attempted(
            ID, VerificationAttempt(iteration=1, promise_found=True, verified=False, reason="no", timestamp="now")
        ),
        {*TASK_STATUSES},
        "",
    ),
    (CostRecorded(task=ID, stage="coder", iteration=1, at=AT, cost_usd=0.1), {*TASK_STATUSES}, ""),
]


@pytest.mark.parametrize("status", TASK_STATUSES)
@pytest.mark.parametrize(("change", "where", "then"), MOVES, ids=lambda value: type(value).__name__)
def test_only_legal_moves_are_made(status: str, change: Change, where: set[str], then: str) -> None:
    entry = played(*REACH[status])
    assert entry.task.status == status
    if status in where:
        assert apply_change(entry, change).task.status == (then or status)
    else:
        with pytest.raises(IllegalMove, match=ID) as refused:
            apply_change(entry, change)
        assert refused.value.hint
        assert refused.value.exit_code == 2


def test_a_claim_begins_with_the_coder_or_where_the_work_stopped() -> None:
    assert played(CLAIM).task.stage == "coder"
    stopped = played(CLAIM, *through("coder"), StageEntered(ID, "reviewer"), Released(ID))
    again = played(CLAIM, entry=stopped)
    assert (again.task.stage, again.passed, again.worker) == ("reviewer", ("coder",), "run-1")
    anew = played(Claimed(ID, "run-2", "coder"), entry=stopped)
    assert (anew.task.stage, anew.passed) == ("coder", ())


def test_the_next_stage_needs_the_one_before_passed() -> None:
    with pytest.raises(IllegalMove, match="has not passed coder yet"):
        played(CLAIM, StageEntered(ID, "reviewer"))
    assert played(CLAIM, StagePassed(ID, "coder"), StageEntered(ID, "tester")).task.stage == "tester"
    with pytest.raises(IllegalMove, match="only sending it back leads to coder"):
        played(CLAIM, *through("coder", "reviewer"), StageEntered(ID, "coder"))
    with pytest.raises(IllegalMove, match="is at coder: it cannot pass qa"):
        played(CLAIM, StagePassed(ID, "qa"))


def test_done_needs_the_last_stage_passed() -> None:
    with pytest.raises(IllegalMove, match="has not passed qa: it cannot be done"):
        played(CLAIM, *through("coder", "reviewer", "tester"), StageEntered(ID, "qa"), TaskLanded(ID))
    done = played(CLAIM, BranchAssigned(ID, "b", "main"), *through(*ROLES), TaskLanded(ID, "abc123"))
    assert (done.task.status, done.worker) == ("done", "")
    assert done.task.metadata == {"landed": {"commit": "abc123", "target": "main"}}


def test_work_in_a_stage_takes_its_pass_away() -> None:
    with pytest.raises(IllegalMove, match="has not passed coder"):
        played(CLAIM, BEGIN, StagePassed(ID, "coder"), BEGIN, TaskLanded(ID))


def test_the_loop_is_told_live() -> None:  # 000-15
    begun = played(CLAIM, replace(BEGIN, iteration=1), replace(BEGIN, iteration=3, at=AT + 400))
    assert begun.task.metadata["ralph"] == {
        "stage": "coder",
        "iteration": 3,
        "max_iterations": 15,
        "started_at": "2024-01-15T10:30:00Z",
        "completion_promise": "IMPLEMENTATION_COMPLETE",
    }
    assert begun.task.iteration == 3
    assert "ralph" not in played(StagePassed(ID, "coder"), entry=begun).task.metadata
    assert "ralph" not in played(Released(ID), entry=begun).task.metadata


def test_a_new_stage_has_a_clock_of_its_own() -> None:  # 000-15
    review = IterationBegun(
        task=ID, stage="reviewer", iteration=1, max_iterations=5, completion_promise="REVIEW_PASSED", at=AT + 60
    )
    entry = played(CLAIM, BEGIN, StagePassed(ID, "coder"), StageEntered(ID, "reviewer"), review)
    loop = entry.task.metadata["ralph"]
    assert isinstance(loop, dict)
    assert loop["started_at"] == format_iso_time(AT + 60)


def test_a_stage_that_begins_anew_has_a_new_clock() -> None:  # 000-15
    again = played(CLAIM, BEGIN, replace(BEGIN, iteration=2), replace(BEGIN, at=AT + 60))
    assert again.task.metadata["ralph"]["started_at"] == format_iso_time(AT + 60)  # type: ignore[index]


def test_a_stage_that_goes_on_without_a_record_begins_its_clock() -> None:  # 000-24
    again = played(CLAIM, BEGIN, Released(ID), CLAIM, replace(BEGIN, iteration=2, at=AT + 60))
    assert again.task.metadata["ralph"]["started_at"] == format_iso_time(AT + 60)  # type: ignore[index]


def test_iterations_are_counted_in_each_stage_and_kept_over_a_stop() -> None:  # 000-24
    stopped = played(CLAIM, replace(BEGIN, iteration=3), Released(ID))
    assert stopped.task.iteration == 3
    assert played(CLAIM, entry=stopped).task.iteration == 3
    assert played(Claimed(ID, "run-2", "tester"), entry=stopped).task.iteration == 0
    passed = played(CLAIM, StagePassed(ID, "coder"), StageEntered(ID, "reviewer"), entry=stopped)
    assert passed.task.iteration == 0


def test_a_failure_stays_until_its_own_stage_has_passed() -> None:  # 000-20
    failed = played(CLAIM, *through("coder"), StageEntered(ID, "reviewer"), FAIL)
    again = played(Claimed(ID, "run-2", "coder"), StagePassed(ID, "coder"), entry=failed)
    assert "ralph_failure" in again.task.metadata
    over = played(StageEntered(ID, "reviewer"), StagePassed(ID, "reviewer"), entry=again)
    assert "ralph_failure" not in over.task.metadata


def test_a_refusal_names_the_status_in_words() -> None:
    with pytest.raises(IllegalMove, match="'TASK-001' is in progress: it cannot"):
        played(CLAIM, CLAIM)


def test_a_cancellation_somebody_wrote_by_hand_is_no_stopped_work() -> None:
    assert not is_only_work_cancelled(replace(NEW.task, metadata={"cancelled": "because"}))


@pytest.mark.parametrize("number", [0, 16])
def test_there_is_no_iteration_beyond_the_limit(number: int) -> None:  # 000-07
    with pytest.raises(IllegalMove, match=f"no iteration {number}"):
        played(CLAIM, replace(BEGIN, iteration=number))
    with pytest.raises(IllegalMove, match="reviewer cannot work on it"):
        played(CLAIM, replace(BEGIN, stage="reviewer"))


def test_max_iterations_give_it_back_with_the_reason() -> None:  # 000-20
    failed = played(
        CLAIM, BEGIN, GaveUp(task=ID, iterations_used=15, last_output="x" * MAX_LAST_OUTPUT_CHARS + "the end")
    )
    assert (failed.task.status, failed.worker, failed.task.iteration) == ("todo", "", 0)
    assert failed.task.metadata == {
        "ralph_failure": {
            "stage": "coder",
            "iterations_used": 15,
            "last_output": "x" * (MAX_LAST_OUTPUT_CHARS - 7) + "the end",
            "reason": "Max iterations reached without completion promise",
        }
    }
    again = played(CLAIM, BEGIN, entry=failed)
    assert "ralph_failure" in again.task.metadata
    assert "ralph_failure" not in played(StagePassed(ID, "coder"), entry=again).task.metadata


def test_sending_back_keeps_every_reason_and_undoes_what_had_passed() -> None:
    entry = played(CLAIM, *through("coder", "reviewer"), StageEntered(ID, "tester"))
    entry = played(SentBack(ID, "fix it", AT), entry=replace(entry, task=replace(entry.task, iteration=2)))
    assert (entry.task.stage, entry.passed, entry.task.iteration) == ("coder", (), 0)
    entry = played(*through("coder"), StageEntered(ID, "reviewer"), SentBack(ID, "and that", AT), entry=entry)
    assert entry.task.metadata["ralph_send_backs"] == [
        {"stage": "tester", "changes": "fix it", "at": "2024-01-15T10:30:00Z"},
        {"stage": "reviewer", "changes": "and that", "at": "2024-01-15T10:30:00Z"},
    ]
    with pytest.raises(IllegalMove, match="nobody to send it back to"):
        played(SentBack(ID, "again", AT), entry=entry)


def test_only_what_a_dead_run_held_is_taken_over() -> None:
    assert played(CLAIM, TakenOver(ID, "run-2", "run-1")).worker == "run-2"
    with pytest.raises(IllegalMove, match="held by run-1, not by run-0"):
        played(CLAIM, TakenOver(ID, "run-2", "run-0"))


def test_an_edit_changes_what_it_names() -> None:
    spec = TaskCompletionSpec("It works", ["a"])
    task = played(Edited(task=ID, priority=0, depends_on=("TASK-000",), completion_spec=spec)).task
    assert (task.title, task.priority, task.depends_on, task.completion_spec) == (
        "Implement it",
        0,
        ("TASK-000",),
        spec,
    )


def test_what_was_blocked_says_why_until_it_is_opened_again() -> None:
    entry = played(CLAIM, BranchAssigned(ID, "ralph/TASK-001", "main"), Blocked(ID, "merge conflict"))
    assert entry.task.metadata["blocked"] == {"reason": "merge conflict", "stage": "coder", "branch": "ralph/TASK-001"}
    again = played(Reopened(ID), entry=entry)
    assert (dict(again.task.metadata), again.branch, again.task.stage) == ({}, "ralph/TASK-001", "coder")


STAGES = st.sampled_from(ROLES)
ANY = st.one_of(
    st.builds(Claimed, st.just(ID), st.sampled_from(["run-1", "run-2"]), st.none() | STAGES),
    st.sampled_from([change for change, _, _ in MOVES]),
    st.builds(StageEntered, st.just(ID), STAGES),
    st.builds(StagePassed, st.just(ID), STAGES),
    st.builds(
        IterationBegun,
        task=st.just(ID),
        stage=STAGES,
        iteration=st.integers(0, 6),
        max_iterations=st.just(5),
        completion_promise=st.just("P"),
        at=st.just(AT),
    ),
    st.just(SentBack(ID, "more", AT)),
    st.just(TaskLanded(ID, "abc")),
)


@given(st.lists(ANY, max_size=40))
def test_whatever_comes_a_task_makes_sense(changes: list[Change]) -> None:
    entry = NEW
    for change in changes:
        before = entry
        try:
            entry = apply_change(entry, change)
        except IllegalMove:
            continue
        task = entry.task
        assert (entry.worker != "") == (task.status == "in_progress")
        assert "ralph" not in task.metadata or task.status == "in_progress"
        assert before.task.status != "done" or entry == before or isinstance(change, Attempted | CostRecorded)
        assert set(entry.passed) <= {*ROLES[: ROLES.index(task.stage) + 1]} if task.stage else entry.passed == ()
        if task.status == "done" and before.task.status != "done":
            assert task.stage in before.passed


def test_only_send_backs_since_it_was_given_up_count() -> None:
    reviewed = [CLAIM, *through("coder"), StageEntered(ID, "reviewer")]
    back = played(*reviewed, SentBack(ID, "Louder.", AT))
    assert [record["changes"] for record in list_send_backs(back.task)] == ["Louder."]
    rested = played(Released(ID), CLAIM, entry=back)
    assert len(list_send_backs(rested.task)) == 1
    failed = played(FAIL, entry=rested)
    assert list_send_backs(failed.task) == []
    again = played(*reviewed, SentBack(ID, "Clearer.", AT), entry=failed)
    assert [record["changes"] for record in list_send_backs(again.task)] == ["Clearer."]
    assert len(again.task.metadata["ralph_send_backs"]) == 2  # type: ignore[arg-type]  # a list, kept whole


OWN = CompletionCriteria(
    "P", "d", verification_method=VerificationMethod.EXTERNAL, verification_config={"command": "true"}, max_iterations=5
)
SPEC = TaskCompletionSpec("o", ["a"], reviewer=OWN)


@pytest.mark.parametrize(
    ("spec", "stage", "passed"),
    [
        (SPEC, "tester", ("coder", "reviewer")),
        (replace(SPEC, reviewer=replace(OWN, max_iterations=9)), "tester", ("coder", "reviewer")),
        (replace(SPEC, reviewer=replace(OWN, verification_config={"command": "false"})), "reviewer", ("coder",)),
        (replace(SPEC, qa=OWN), "tester", ("coder", "reviewer")),
        (replace(SPEC, acceptance_criteria=["a", "b"]), "coder", ()),
    ],
)
def test_what_was_proven_by_other_criteria_is_proven_again(
    spec: TaskCompletionSpec, stage: str, passed: tuple[str, ...]
) -> None:
    begun = replace(NEW, task=replace(NEW.task, completion_spec=SPEC))
    stopped = played(CLAIM, *through("coder", "reviewer"), StageEntered(ID, "tester"), Released(ID), entry=begun)
    stopped = replace(stopped, task=replace(stopped.task, iteration=3))
    edited = played(Edited(task=ID, completion_spec=spec), entry=stopped)
    assert (edited.task.stage, edited.passed) == (stage, passed)
    assert edited.task.iteration == (3 if stage == "tester" else 0)  # where it begins anew, it counts anew


@pytest.mark.parametrize(
    ("reason", "ended"), [(CANCELLED_AT_WORK, True), (CANCELLED_RUN_GONE, True), ("nobody needs it", False)]
)
def test_work_that_was_ended_is_no_task_given_up(reason: str, ended: bool) -> None:
    assert is_only_work_cancelled(played(CLAIM, Cancelled(ID, reason)).task) is ended
