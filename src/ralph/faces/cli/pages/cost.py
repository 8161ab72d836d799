"""What `ralph cost` shows."""

from collections.abc import Sequence

from ralph.app.runs.spending import ExpenseSum
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_money, format_usage, pluralize
from ralph.faces.cli.terminal.columns import align_columns
from ralph.faces.cli.terminal.look import TerminalStyle

BAR_CELLS = 20
MAX_NAME_CELLS = 40


def render_cost(groups: Sequence[ExpenseSum], total: ExpenseSum, period: str, style: TerminalStyle) -> str:
    """A line for each group, with a bar beside it on a terminal; the total below."""
    if not total.calls:
        return f"No agent ran {period}."
    highest = max(map(_sum_up, groups), default=0.0)
    rows = [_render_group(group, highest, style) for group in groups]
    lines = align_columns([*rows, _render_group(total, 0.0, style)], right=(1,), widest=MAX_NAME_CELLS)
    if total.unpriced:
        lines.append(f"{pluralize(total.unpriced, 'call')} reported no cost: the total is at least this much.")
    if total.estimated_usd is not None:
        reported = format_money(total.cost_usd or 0.0)
        lines.append(
            f"≈ {format_money(total.estimated_usd)} of it is estimated by tokens and `prices`, {reported} reported."
        )
    return "\n".join(lines)


def _render_group(group: ExpenseSum, highest: float, style: TerminalStyle) -> list[str]:
    name = one_line(group.name, MAX_NAME_CELLS, style.glyphs.ellipsis)
    known = group.cost_usd is not None or group.estimated_usd is not None
    money = format_money(_sum_up(group) if known else None, style.glyphs.unknown)
    cells = [name, f"≈{money}" if group.estimated_usd is not None else money, pluralize(group.calls, "call")]
    cells.append(format_usage(group.usage))
    if style.is_tty:
        length = round(BAR_CELLS * _sum_up(group) / highest) if highest else 0
        cells.append(f"{style.palette.cyan}{style.glyphs.rule * length}{style.palette.off}" if length else "")
    return cells


def _sum_up(group: ExpenseSum) -> float:
    return (group.cost_usd or 0.0) + (group.estimated_usd or 0.0)
