"""Plots of a report as inline SVG: when what ran, what it cost, which checks failed."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from ralph.app.reports.report import CheckCount, ReportedRun
from ralph.app.runs.journal_reader import Iteration
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_duration, format_money, format_tokens
from ralph.faces.clock import format_local_time
from ralph.faces.reports.report_words import describe_iteration_end, describe_part, title_run
from ralph.model.events import NO_USAGE, Usage

WIDTH, LEFT, RIGHT = 960, 190, 20
LANE_HEIGHT, BAR_HEIGHT = 26, 14
PLOT_HEIGHT, AXIS_HEIGHT = 180, 26
MIN_BAR_WIDTH = 1.5
MAX_LANES = 60
MAX_TOKEN_BARS = 120
MAX_CHECK_BARS = 15
LABEL_CHARS = 24
MAX_TIP_CELLS = 200  # of the words a bar shows under the pointer
_DAY = 86400.0
_TIME_STEPS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 3 * 3600.0, 6 * 3600.0, _DAY, 7 * _DAY)


class Rectangle(Struct, frozen=True, kw_only=True):
    """Where a bar is drawn."""

    x: float
    y: float
    width: float
    height: float = BAR_HEIGHT


class TimelineSegment(Struct, frozen=True, kw_only=True):
    """A piece of time in which one thing went on."""

    begin: float  # unix time
    end: float
    look: str  # a class of the page's style
    words: str


class AgentExpense(Struct, frozen=True, kw_only=True):
    """One agent run's end, and what it had used up."""

    at: float
    label: str
    cost_usd: float | None
    usage: Usage


def draw_timeline(runs: Sequence[ReportedRun], now: float) -> str:
    """A lane for each run: agents, the checks behind them, and the time waited for others."""
    lanes = [(run, [*list_segments(run, now)]) for run in runs]
    lanes = [(run, segments) for run, segments in lanes if segments][-MAX_LANES:]
    if not lanes:
        return ""
    every = [segment for _, segments in lanes for segment in segments]
    begin, end = min(each.begin for each in every), max(each.end for each in every)
    scale = (WIDTH - LEFT - RIGHT) / max(end - begin, 1.0)
    parts = []
    for row, (run, segments) in enumerate(lanes):
        top = row * LANE_HEIGHT + 4
        parts.append(_draw_label(title_run(run).name, top + BAR_HEIGHT - 2))
        for each in segments:
            x, width = LEFT + (each.begin - begin) * scale, max(MIN_BAR_WIDTH, (each.end - each.begin) * scale)
            parts.append(_draw_bar(Rectangle(x=x, y=top, width=width), each.look, each.words))
    height = len(lanes) * LANE_HEIGHT
    ticks = [(LEFT + (at - begin) * scale, text) for at, text in list_time_ticks(begin, end)]
    return _draw_svg("Timeline", height, [*_draw_axis(ticks, height), *parts])


