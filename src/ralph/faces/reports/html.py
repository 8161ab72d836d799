"""The report as one page: no script, nothing from elsewhere, light and dark, and fit for print."""

from collections.abc import Iterable, Sequence
from html import escape

from ralph.app.reports.report import Report, ReportedRun
from ralph.app.runs.journal_reader import Iteration
from ralph.core.text.plain import one_line, sanitize
from ralph.core.text.quantities import format_duration, format_money, format_usage, pluralize
from ralph.core.text.secrets import redact
from ralph.faces.check_words import shorten_agent
from ralph.faces.clock import format_local_time
from ralph.faces.proof_words import BY_WORDS_WARNING, describe_check, describe_checked_tree
from ralph.faces.reports.page_style import PAGE_STYLE
from ralph.faces.reports.plots import draw_checks, draw_costs, draw_timeline, draw_tokens
from ralph.faces.reports.report_words import (
    NO_ENTRY,
    describe_headline,
    describe_iteration_end,
    describe_part,
    describe_period,
    format_effort,
    format_spending,
    list_aftermath,
    list_results,
    title_run,
)

MAX_PAGE_ITERATIONS = 300  # of one run, the latest
MAX_PAGE_REVIEWS = 300
MAX_WORDS_CELLS = 1000  # of one foreign text
MAX_TAIL_CHARS = 2000  # of what a failed check printed
# Should a word of an agent ever get through unescaped, the browser still loads and runs nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_TIMELINE_LEGEND = (("agent", "agent"), ("good", "check passed"), ("bad", "check failed"), ("trouble", "agent failed"))
_TOKEN_LEGEND = (("fresh", "new input"), ("cached", "cached input"), ("output", "output"))


def render_report_html(report: Report) -> str:
    """A whole document."""
    headline = describe_headline(report)
    body = [
        "<header>",
        f"<h1>{_show(headline)}</h1>",
        f"<p>{_show(_describe_place(report))}</p>",
        "</header>",
        "<main>",
        _render_steps(report),
        _render_figure(
            "Timeline", draw_timeline(report.runs, report.made_at), (*_TIMELINE_LEGEND, ("waited", "waited"))
        ),
        _render_figure("Cost so far", draw_costs(report.runs)),
        _render_figure("Tokens", draw_tokens(report.runs), _TOKEN_LEGEND),
        _render_figure("Checks", draw_checks(report.checks), (("bad", "failed"), ("good", "passed"))),
        _render_models(report),
        _render_reviews(report),
        *map(_render_run, report.runs),
        "</main>",
        _render_footer(report),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>ralph: {_show(headline)}</title><style>{PAGE_STYLE}</style></head>\n<body>\n"
        + "\n".join(filter(None, body))
        + "\n</body></html>\n"
    )


def _show(text: str) -> str:
    """Foreign or not: one line, without secrets, and never markup."""
    return escape(one_line(redact(text), MAX_WORDS_CELLS))


def _describe_place(report: Report) -> str:
    where = report.root.rstrip("/").rpartition("/")[2] or report.root
    if not report.runs:
        return f"{where} · {describe_period(report)} · no agent ran"
    return f"{where} · {describe_period(report)} · {format_spending(report.total)}"


def _render_footer(report: Report) -> str:
    left_out = f" {pluralize(report.left_out, 'older run')} left out." if report.left_out else ""
    return f"<footer>Made by ralph at {format_local_time('%Y-%m-%d %H:%M', report.made_at)}.{left_out}</footer>"


def _render_steps(report: Report) -> str:
    items = [
        f"<li><strong>{_show(step.about)}</strong> {_show(step.reason)}<br><code>{_show(step.command)}</code></li>"
        for step in report.next_steps
    ]
    return f'<section class="steps"><h2>Waiting for you</h2><ul>{"".join(items)}</ul></section>' if items else ""


def _render_figure(title: str, drawing: str, legend: Iterable[tuple[str, str]] = ()) -> str:
    if not drawing:
        return ""
    keys = "".join(f'<span><i class="{look}"></i>{escape(words)}</span>' for look, words in legend)
    return f'<figure tabindex="0"><figcaption>{escape(title)} {keys}</figcaption>{drawing}</figure>'


