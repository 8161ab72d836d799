"""SpecFlow's first rule against false promises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.tasks.contradictions import check_promise, find_contradiction, find_missing_sign

GOOD = "Committed. 12 passed. REVIEW PASSED"


@pytest.mark.parametrize(
    "words",
    [
        "TODO: the rest",
        "FIXME: later",
        "Logout is not yet implemented",
        "I still need to add tests",
        "Remaining work: docs",
        "I am blocked by a missing key",
        "I cannot complete this",
        "2 tests fail",
        "One test failed",
    ],
)
@pytest.mark.parametrize("stage", ["coder", "reviewer", "tester", "qa"])
def test_words_that_contradict_a_promise(words: str, stage: str) -> None:  # 000-11, 000-12
    assert check_promise(True, f"{GOOD}\n{words}", stage) == (False, "Output contains contradictions to promise")


@pytest.mark.parametrize(
    ("stage", "output", "found"),
    [
        ("coder", "All is written.", (False, "No commit detected in coder output")),
        ("coder", "Committed as abc123.", (True, "Promise verified")),
        ("coder", "See the last COMMIT.", (True, "Promise verified")),
        ("tester", "All green.", (False, "No passing tests detected")),
        ("tester", "12 Passed", (True, "Promise verified")),
        ("tester", "TESTS PASSED", (True, "Promise verified")),
        ("reviewer", "Looks fine. review passed", (False, "No review approval detected")),  # that one minds its case
        ("reviewer", "REVIEW PASSED", (True, "Promise verified")),
        ("reviewer", "Approved.", (True, "Promise verified")),
        ("qa", "", (True, "Promise verified")),
        ("architect", "", (True, "Promise verified")),
        ("", "", (True, "Promise verified")),
    ],
)
def test_each_stage_must_show_its_sign(stage: str, output: str, found: tuple[bool, str]) -> None:  # 000-11, 000-13
    assert check_promise(True, output, stage) == found


def test_an_agent_that_cannot_commit_need_not_say_that_it_did() -> None:  # issue 12
    assert check_promise(True, "All is written.", "coder", can_commit=False) == (True, "Promise verified")
    assert not check_promise(True, "TODO: all", "coder", can_commit=False)[0]


def test_form_comes_before_contradictions_and_these_before_the_stage() -> None:  # 000-10
    assert check_promise(False, "TODO: all", "coder") == (False, "Promise not found or malformed")
    assert check_promise(True, "TODO: all", "coder") == (False, "Output contains contradictions to promise")


@given(st.text(), st.sampled_from(["coder", "reviewer", "tester", "qa", "other"]))
def test_an_unmade_promise_is_never_believed(output: str, stage: str) -> None:
    assert not check_promise(False, output, stage)[0]


@pytest.mark.parametrize(
    "words",
    [
        "TODO: the rest",
        "Two tests fail.",
        "The tests still fail and I could not fix it.",
        "I fixed it. The tests failed on CI, though.",
        "No docs. Remaining work: all of it.",
        "Done, but the API is not yet implemented",
        'I wrote "done", and cannot complete the rest.',
    ],
)
def test_an_agents_own_words_count_against_its_promise(words: str) -> None:  # 000-25
    assert find_contradiction(f"{GOOD}\n{words}")


@pytest.mark.parametrize(
    "words",
    [
        "No tests fail.",
        "0 of 12 tests failed",
        "None of the tests fail any more.",
        "There is no remaining work.",
        "Nothing is blocked by this.",
        "I am not blocked by anything",
        "The new test fails without my change and passes with it.",
        "The tests failed before; now all pass",
        "No test still fails.",
        "Without the fix the tests still fail, with it they pass.",
        "The new tests fail on the base, as they should.",
        "The checker prints `TODO: x` for such lines.",
        'The task said: "users cannot complete a purchase". They can now.',
        "Met: a user whose tests fail is told",
    ],
)
def test_what_an_agent_quotes_repeats_or_denies_does_not(words: str) -> None:
    assert not find_contradiction(f"{GOOD}\n{words}", ["a user whose tests fail is told"])


@pytest.mark.parametrize(
    ("stage", "message", "missing"),
    [
        ("coder", "I wrote it.", "No commit detected in coder output"),
        ("coder", "Committed as 1a2b3c.", ""),
        ("tester", "I ran them.\n<promise>TESTED</promise>", "No passing tests detected"),
        ("tester", "I ran them.\n<promise>TESTS_PASSED</promise>", ""),
        ("reviewer", "Read it.\n<promise>AUTH_REVIEWED</promise>", "No review approval detected"),
        ("reviewer", "Read it.\n<promise>REVIEW_PASSED</promise>", ""),
        ("reviewer", "Approved.\n<promise>AUTH_REVIEWED</promise>", ""),
        ("qa", "Fine.", ""),
    ],
)
def test_the_sign_of_a_stage_may_be_its_promises_name(stage: str, message: str, missing: str) -> None:  # 000-25
    assert find_missing_sign(stage, message) == missing
