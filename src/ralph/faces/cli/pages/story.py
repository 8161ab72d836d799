"""A story report as one HTML file that needs nothing else."""

from html import escape
from typing import TYPE_CHECKING

from ralph.core.text.quantities import format_duration, format_money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.story.report import StoryLine, StoryReport

_PAGE_CSS = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; vertical-align: middle; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
rect { fill: #4c8bf5; } .open rect { fill: #e0a030; }
td:first-child { white-space: nowrap; }
"""
_BAR_WIDTH = 60


def render_story_page(report: "StoryReport") -> str:
    done = sum(line.done for line in report.stories)
    rows = "\n".join(_render_row(line, report.stories) for line in report.stories)
    sums = f"{report.iterations} iterations · {format_duration(report.seconds)} · {format_money(report.cost_usd)}"
    heads = "".join(f'<th class="n">{name}</th><th></th>' for name in ("reviews", "iterations", "time", "cost"))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(report.project)}: stories</title>
<style>{_PAGE_CSS}</style></head><body>
<h1>{escape(report.project) or "Stories"}</h1>
<p>{done} of {len(report.stories)} stories done · {sums}</p>
<table><thead><tr><th>story</th><th>title</th><th>status</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table>
</body></html>
"""


def _render_row(line: "StoryLine", lines: "Sequence[StoryLine]") -> str:
    kind = "" if line.done else ' class="open"'
    names = f"<td>{escape(line.id)}</td><td>{escape(line.title)}</td><td>{escape(line.status)}</td>"
    amounts = (
        _render_amount(str(line.reviews), line.reviews, [each.reviews for each in lines]),
        _render_amount(str(line.iterations), line.iterations, [each.iterations for each in lines]),
        _render_amount(format_duration(line.seconds), line.seconds, [each.seconds for each in lines]),
        _render_amount(format_money(line.cost_usd), line.cost_usd or 0.0, [each.cost_usd or 0.0 for each in lines]),
    )
    return f"<tr{kind}>{names}{''.join(amounts)}</tr>"


def _render_amount(text: str, value: float, values: "Sequence[float]") -> str:
    """Two table cells: the number, and a bar in proportion to the largest of `values`."""
    width = round(_BAR_WIDTH * value / (max(values) or 1))
    bar = f'<svg width="{_BAR_WIDTH}" height="12" aria-hidden="true"><rect width="{width}" height="12"/></svg>'
    return f'<td class="n">{text}</td><td>{bar}</td>'
