"""Which criteria hold for a task's agent."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.tasks.criteria import (
    drop_verification,
    expand_acceptance_criteria,
    has_promise,
    is_promise_made,
    list_accepted_promises,
    list_judged_criteria,
    resolve_criteria,
    resolve_max_iterations,
)
from ralph.model.spec import (
    AGENT_DEFAULTS,
    ROLES,
    AgentDefaults,
    CompletionCriteria,
    Task,
    TaskCompletionSpec,
    VerificationMethod,
)

EXTERNAL, SEMANTIC = VerificationMethod.EXTERNAL, VerificationMethod.SEMANTIC
STRING_MATCH, MULTI_STAGE = VerificationMethod.STRING_MATCH, VerificationMethod.MULTI_STAGE
WANTED = ["Login returns JWT", "401 for invalid tokens"]
OWN = CompletionCriteria(
    "AUTH_IMPLEMENTED",
    "It is there",
    verification_method=EXTERNAL,
    verification_config={"command": "true"},
    max_iterations=7,
)


def task(spec: TaskCompletionSpec | None) -> Task:
    return Task("TASK-001", "auth", "Implement JWT authentication", completion_spec=spec)


def test_the_four_methods() -> None:  # 002-01
    assert [method.value for method in VerificationMethod] == ["string_match", "semantic", "external", "multi_stage"]


def test_the_agents_defaults() -> None:  # 000-09, 002-23, C3
    assert {role: (d.max_iterations, d.promise, d.verification_method) for role, d in AGENT_DEFAULTS.items()} == {
        "coder": (15, "IMPLEMENTATION_COMPLETE", EXTERNAL),
        "reviewer": (5, "REVIEW_PASSED", SEMANTIC),
        "tester": (10, "TESTS_PASSED", EXTERNAL),
        "qa": (5, "QA_PASSED", MULTI_STAGE),
    }


def test_the_tasks_own_criteria_come_first() -> None:  # 002-21
    found = resolve_criteria(task(TaskCompletionSpec("o", WANTED, coder=OWN)), "coder", AGENT_DEFAULTS["coder"])
    assert (found.criteria, found.warning) == (OWN, "")
    assert resolve_max_iterations(found.criteria, AGENT_DEFAULTS["coder"]) == 7


@pytest.mark.parametrize("role", ROLES)
def test_a_default_without_options_gives_way_to_the_acceptance_criteria(role: str) -> None:  # 002-21, C16
    found = resolve_criteria(task(TaskCompletionSpec("o", WANTED)), role, AGENT_DEFAULTS[role])
    assert found.warning == ""
    assert found.criteria == CompletionCriteria(
        AGENT_DEFAULTS[role].promise,
        f"Complete {role} stage for: Implement JWT authentication",
        SEMANTIC,
        {"check_for": WANTED},
    )
    assert resolve_max_iterations(found.criteria, AGENT_DEFAULTS[role]) == AGENT_DEFAULTS[role].max_iterations


def test_an_agent_nobody_knows_promises_that_its_stage_is_complete() -> None:  # 002-21
    found = resolve_criteria(task(TaskCompletionSpec("o", WANTED)), "architect", AgentDefaults()).criteria
    assert (found.promise, found.verification_method) == ("STAGE_COMPLETE", SEMANTIC)
    assert resolve_max_iterations(found, AgentDefaults()) == 10


@pytest.mark.parametrize("role", ROLES)
def test_without_acceptance_criteria_the_promise_alone_is_left(role: str) -> None:  # C16
    found = resolve_criteria(task(TaskCompletionSpec("o", [])), role, AGENT_DEFAULTS[role]).criteria
    assert (found.verification_method, found.verification_config) == (STRING_MATCH, {})


@pytest.mark.parametrize("role", ROLES)
def test_a_task_without_a_spec_is_warned_of_and_judged_by_what_it_asks_for(role: str) -> None:
    found = resolve_criteria(task(None), role, AGENT_DEFAULTS[role])
    assert found.warning == f"TASK-001 says nothing about completion; {role} is verified by semantic"
    assert found.criteria.verification_config == {"check_for": list_judged_criteria(task(None))}


@pytest.mark.parametrize("role", ROLES)
def test_where_words_were_chosen_it_is_matched_by_its_promise(role: str) -> None:  # 002-24, C15
    found = resolve_criteria(task(None), role, AGENT_DEFAULTS[role], by_words=True)
    assert found.warning == f"TASK-001 says nothing about completion; {role} is verified by string_match"
    assert (found.criteria.promise, found.criteria.verification_method) == (AGENT_DEFAULTS[role].promise, STRING_MATCH)


def test_a_default_with_options_is_used() -> None:  # 002-23
    defaults = AgentDefaults(
        promise="TESTS_PASSED",
        max_iterations=10,
        verification_method=EXTERNAL,
        verification_config={"command": "make test"},
    )
    found = resolve_criteria(task(TaskCompletionSpec("o", WANTED)), "tester", defaults).criteria
    assert (found.verification_method, found.verification_config) == (EXTERNAL, {"command": "make test"})


def test_who_asks_for_the_promise_alone_gets_it() -> None:
    defaults = AgentDefaults(promise="DONE", max_iterations=3, verification_method=STRING_MATCH)
    found = resolve_criteria(task(TaskCompletionSpec("o", WANTED)), "coder", defaults).criteria
    assert found.verification_method is STRING_MATCH


def test_unverified_promises_are_believed() -> None:  # 000-08
    assert drop_verification(OWN) == CompletionCriteria(
        "AUTH_IMPLEMENTED", "It is there", verification_method=STRING_MATCH, verification_config={}, max_iterations=7
    )


@pytest.mark.parametrize(
    ("promise", "said", "is_made"),
    [
        ("REVIEW_PASSED", "REVIEW_PASSED", True),
        ("REVIEW_PASSED", "REVIEW_COMPLETE", True),
        ("TESTS_PASSED", "TESTS_COMPLETE", True),
        ("REVIEW_COMPLETE", "REVIEW_PASSED", False),
        ("REVIEW_PASSED", "TESTS_COMPLETE", False),
        ("REVIEW_PASSED", "review_passed", False),
        ("QA_PASSED", "QA_PASSED", True),
        ("QA_PASSED", "WRONG_PROMISE", False),
    ],
)
def test_the_first_versions_promises_count_too(promise: str, said: str, is_made: bool) -> None:  # C1, C3
    assert is_promise_made(promise, f"Done.\n<promise>{said}</promise>") is is_made


@pytest.mark.parametrize(
    ("text", "strict", "loose"),
    [
        ("<promise>ANY</promise>", True, True),
        ("It is <promise>ANY</promise>, I think.", False, True),
        ("<promise></promise>", False, False),
        ("nothing", False, False),
    ],
)
def test_a_message_promises_something_by_either_rule(text: str, strict: bool, loose: bool) -> None:
    assert (has_promise(text, loose=False), has_promise(text, loose=True)) == (strict, loose)


def test_an_empty_promise_is_not_made_by_silence() -> None:
    assert not is_promise_made("", "")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("{{acceptance_criteria}}", tuple(WANTED)),
        (["first", "{{acceptance_criteria}}", "last"], ("first", *WANTED, "last")),
        (["{{ acceptance_criteria }}"], tuple(WANTED)),
        ("all of: {{acceptance_criteria}}", ("all of: Login returns JWT; 401 for invalid tokens",)),
        ("plain", ("plain",)),
        ([], ()),
    ],
)
def test_acceptance_criteria_are_put_in_place(wanted: str | list[str], found: tuple[str, ...]) -> None:  # 002-11
    assert expand_acceptance_criteria(wanted, WANTED) == found


def test_a_place_for_criteria_without_any_stays_empty_handed() -> None:  # 002-11
    assert expand_acceptance_criteria("{{acceptance_criteria}}", ()) == ("{{acceptance_criteria}}",)


@given(st.lists(st.text(), min_size=1))
def test_no_criterion_is_lost_or_changed(criteria: list[str]) -> None:  # 002-11
    assert expand_acceptance_criteria("{{acceptance_criteria}}", criteria) == tuple(criteria)


TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
CRITERIA = st.builds(
    CompletionCriteria,
    promise=TEXT,
    description=TEXT,
    verification_method=st.sampled_from(VerificationMethod),
    verification_config=st.dictionaries(TEXT, JSON, max_size=3),
    max_iterations=st.none() | st.integers(1, 99),
)
SPECS = st.builds(
    TaskCompletionSpec,
    TEXT,
    st.lists(TEXT, max_size=3),
    coder=st.none() | CRITERIA,
    reviewer=st.none() | CRITERIA,
    tester=st.none() | CRITERIA,
    qa=st.none() | CRITERIA,
)


@given(SPECS)
def test_a_spec_survives_the_way_to_json_and_back(spec: TaskCompletionSpec) -> None:  # 002-02, 002-03, 002-04
    data = msgspec.json.decode(msgspec.json.encode(spec.to_dict()))
    assert TaskCompletionSpec.from_dict(data) == spec
    assert msgspec.json.decode(msgspec.json.encode(spec), type=TaskCompletionSpec) == spec
    assert msgspec.to_builtins(spec) == spec.to_dict()
    whole = task(spec)
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Task) == whole


def test_a_spec_as_json() -> None:  # 002-02, 002-03
    assert TaskCompletionSpec("o", WANTED, coder=OWN).to_dict() == {
        "outcome": "o",
        "acceptance_criteria": WANTED,
        "coder": {
            "promise": "AUTH_IMPLEMENTED",
            "description": "It is there",
            "verification_method": "external",
            "verification_config": {"command": "true"},
            "max_iterations": 7,
        },
    }


def test_what_may_be_left_out() -> None:  # 002-02
    data = {"promise": "P", "description": "d", "verification_method": "semantic"}
    assert CompletionCriteria.from_dict(data) == CompletionCriteria(
        "P", "d", verification_method=SEMANTIC, verification_config={}, max_iterations=None
    )


def test_what_may_not() -> None:  # 002-02, 002-03
    with pytest.raises(KeyError, match="promise"):
        CompletionCriteria.from_dict({"description": "d", "verification_method": "semantic"})
    with pytest.raises(ValueError, match="divination"):
        CompletionCriteria.from_dict({"promise": "P", "description": "d", "verification_method": "divination"})
    with pytest.raises(KeyError, match="acceptance_criteria"):
        TaskCompletionSpec.from_dict({"outcome": "o"})


@pytest.mark.parametrize("agent", ["architect", "outcome", "to_dict", ""])
def test_unknown_agents_have_no_criteria(agent: str) -> None:  # 002-03
    assert TaskCompletionSpec("o", WANTED, coder=OWN).get_criteria_for_agent(agent) is None


def test_an_accepted_text_is_at_least_the_promise_itself() -> None:
    assert list_accepted_promises("X") == ("X",)


def test_a_task_begins_without_spec_and_iteration() -> None:  # 002-04
    fresh = Task("T", "s", "t")
    assert (fresh.completion_spec, fresh.iteration, fresh.status) == (None, 0, "todo")
