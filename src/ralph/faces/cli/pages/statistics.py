"""What `ralph stats` shows."""

from collections import Counter
from collections.abc import Sequence

from ralph.app.runs.statistics import MAX_CHECKS, AgentStatistics
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_cost, pluralize
from ralph.core.text.secrets import redact
from ralph.faces.cli.terminal.columns import align_columns
from ralph.faces.cli.terminal.look import TerminalStyle

MAX_CHECK_CELLS = 70


def render_statistics(found: Sequence[AgentStatistics], style: TerminalStyle) -> str:
    """A line for each agent and model; below, the checks that fail most."""
    if not found:
        return "No run has ended here yet."
    heads = ["agent", "runs", "done", "first pass", "iterations each", "cost each"]
    lines = align_columns([heads, *(_render_agent(one, style) for one in found)], right=(1, 2, 3, 4, 5), widest=40)
    red = sum((Counter(one.failed_checks) for one in found), Counter[str]())
    if red:
        lines.append("Checks that fail most:")
        lines += [
            f"  {pluralize(count, 'time')}  {one_line(redact(check), MAX_CHECK_CELLS, style.glyphs.ellipsis)}"
            for check, count in red.most_common(MAX_CHECKS)
        ]
    return "\n".join(lines)


def _format_cost_each(one: AgentStatistics, style: TerminalStyle) -> str:
    if not one.priced:
        return style.glyphs.unknown
    return format_cost(one.cost_usd / one.priced, one.estimated_usd / one.priced, about=style.glyphs.about)


def _render_agent(one: AgentStatistics, style: TerminalStyle) -> list[str]:
    unknown = style.glyphs.unknown
    return [
        " ".join(filter(None, (one.agent, one.model))),
        str(one.runs),
        str(one.done),
        f"{one.first_pass / one.done:.0%}" if one.done else unknown,
        f"{one.iterations / one.done:.1f}" if one.done else unknown,
        _format_cost_each(one, style),
    ]
