"""The pictures of README and docs: frames of a real terminal, as an SVG that moves."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("pyte", reason="installed for `make pictures` only")
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from terminal_film import draw, record

SCRIPT = "printf 'same\\r\\none <&> \\033[31mred\\033[0m'; sleep 0.3; printf '\\rtwo'; sleep 0.3"


def test_a_film_shows_what_the_terminal_showed_and_stands_still_for_whoever_wants_less_motion() -> None:
    film = record(("sh", "-c", SCRIPT), folder="/", variables={"PATH": "/usr/bin:/bin"}, size=(20, 2), every=0.1)
    shown = ["".join(cell.data for cell in frame.lines[1]).strip() for frame in film.frames]
    assert shown[-1] == "two <&> red"
    assert "one <&> red" in shown

    svg = draw(film, "A <title>")
    assert ElementTree.fromstring(svg).findtext("{*}title") == "A <title>"
    assert "prefers-reduced-motion:no-preference" in svg
    assert svg.count("same</text>") == 1  # what stays the same is drawn once
