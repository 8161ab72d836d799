"""A reviewer approves changed proofs by name, and by nothing less."""

import pytest

from ralph.core.proofs.approval import (
    describe_approvals,
    describe_missing_approvals,
    read_approvals,
    render_review_question,
)
from ralph.model.proofs import ProofChange

CALC = ProofChange(path="tests/test_calc.py", kind="changed", reason="its assertions differ")
GOLDEN = ProofChange(path="golden/a: b.txt", kind="deleted")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("<approves>tests/test_calc.py: add is plus now</approves>", "add is plus now"),
        ("  - <approves>`tests/test_calc.py`: add is plus now</approves>", "add is plus now"),
        ("<APPROVES>tests/test_calc.py — renamed</APPROVES>", "renamed"),
        ("<approves>tests/test_calc.py</approves>", ""),
    ],
)
def test_a_file_is_approved_by_its_name(line: str, why: str) -> None:
    found = read_approvals(f"I read it.\n{line}\n<promise>REVIEW_PASSED</promise>", [CALC], by="reviewer")
    assert found.missing == ()
    assert [(each.change, each.by, each.why) for each in found.approved] == [(CALC, "reviewer", why)]


@pytest.mark.parametrize(
    "text",
    [
        "All is well: tests/test_calc.py is fine.",
        "```\n<approves>tests/test_calc.py: quoted</approves>\n```",
        "<approves>test_calc.py: another path</approves>",
        "<approves>tests/test_calc.py.bak: another file</approves>",
        "<approves>everything: I trust the coder</approves>",
        "I do not say <approves>tests/test_calc.py: yes</approves> yet.",
    ],
)
def test_nothing_else_approves_it(text: str) -> None:
    assert read_approvals(text, [CALC], by="reviewer").missing == (CALC.path,)


def test_each_file_needs_a_word_of_its_own() -> None:
    text = "<approves>golden/a: b.txt: gone with its report</approves>"
    found = read_approvals(text, [CALC, GOLDEN], by="reviewer", explanation="renamed")
    assert (found.missing, found.approved[0].why, found.approved[0].explanation) == (
        (CALC.path,),
        "gone with its report",
        "renamed",
    )
    assert "tests/test_calc.py" in describe_missing_approvals(found.missing)
    assert describe_approvals(found.approved) == (
        "golden/a: b.txt was deleted, which the reviewer approved: gone with its report"
    )


def test_the_question_names_files_shows_the_diff_and_how_to_answer() -> None:
    asked = render_review_question([CALC, GOLDEN], "add is plus now", "-add\n+plus")
    for words in (CALC.path, GOLDEN.path, "+plus", "add is plus now", "its assertions differ"):
        assert words in asked
    assert read_approvals(asked, [CALC, GOLDEN], by="reviewer").approved == ()  # who repeats it has not answered


def test_of_two_files_with_the_same_beginning_the_named_one_is_approved() -> None:
    short, long = ProofChange(path="golden/a", kind="changed"), ProofChange(path="golden/a: b.txt", kind="changed")
    found = read_approvals("<approves>golden/a: b.txt: as wanted</approves>", [short, long], by="reviewer")
    assert ([each.change for each in found.approved], found.missing) == ([long], (short.path,))


def test_what_is_missing_is_asked_for_in_the_right_number() -> None:
    assert "its change is right" in describe_missing_approvals(["a"])
    assert "their changes are right" in describe_missing_approvals(["a", "b"])


def test_a_change_nobody_explained_is_asked_about_as_such() -> None:
    assert "(none)" in render_review_question([CALC], "", "-add")
