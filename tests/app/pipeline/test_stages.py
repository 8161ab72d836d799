"""Agents, criteria and limits of a task's stages, from settings and history."""

from collections.abc import Callable

import pytest

from ralph.app.pipeline.stages import IterationLimit, adapt_limit, resolve_limit, resolve_stage_criteria, use_one_agent
from ralph.config.schema import Settings, convert_settings
from ralph.model.spec import CompletionCriteria, Task, TaskCompletionSpec, VerificationMethod

OWN = CompletionCriteria(
    "MINE",
    "d",
    verification_method=VerificationMethod.EXTERNAL,
    verification_config={"command": "true"},
    max_iterations=7,
)
TASK = Task("T", "s", "Title", completion_spec=TaskCompletionSpec("o", ["a"], coder=OWN))


def given(**flow: object) -> Settings:
    return convert_settings({"specflow": flow})


def took(*iterations: int) -> Callable[[str], list[int]]:
    return lambda role: [*iterations]


@pytest.mark.parametrize(
    ("role", "flow", "limit"),
    [
        ("coder", {}, IterationLimit(7, "by the task")),
        ("reviewer", {}, IterationLimit(5, "by settings")),
        ("tester", {"tester": {"max_iterations": 3}}, IterationLimit(3, "by settings")),
        ("coder", {"enabled": False}, IterationLimit(1, "a single pass: its loop is switched off")),
        ("qa", {"qa": {"enabled": False}}, IterationLimit(1, "a single pass: its loop is switched off")),
    ],
)
def test_who_decides_on_a_limit(
    role: str, flow: dict[str, object], limit: IterationLimit
) -> None:  # 000-08, 002-16, 002-23
    assert resolve_limit(TASK, role, given(**flow), took(1, 1, 1, 1, 1, 1)) == limit


def test_limits_follow_history_and_say_so() -> None:  # 000-24, 002-26
    history = took(1, 2, 1, 2, 1, 1, 1, 2, 1, 1)
    limit = resolve_limit(TASK, "tester", given(adaptive=True), history)
    told = "adaptive: 90% of the last 10 verified promises took 2 or less; by settings 10"
    assert limit == IterationLimit(3, told)


def test_what_a_task_says_itself_stays() -> None:
    assert resolve_limit(TASK, "coder", given(adaptive=True), took(*[1] * 9)) == IterationLimit(7, "by the task")


def test_little_history_changes_nothing_but_is_told() -> None:
    limit = resolve_limit(TASK, "qa", given(adaptive=True), took(1, 1))
    assert limit == IterationLimit(5, "by settings; adaptive from 5 verified promises on, there are 2")


def test_history_never_raises_a_limit() -> None:
    assert adapt_limit(4, [9, 9, 9, 9, 9, 9]).iterations == 4


def test_an_agent_without_criteria_of_its_own_has_the_configured_promise() -> None:  # 000-09, 002-21
    found = resolve_stage_criteria(TASK, "qa", given(qa={"completion_promise": "SHIP_IT"})).criteria
    assert (found.promise, found.verification_method) == ("SHIP_IT", VerificationMethod.SEMANTIC)
    assert found.verification_config == {"check_for": ["a"]}


def test_unverified_promises_are_believed() -> None:  # 000-08
    found = resolve_stage_criteria(TASK, "coder", given(verify_promises=False)).criteria
    assert (found.promise, found.verification_method) == ("MINE", VerificationMethod.STRING_MATCH)


def test_one_agent_for_all_stages() -> None:
    chosen = use_one_agent(given(reviewer={"agent": "codex", "model": "o9", "max_iterations": 2})).specflow.reviewer
    assert (chosen.agent, chosen.model, chosen.max_iterations) == (None, None, 2)


@pytest.mark.parametrize(
    ("wanted", "method"),
    [
        (None, "semantic"),
        ("string_match", "string_match"),
        ("semantic", "semantic"),
        ("external", "semantic"),  # without a command it has nothing to work with
        ("multi_stage", "semantic"),
    ],
)
def test_the_default_verification_is_for_agents_a_task_says_nothing_of(
    wanted: str | None, method: str
) -> None:  # 002-21, 002-23, C16
    chosen = given(default_verification=wanted)
    assert resolve_stage_criteria(TASK, "coder", chosen).criteria == OWN
    assert resolve_stage_criteria(TASK, "qa", chosen).criteria.verification_method.value == method
    bare = resolve_stage_criteria(Task("T", "s", "Title"), "qa", chosen)
    assert (bare.criteria.verification_method.value, bool(bare.warning)) == (method, True)
    words = given(default_verification=wanted, semantic="words")
    by_words = resolve_stage_criteria(Task("T", "s", "Title"), "qa", words)
    assert by_words.criteria.verification_method.value == "string_match"
