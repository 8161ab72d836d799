"""A story report as one HTML file that needs nothing else."""

from html import escape
from typing import TYPE_CHECKING

from ralph.core.quantities import duration, money

if TYPE_CHECKING:
    from ralph.app.story_report import Report, StoryLine

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; vertical-align: middle; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
rect { fill: #4c8bf5; } .open rect { fill: #e0a030; }
small { opacity: .7; }
"""
_WIDTH = 120


def page(report: "Report") -> str:
    """The whole document."""
    done = sum(line.done for line in report.stories)
    most = max((line.iterations for line in report.stories), default=0) or 1
    rows = "\n".join(_row(line, most) for line in report.stories)
    sums = f"{report.iterations} iterations · {duration(report.seconds)} · {money(report.cost_usd)}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(report.project)}: stories</title>
<style>{_STYLE}</style></head><body>
<h1>{escape(report.project) or "Stories"}</h1>
<p>{done} of {len(report.stories)} stories done · {sums}</p>
<table><thead><tr><th>story</th><th>title</th><th>status</th><th class="n">reviews</th><th class="n">iterations</th>
<th></th><th class="n">time</th><th class="n">cost</th></tr></thead>
<tbody>
{rows}
</tbody></table>
</body></html>
"""


def _row(line: "StoryLine", most: int) -> str:
    kind = "" if line.done else ' class="open"'
    cells = (
        f'<td class="n">{line.reviews}</td><td class="n">{line.iterations}</td><td>{_bar(line.iterations, most)}</td>'
    )
    amounts = f'<td class="n">{duration(line.seconds)}</td><td class="n">{money(line.cost_usd)}</td>'
    names = f"<td>{escape(line.id)}</td><td>{escape(line.title)}</td><td>{escape(line.status)}</td>"
    return f"<tr{kind}>{names}{cells}{amounts}</tr>"


def _bar(value: int, most: int) -> str:
    width = round(_WIDTH * value / most)
    return (
        f'<svg width="{_WIDTH}" height="12" role="img" aria-label="{value}"><rect width="{width}" height="12"/></svg>'
    )