def _render_models(report: Report) -> str:
    rows = [
        (
            _show(one.name),
            format_money((one.cost_usd or 0.0) + (one.estimated_usd or 0.0)),
            str(one.calls),
            _show(format_usage(one.usage)),
        )
        for one in report.by_model
    ]
    return (
        f"<section><h2>Cost by model</h2>{_render_table(('model', 'cost', 'calls', 'tokens'), rows)}</section>"
        if rows
        else ""
    )


def _render_reviews(report: Report) -> str:
    rows = [
        (_show(note.task), str(note.iteration), _show(note.role), _show(note.verdict), _show(note.text))
        for note in report.reviews[-MAX_PAGE_REVIEWS:]
    ]
    table = _render_table(("task", "iteration", "by", "verdict", "words"), rows)
    return f"<section><h2>Reviews</h2>{table}</section>" if rows else ""


def _render_run(run: ReportedRun) -> str:
    title, receipt = title_run(run), run.receipt
    look = "active" if receipt.active else "good" if receipt.outcome == "completed" else "bad"
    why = f": {receipt.why}" if receipt.why else ""
    facts = [
        f"{title.state.capitalize()}{why}",
        f"{format_effort(receipt)} · {shorten_agent(receipt.agent)}",
        *list_results(receipt),
    ]
    if receipt.usage is not None:
        facts.append(f"tokens: {format_usage(receipt.usage)}")
    items = "".join(f"<li>{_show(fact)}</li>" for fact in facts)
    goal = f" <small>{_show(title.goal)}</small>" if title.goal else ""
    return (
        f'<section class="run"><h2><span class="sign {look}">{escape(title.sign)}</span> {_show(title.name)}{goal}</h2>'
        f"<ul>{items}</ul>{_render_proof(run)}{_render_iterations(run)}"
        f"<p><code>ralph show {_show(receipt.id)}</code></p></section>"
    )


def _render_proof(run: ReportedRun) -> str:
    proof = run.receipt.proof
    if proof is None or proof.outcome != "completed":
        return ""
    lines = [f"{'✓' if check.passed else '✗'} {describe_check(check)}" for check in proof.checks]
    lines += [f"! {BY_WORDS_WARNING}"] if proof.by_words_only else []
    lines += [f"! {change.path} {change.kind} {change.reason}" for change in proof.changed_proofs]
    lines += [f"{path}: its change was accepted by a person" for path in proof.accepted]
    items = "".join(f"<li>{_show(line)}</li>" for line in lines)
    return f"<h3>Verified{_show(describe_checked_tree(proof))}</h3><ul>{items}</ul>"


def _render_iterations(run: ReportedRun) -> str:
    every = run.receipt.iterations
    if not every:
        return "<p>No agent ran.</p>"
    above = (
        f"<p>Only the last {MAX_PAGE_ITERATIONS} of {len(every)} iterations.</p>"
        if len(every) > MAX_PAGE_ITERATIONS
        else ""
    )
    rows = [_build_cells(each, run) for each in every[-MAX_PAGE_ITERATIONS:]]
    return above + _render_table(("#", "began", "part", "agent", "time", "cost", "tools", "then"), rows)


def _build_cells(each: Iteration, run: ReportedRun) -> Sequence[str]:
    return (
        str(each.iteration),
        format_local_time("%H:%M", each.started_at) if each.started_at else NO_ENTRY,
        _show(describe_part(each, run.receipt)),
        _show(describe_iteration_end(each, run.receipt)),
        NO_ENTRY if each.seconds is None else format_duration(each.seconds),
        format_money(each.cost_usd, NO_ENTRY),
        str(each.tools),
        "<br>".join(map(_show, list_aftermath(each))) + _render_failed_output(each),
    )


def _render_failed_output(each: Iteration) -> str:
    """The last lines of each check that failed."""
    tails = [redact(sanitize(check.tail)).strip("\n") for check in each.checks if check.tail and not check.passed]
    return "".join(f"<pre>{escape(tail[-MAX_TAIL_CHARS:])}</pre>" for tail in tails)


def _render_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are markup of ours already."""
    head = "".join(f"<th>{escape(sanitize(heading))}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for cells in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
