"""What is said about changed proofs."""

import pytest

from ralph.core.proofs.wording import (
    LOOKED_AT_REASON,
    build_proof_feedback,
    describe_altered,
    describe_flagged_completion,
    describe_notes,
    extract_explanation,
    join_paths,
)
from ralph.model.loop import GateResult
from ralph.model.proofs import ProofChange, ProofChangeKind


def make(path: str, kind: ProofChangeKind = "changed", *, reason: str = "", check: str = "") -> ProofChange:
    is_noted = kind == "doubtful" or bool(reason)
    return ProofChange(path=path, kind=kind, reason=reason, check=check, noted=is_noted)


@pytest.mark.parametrize(
    ("kind", "one", "two"),
    [
        ("deleted", "a was deleted", "a and b were deleted"),
        ("added", "a was added", "a and b were added"),
        ("changed", "a was changed", "a and b were changed"),
        ("shadowed", "a is new and in the way of a check", "a and b are new and in the way of a check"),
    ],
)
def test_one_was_and_two_were(kind: ProofChangeKind, one: str, two: str) -> None:
    assert describe_altered([make("a", kind)]) == one
    assert describe_altered([make("a", kind), make("b", kind)]) == two


def test_of_many_files_the_first_three_are_named() -> None:
    assert join_paths(["a", "b", "c"]) == "a, b and c"
    assert join_paths(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_a_flag_says_what_fails() -> None:
    assert "and fails in its old form" in describe_flagged_completion([make("a")])
    assert "and fail in their old form" in describe_flagged_completion([make("a"), make("b")])
    assert "the checks fail with the files as they were" in describe_flagged_completion([make("a", "deleted")])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([make("a", "added", check="make test")], "a is new and part of the check"),
        ([make(name, "added", check="x") for name in "ab"], "a and b are new and part of the check"),
        ([make("a", reason="the check runs it")], "a, which the check runs, was changed"),
        ([make(name, reason="the check runs it") for name in "ab"], "a and b, which the check runs, were changed"),
        ([make("a", "added", reason=LOOKED_AT_REASON)], "a, which the check only looks at, is new"),
        ([make("a", reason=LOOKED_AT_REASON)], "a, which the check only looks at, was changed"),
        (
            [make("a", "added", reason=LOOKED_AT_REASON), make("b", reason=LOOKED_AT_REASON)],
            "a and b, which the check only looks at, were changed",
        ),
        ([make("a", "doubtful", reason="asks for tests")], "look at a (asks for tests)"),
        (
            [make(name, "doubtful", reason="x") for name in "abcde"],
            "look at a (x), b (x), c (x) and 2 more",
        ),
        ([make("a", "added")], ""),  # a new test
        ([make("a", "changed", check="make test")], ""),  # told elsewhere
        (
            [make("a", "added", check="x"), make("b", "doubtful", reason="y")],
            "a is new and part of the check; look at b (y)",
        ),
    ],
)
def test_a_complete_run_tells_what_a_person_may_want_to_know(changes: list[ProofChange], said: str) -> None:
    assert describe_notes(changes) == said


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (GateResult(gate="t", passed=False, exit_code=2, reason="It timed out.", summary="1 failed"), "1 failed"),
        (GateResult(gate="t", passed=False, exit_code=2, reason="It timed out."), "It timed out."),
        (GateResult(gate="t", passed=False, exit_code=2), "exit code 2"),
    ],
)
def test_the_next_agent_reads_how_each_check_failed(failure: GateResult, said: str) -> None:
    assert f"- `t`: {said}" in build_proof_feedback([make("a")], [failure], "-assert").text


def test_an_explanation_has_words_in_it_and_stands_outside_fences() -> None:
    assert extract_explanation("<changes></changes>") == ""
    assert extract_explanation("<changes>x</changes>") == "x"
    assert extract_explanation("```\n<changes>add is plus</changes>\n```") == ""
