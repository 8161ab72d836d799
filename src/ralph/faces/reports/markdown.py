"""Reports as Markdown for a pull request or an issue. Foreign words stand in code: they link, mention and embed
nothing."""

import re
from collections.abc import Iterable, Sequence

from ralph.app.reports.report import Report, ReportedRun
from ralph.app.runs.journal_reader import Iteration
from ralph.app.runs.receipt import Receipt
from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_duration, format_money, format_usage, pluralize
from ralph.core.text.secrets import redact
from ralph.faces.check_words import shorten_agent
from ralph.faces.clock import format_local_time
from ralph.faces.proof_words import BY_WORDS_WARNING, describe_check, describe_checked_tree
from ralph.faces.reports.report_words import (
    NO_ENTRY,
    count_iterations,
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

MAX_WORDS_CHARS = 300  # of one foreign text
MAX_TABLE_ROWS = 100  # of one table; pages that show Markdown have a limit too
_BACKTICKS = re.compile(r"`+")
_PIPES = re.compile(r"\\*\|")


def render_report_markdown(report: Report) -> str:
    """The whole report: a headline, what waits for somebody, and a section for each run."""
    parts = [
        f"# {describe_headline(report)}",
        f"{describe_period(report)} · {format_spending(report.total)}" if report.runs else "No agent ran.",
        _render_steps(report),
        _render_checks(report),
        _render_reviews(report),
        *(_render_run(run.receipt, run) for run in report.runs),
    ]
    if report.left_out:
        parts.append(f"_{pluralize(report.left_out, 'older run')} left out._")
    return "\n\n".join(filter(None, parts)) + "\n"


def render_receipt_markdown(receipt: Receipt) -> str:
    """One run, fit for a pull request."""
    return _render_run(receipt, ReportedRun(goal=receipt.title, receipt=receipt)) + "\n"


def quote_words(text: str, *, in_table: bool = False) -> str:
    """Foreign words as one piece of code, on one line; a dash for none."""
    line = one_line(redact(text), MAX_WORDS_CHARS).strip()
    if not line:
        return NO_ENTRY
    fence = "`" * (1 + max((len(found) for found in _BACKTICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    code = f"{fence}{space}{line}{space}{fence}"
    return _PIPES.sub(_escape_pipe, code) if in_table else code


def _escape_pipe(found: re.Match[str]) -> str:
    """With an odd number of backslashes before it: in an even one each escapes its neighbour, and the cell ends."""
    slashes = len(found[0]) - 1
    return "\\" * (slashes + 1 + slashes % 2) + "|"


def _render_run(receipt: Receipt, run: ReportedRun) -> str:
    title = title_run(run)
    goal = f" {quote_words(title.goal)}" if title.goal else ""
    why = f": {quote_words(receipt.why)}" if receipt.why else ""
    facts = [
        f"{title.state.capitalize()}{why}",
        f"{format_effort(receipt)} · {quote_words(shorten_agent(receipt.agent))}",
    ]
    if receipt.usage is not None:
        facts.append(f"Tokens: {format_usage(receipt.usage)}")
    facts += [quote_words(result) for result in list_results(receipt)]
    parts = [
        f"## {title.sign} {quote_words(title.name)}{goal}",
        _list_lines(facts),
        _render_proof(receipt),
        _render_iterations(receipt),
        f"Receipt: run {quote_words(receipt.id)}, `ralph show {receipt.id}`",
    ]
    return "\n\n".join(filter(None, parts))


def _render_proof(receipt: Receipt) -> str:
    proof = receipt.proof
    if proof is None or proof.outcome != "completed":
        return ""
    lines = [f"{'✓' if check.passed else '✗'} {quote_words(describe_check(check))}" for check in proof.checks]
    lines += [f"⚠ {BY_WORDS_WARNING}"] if proof.by_words_only else []
    lines += [f"⚠ {quote_words(f'{change.path} {change.kind}')}" for change in proof.changed_proofs]
    lines += [f"{quote_words(path)}: its change was accepted by a person" for path in proof.accepted]
    return f"**Verified{describe_checked_tree(proof)}**\n\n{_list_lines(lines)}"


def _render_iterations(receipt: Receipt) -> str:
    if not receipt.iterations:
        return "No agent ran."
    rows = [_build_row(each, receipt) for each in receipt.iterations[-MAX_TABLE_ROWS:]]
    above = f"Only the last {MAX_TABLE_ROWS}.\n\n" if len(receipt.iterations) > MAX_TABLE_ROWS else ""
    table = _render_table(("#", "began", "part", "agent", "time", "cost", "then"), rows)
    return f"<details><summary>{count_iterations(receipt)}</summary>\n\n{above}{table}\n\n</details>"


def _build_row(each: Iteration, receipt: Receipt) -> Sequence[str]:
    then = "<br>".join(quote_words(line, in_table=True) for line in list_aftermath(each))
    part = describe_part(each, receipt)
    return (
        str(each.iteration),
        format_local_time("%H:%M", each.started_at) if each.started_at else NO_ENTRY,
        quote_words(part, in_table=True),
        describe_iteration_end(each, receipt),
        NO_ENTRY if each.seconds is None else format_duration(each.seconds),
        format_money(each.cost_usd, NO_ENTRY),
        then or NO_ENTRY,
    )


def _render_steps(report: Report) -> str:
    lines = [
        f"{quote_words(step.about)} {quote_words(step.reason)}: {quote_words(step.command)}"
        for step in report.next_steps
    ]
    return f"## Waiting for you\n\n{_list_lines(lines)}" if lines else ""


def _render_checks(report: Report) -> str:
    failed = [check for check in report.checks if check.failed]
    rows = [
        (quote_words(each.name, in_table=True), str(each.failed), str(each.runs)) for each in failed[:MAX_TABLE_ROWS]
    ]
    return f"## Checks that failed\n\n{_render_table(('check', 'failed', 'runs'), rows)}" if rows else ""


def _render_reviews(report: Report) -> str:
    rows = [
        (
            quote_words(note.task, in_table=True),
            note.role,
            quote_words(note.verdict, in_table=True),
            quote_words(note.text, in_table=True),
        )
        for note in report.reviews[-MAX_TABLE_ROWS:]
    ]
    return f"## Reviews\n\n{_render_table(('task', 'by', 'verdict', 'words'), rows)}" if rows else ""


def _render_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _list_lines(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
