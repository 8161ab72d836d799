"""What `ralph report` prints: the short summary, and the whole of it as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_money, format_usage, pluralize
from ralph.faces.cli.pages.receipt_lines import ReceiptLineRenderer, ReceiptMark, TextLines
from ralph.faces.cli.terminal.columns import align_columns
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.reports.report_words import (
    describe_headline,
    describe_period,
    describe_proof,
    format_effort,
    format_spending,
    list_results,
    title_run,
)

if TYPE_CHECKING:
    from ralph.app.reports.report import Report, ReportedRun

MAX_SHORT_RUNS = 20  # finished ones, of the summary; nobody reads more before the first coffee
MAX_CHECK_ROWS = 10
MAX_REVIEW_ROWS = 20
INDENT = 2
MAX_GOAL_CELLS, MAX_STEP_CELLS = 80, 240


class ReportPage:
    """Renders reports for a terminal."""

    def __init__(self, style: TerminalStyle) -> None:
        self._palette, self._glyphs = style.palette, style.glyphs
        self._lines = ReceiptLineRenderer(style)

    def render_short(self, report: "Report") -> str:
        """What was done, verified how, for how much, and what waits for whom."""
        if not report.runs:
            return f"No run {describe_period(report)}. Start one with `ralph run -p PROMPT`."
        return _join_blocks(self._render_head(report), self._render_runs(report), self._render_steps(report))

    def render_whole(self, report: "Report") -> str:
        """The same, and failed checks, reviews and costs."""
        if not report.runs:
            return self.render_short(report)
        return _join_blocks(
            self._render_head(report),
            self._render_runs(report),
            self._render_checks(report),
            self._render_reviews(report),
            self._render_costs(report),
            self._render_steps(report),
            iter([f"Iterations: `ralph show {report.runs[-1].receipt.id}`. As a page: `ralph report --html FILE`."]),
        )

    def _render_head(self, report: "Report") -> TextLines:
        paint = self._palette
        yield f"{paint.bold}{describe_headline(report)}{paint.off}"
        yield f"{describe_period(report)} · {format_spending(report.total)}"

    def _render_runs(self, report: "Report") -> TextLines:
        shown = report.runs[-MAX_SHORT_RUNS:]
        if hidden := len(report.runs) - len(shown) + report.left_out:
            yield f"{self._glyphs.ellipsis} {pluralize(hidden, 'earlier run')}; see `ralph status`"
        for run in shown:
            yield from self._render_run(run)

    def _render_run(self, run: "ReportedRun") -> TextLines:
        title, receipt = title_run(run), run.receipt
        goal = f" {one_line(title.goal, MAX_GOAL_CELLS, self._glyphs.ellipsis)}" if title.goal else ""
        is_done = receipt.outcome == "completed"
        state = "" if is_done else f" · {title.state}"
        mark: ReceiptMark = "active" if receipt.active else "ok" if is_done else "bad"
        yield from self._lines.render_item(mark, f"{title.name}{goal}{state} · {format_effort(receipt)}")
        if not is_done and receipt.why and not run.next_step:  # else it stands there
            yield from self._render_below(receipt.why)
        if words := describe_proof(receipt):
            yield from self._render_below(words)
        for result in list_results(receipt)[-MAX_CHECK_ROWS:]:
            yield from self._render_below(result)

    def _render_below(self, text: str) -> TextLines:
        paint = self._palette
        for line in self._lines.wrap_text(text, INDENT + 2):
            yield f"{'':{INDENT}}  {paint.dim}{line}{paint.off}"

    def _render_steps(self, report: "Report") -> TextLines:
        for at, step in enumerate(report.next_steps):
            if not at:
                yield f"{self._palette.bold}Waiting for you{self._palette.off}"
            reason = one_line(step.reason, MAX_STEP_CELLS, self._glyphs.ellipsis)
            yield from self._lines.render_item("warn", f"{step.about}: {reason}")
            command = self._lines.clean_text(step.command)
            yield f"  {self._glyphs.right_arrow} {self._palette.cyan}{command}{self._palette.off}"

    def _render_checks(self, report: "Report") -> TextLines:
        failed = [check for check in report.checks if check.failed]
        if failed:
            yield f"{self._palette.bold}Checks that failed{self._palette.off}"
        rows = [
            (self._lines.clean_text(check.name), f"{check.failed} of {check.runs}") for check in failed[:MAX_CHECK_ROWS]
        ]
        yield from (f"  {line}" for line in align_columns(rows, right=(1,)))

    def _render_reviews(self, report: "Report") -> TextLines:
        if report.reviews:
            yield f"{self._palette.bold}Reviews{self._palette.off}"
        for note in report.reviews[-MAX_REVIEW_ROWS:]:
            words = f": {note.text}" if note.text else ""
            mark: ReceiptMark = "ok" if note.verdict in ("approved", "passed") else "warn"
            yield from self._lines.render_item(mark, f"{note.task} {note.role}: {note.verdict}{words}", INDENT)

    def _render_costs(self, report: "Report") -> TextLines:
        if not report.by_model:
            return
        yield f"{self._palette.bold}Cost{self._palette.off}"
        rows = [
            (
                self._lines.clean_text(one.name),
                format_money((one.cost_usd or 0.0) + (one.estimated_usd or 0.0)),
                pluralize(one.calls, "call"),
                format_usage(one.usage),
            )
            for one in report.by_model
        ]
        yield from (f"  {line}" for line in align_columns(rows, right=(1,)))


def _join_blocks(*blocks: Iterator[str]) -> str:
    return "\n\n".join(filter(None, ("\n".join(block) for block in blocks)))
