"""The line that a commit of ours carries."""

import pytest

from ralph.model.receipt import format_trailer, parse_trailer


def test_a_trailer_is_found_again_in_a_message() -> None:
    trailer = format_trailer("20261117-120000-ab12", "f00d")
    assert trailer == "Ralph-Receipt: 20261117-120000-ab12 sha256:f00d"
    assert parse_trailer(f"Add it\n\nWhy.\n\n{trailer}\n") == ("20261117-120000-ab12", "f00d")


def test_of_several_trailers_the_last_one_counts() -> None:
    assert parse_trailer("x\n\nRalph-Receipt: old sha256:1\nRalph-Receipt: new sha256:2") == ("new", "2")


@pytest.mark.parametrize(
    "message", ["", "Ralph-Receipt", "Ralph-Receipt: run", "Ralph-Receipt:  sha256:1", "See Ralph-Receipt: a sha256:1"]
)
def test_anything_else_is_none(message: str) -> None:
    assert parse_trailer(message) is None
