"""SpecFlow's first rule against false promises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.tasks.contradictions import check_promise

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
