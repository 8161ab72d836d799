"""What `ralph stats` shows."""

from ralph.app.runs.statistics import AgentStatistics
from ralph.faces.cli.pages.statistics import render_statistics
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.glyphs import ASCII_GLYPHS


def test_costs_that_are_estimated_are_marked() -> None:
    told = AgentStatistics(agent="claude", model="", runs=2, done=2, iterations=2, cost_usd=1.0, priced=2)
    guessed = AgentStatistics(agent="codex", model="", runs=1, done=1, iterations=1, estimated_usd=0.3, priced=1)
    unknown = AgentStatistics(agent="amp", model="", runs=1, done=1, iterations=1)
    costs = [line.split()[-1] for line in render_statistics([told, guessed, unknown], TerminalStyle()).splitlines()]
    assert costs[1:] == ["$0.50", "≈$0.30", "—"]
    plain = render_statistics([guessed], TerminalStyle(glyphs=ASCII_GLYPHS))
    assert plain.isascii()