def draw_costs(runs: Sequence[ReportedRun]) -> str:
    """What all runs together had cost, agent run by agent run; empty where nobody told a cost."""
    priced = [each for each in list_spent(runs) if each.cost_usd is not None]
    if not priced:
        return ""
    total, points = 0.0, []
    begin, end = priced[0].at, priced[-1].at
    for each in priced:
        total += each.cost_usd or 0.0
        points.append((each, total))
    scale_x = (WIDTH - LEFT - RIGHT) / max(end - begin, 1.0)
    scale_y = (PLOT_HEIGHT - 10) / max(total, 0.01)
    line, marks, y = f"M{LEFT} {PLOT_HEIGHT}", [], float(PLOT_HEIGHT)
    for each, so_far in points:
        x, y = LEFT + (each.at - begin) * scale_x, PLOT_HEIGHT - so_far * scale_y
        line += f"H{x:.1f}V{y:.1f}"
        words = f"{each.label}: {format_money(each.cost_usd)}, {format_money(so_far)} in all"
        marks.append(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="3">{_draw_tip(words)}</circle>')
    line += f"H{WIDTH - RIGHT}"
    rules = [_draw_rule(PLOT_HEIGHT - value * scale_y, format_money(value)) for value in list_ticks(total)]
    ticks = [(LEFT + (at - begin) * scale_x, text) for at, text in list_time_ticks(begin, end)]
    return _draw_svg(
        "Cost so far",
        PLOT_HEIGHT,
        [*rules, *_draw_axis(ticks, PLOT_HEIGHT), f'<path class="line" d="{line}"/>', *marks],
    )


def draw_tokens(runs: Sequence[ReportedRun]) -> str:
    """Tokens of each agent run: new input, cached input, output; many runs share a bar."""
    spent = [each for each in list_spent(runs) if each.usage != NO_USAGE]
    if not spent:
        return ""
    bars = _bin_usage(spent)
    highest = max(sum(_split_usage(usage)) for _, usage in bars)
    step = (WIDTH - LEFT - RIGHT) / len(bars)
    scale = (PLOT_HEIGHT - 10) / max(highest, 1)
    parts = [_draw_rule(PLOT_HEIGHT - value * scale, format_tokens(int(value))) for value in list_ticks(highest)]
    for at, (label, usage) in enumerate(bars):
        y = float(PLOT_HEIGHT)
        for look, amount in zip(("fresh", "cached", "output"), _split_usage(usage), strict=True):
            height = amount * scale
            y -= height
            words = f"{label}: {format_tokens(amount)} {look}"
            place = Rectangle(x=LEFT + at * step, y=y, width=max(1.0, min(step * 0.8, 40.0)), height=height)
            parts.append(_draw_bar(place, look, words))
    return _draw_svg("Tokens of each agent run", PLOT_HEIGHT, [*_draw_axis([], PLOT_HEIGHT), *parts])


def draw_checks(checks: Sequence[CheckCount]) -> str:
    """How often each check failed and passed; those that failed most come first."""
    shown = checks[:MAX_CHECK_BARS]
    if not shown:
        return ""
    scale = (WIDTH - LEFT - RIGHT - 60) / max(check.runs for check in shown)
    parts = []
    for row, check in enumerate(shown):
        top, failed, passed = row * LANE_HEIGHT + 4, check.failed * scale, (check.runs - check.failed) * scale
        words = f"{check.name}: failed {check.failed} of {check.runs}"
        parts.append(_draw_label(check.name, top + BAR_HEIGHT - 2))
        parts.append(_draw_bar(Rectangle(x=LEFT, y=top, width=failed), "bad", words))
        parts.append(_draw_bar(Rectangle(x=LEFT + failed, y=top, width=passed), "good", words))
        x = LEFT + failed + passed + 6
        parts.append(f'<text x="{x:.1f}" y="{top + BAR_HEIGHT - 2}">{check.failed} of {check.runs}</text>')
    return _draw_svg("Checks: failed of all", len(shown) * LANE_HEIGHT - AXIS_HEIGHT, parts)


def list_segments(run: ReportedRun, now: float) -> Iterator[TimelineSegment]:
    """Agents as they ran; checks follow their agent one after the other."""
    for each in run.receipt.iterations:
        if each.started_at is None:
            continue
        is_last = each is run.receipt.iterations[-1]
        seconds = each.seconds if each.seconds is not None else now - each.started_at if is_last else 0.0
        at = each.started_at + max(0.0, min(seconds, max(0.0, now - each.started_at)))
        words = (
            f"{_label_iteration(run, each)}: {describe_iteration_end(each, run.receipt)}, {format_duration(seconds)}"
        )
        yield TimelineSegment(begin=each.started_at, end=at, look=_choose_look(each), words=words)
        for check in each.checks:
            look = "good" if check.passed else "bad"
            words = f"{check.name}: {'passed' if check.passed else 'failed'}, {format_duration(check.seconds)}"
            yield TimelineSegment(begin=at, end=at + check.seconds, look=look, words=words)
            at += check.seconds
        for remark in each.remarks:
            if remark.kind == "waited" and remark.at > 0:
                words = f"waited {format_duration(remark.seconds)}: {remark.text}"
                yield TimelineSegment(begin=remark.at, end=remark.at + remark.seconds, look="waited", words=words)


def list_spent(runs: Sequence[ReportedRun]) -> list[AgentExpense]:
    """Every agent run of which an end is known, in the order of their ends."""
    found = [
        AgentExpense(
            at=each.started_at + (each.seconds or 0.0),
            label=_label_iteration(run, each),
            cost_usd=each.cost_usd,
            usage=each.usage or NO_USAGE,
        )
        for run in runs
        for each in run.receipt.iterations
        if each.started_at is not None
    ]
    return sorted(found, key=lambda each: each.at)


def list_ticks(highest: float) -> list[float]:
    """Round values up to it, three to six of them."""
    if highest <= 0:
        return []
    step = 10.0 ** math.floor(math.log10(highest))
    step = next(each for each in (step / 5, step / 2, step, 2 * step) if highest / each <= 6)
    return [step * count for count in range(1, int(highest / step + 1e-9) + 1)]


def list_time_ticks(begin: float, end: float) -> list[tuple[float, str]]:
    """Round times of the day between the two, eight at the most."""
    span = max(end - begin, 1.0)
    step = next((each for each in _TIME_STEPS if span / each <= 8), math.ceil(span / 8 / _DAY) * _DAY)
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < _DAY else "%m-%d"
    first = math.ceil(begin / step) * step
    ticks = [first + count * step for count in range(9)]
    return [(at, format_local_time(form, at)) for at in ticks if at <= end]


def _choose_look(each: Iteration) -> str:
    return "agent" if each.outcome in ("finished", None) else "trouble"


def _label_iteration(run: ReportedRun, each: Iteration) -> str:
    part = describe_part(each, run.receipt)
    return f"{title_run(run).name} iteration {each.iteration}{part and f', {part}'}"


def _split_usage(usage: Usage) -> tuple[int, int, int]:
    """New input, cached input, output. Some agents count what is cached as part of the input."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    fresh = usage.input_tokens - cached if usage.input_tokens >= cached else usage.input_tokens
    return fresh, cached, usage.output_tokens


def _bin_usage(spent: Sequence[AgentExpense]) -> list[tuple[str, Usage]]:
    size = math.ceil(len(spent) / MAX_TOKEN_BARS)
    bars = []
    for at in range(0, len(spent), size):
        usage = NO_USAGE
        for each in spent[at : at + size]:
            usage += each.usage
        more = f" and {len(spent[at : at + size]) - 1} more" if size > 1 else ""
        bars.append((spent[at].label + more, usage))
    return bars


def _draw_svg(title: str, height: int, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {height + AXIS_HEIGHT}"'
    return f'<svg role="img" aria-label="{escape(title)}" {size}>{"".join(parts)}</svg>'


def _draw_axis(ticks: Sequence[tuple[float, str]], height: int) -> Iterator[str]:
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height}" y2="{height}"/>'
    for x, text in ticks:
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
        yield f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{height + 17}">{escape(text)}</text>'


def _draw_rule(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="tick" text-anchor="end" x="{LEFT - 8}" y="{y + 4:.1f}">{escape(text)}</text>'
    )


def _draw_label(text: str, y: float) -> str:
    short = escape(one_line(text, LABEL_CHARS))
    return f'<text text-anchor="end" x="{LEFT - 8}" y="{y}">{short}{_draw_tip(text)}</text>'


def _draw_bar(place: Rectangle, look: str, words: str) -> str:
    size = f'width="{max(0.0, place.width):.1f}" height="{max(0.0, place.height):.1f}"'
    return f'<rect class="{look}" x="{place.x:.1f}" y="{place.y:.1f}" {size}>{_draw_tip(words)}</rect>'


def _draw_tip(words: str) -> str:
    return f"<title>{escape(one_line(words, MAX_TIP_CELLS))}</title>"
