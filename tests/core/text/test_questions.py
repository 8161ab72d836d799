"""What counts as a question to a person, and how notes stand in a prompt."""

import pytest

from ralph.core.text.questions import (
    MAX_QUESTION_CHARS,
    add_notes,
    describe_question,
    extract_question,
    find_question,
    render_notes,
)
from ralph.model.control import PersonNote
from ralph.model.loop import Reported


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<question>Tabs or spaces?</question>", "Tabs or spaces?"),
        ("I looked.\n\n<QUESTION> Red? </QUESTION>\n\n", "Red?"),
        ("<question>\nOne\nor two?\n</question>", "One\nor two?"),
        ("<question>Which of:\n```\na\nb\n```\n</question>", "Which of:\n```\na\nb\n```"),
        ("```\ncode\n```\n<question>Why?</question>", "Why?"),
        ("<question>First?</question>\n\n<question>Second?</question>", "Second?"),
        ("<question>Why?</question>\nI go on.", ""),  # not the last thing
        ("I would ask <question>Why?</question>", ""),  # in the middle of a sentence
        ("> <question>Why?</question>", ""),
        ("`<question>Why?</question>`", ""),
        ("```\n<question>Why?</question>\n```", ""),
        ("```\nunclosed\n<question>Why?</question>", ""),
        ("<question></question>", ""),
        ("<question>your question</question>", ""),  # the rule, repeated
        ("<question>Why?", ""),
        ("Why?</question>", ""),
        ("<question>Why?</question>\n<promise>COMPLETE</promise>", ""),
        ("<promise>COMPLETE</promise>\n<question>Why?</question>", "Why?"),
        ("", ""),
        ("```\n<question>Quoted?\n```\nand then</question>", ""),  # its beginning is only quoted
        ("Or <question>\nWhy?</question>", ""),  # it begins in the middle of a line
        ("<question>Why?</question>\nso\nreally?</question>", ""),  # ended before
        ("<question>Why?</question> so?</question>", ""),
        ("<question>One <question>Two?</question>", ""),
        ("<question>Is it\n```\n<question>x</question>\n```\nright?</question>", ""),
    ],
)
def test_a_question_is_the_last_thing_said_and_begins_its_line(text: str, found: str) -> None:
    assert extract_question(text) == found


def test_a_question_without_end_is_shortened() -> None:
    assert len(extract_question(f"<question>{'x' * 100_000}</question>")) == MAX_QUESTION_CHARS + 2


def test_a_question_as_long_as_allowed_is_whole() -> None:
    question = "x" * MAX_QUESTION_CHARS
    assert extract_question(f"<question>{question}</question>") == question


def test_a_question_is_told_in_one_line_of_bounded_length() -> None:
    assert describe_question("Tabs\nor spaces?") == "the agent asks: Tabs or spaces?"
    assert len(describe_question("x" * 1000)) < 400


def test_a_note_nobody_signed_is_from_a_person() -> None:
    assert render_notes((PersonNote(id=1, text="Use tabs", by=""),)) == "## Note from a person\n\nUse tabs"


@pytest.mark.parametrize(("outcome", "found"), [("finished", "Why?"), ("refused", "Why?"), ("timed_out", "")])
def test_only_who_came_to_an_end_asks(outcome: str, found: str) -> None:
    reported = Reported(outcome=outcome, text="<question>Why?</question>")  # type: ignore[arg-type]  # a table
    assert find_question(reported) == found


def test_notes_and_answers_stand_under_headings_with_who_wrote_them() -> None:
    notes = (PersonNote(id=1, text="Use tabs", by="alex"), PersonNote(id=2, text="Blue", by="kim", question="Red?"))
    assert add_notes("Do it\n", notes) == (
        "Do it\n\n## Note from alex\n\nUse tabs\n\n## Answer from kim\n\nYou asked: Red?\n\nBlue\n"
    )
    assert add_notes("Do it", ()) == "Do it"
