"""What came after an agent run, as lines for people. Every word of an agent or a command passes through `plain`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from ralph.core.text.plain import count_cells, one_line, wrap_text
from ralph.core.text.quantities import format_duration, format_money, pluralize
from ralph.faces.check_words import describe_check_failure, shorten_path
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.clock import format_local_time
from ralph.faces.proof_words import COMMIT_HASH_CHARS

if TYPE_CHECKING:
    from ralph.app.runs.journal_reader import CheckLine, Iteration, LandedLine, Remark, ReviewLine, SavedLine

MAX_RECEIPT_TEXT_CELLS = 500  # cells of what others tell in words
RECEIPT_LOG_WIDTH = 2 * MAX_RECEIPT_TEXT_CELLS  # of a line where no terminal sets a width

ReceiptMark = Literal["ok", "bad", "warn", "note", "active"]
TextLines = Iterator[str]


class ReceiptLineRenderer:
    """Each method gives whole lines, wrapped between words to the terminal's width. `folder` is where the user is."""

    def __init__(self, style: TerminalStyle, folder: str = "/") -> None:
        self._folder = folder
        self._width = style.width or RECEIPT_LOG_WIDTH
        self._max_check_lines = style.max_check_lines
        self._glyphs = glyphs = style.glyphs
        self._palette = paint = style.palette
        self._marks = {
            "ok": (paint.green, glyphs.ok),
            "bad": (paint.red, glyphs.bad),
            "warn": (paint.yellow, glyphs.warn),
            "note": (paint.dim, glyphs.check),
            "active": (paint.cyan, glyphs.running),
        }

    def clean_text(self, text: str) -> str:
        """Foreign text, sanitized and on one line."""
        return one_line(text, MAX_RECEIPT_TEXT_CELLS, self._glyphs.ellipsis)

    def render_item(self, mark: ReceiptMark, text: str, indent: int = 0) -> TextLines:
        """A mark, and the text wrapped to the right of it."""
        tint, sign = self._marks[mark]
        hang = indent + count_cells(sign) + 1
        first, *rest = self.wrap_text(text, hang)
        yield f"{'':{indent}}{tint}{sign}{self._palette.off} {first}"
        yield from (f"{'':{hang}}{line}" for line in rest)

    def wrap_text(self, text: str, used: int) -> list[str]:
        """The text as lines that fit beside `used` cells."""
        return wrap_text(self.clean_text(text), max(1, self._width - used)) or [""]

    def render_aftermath(self, each: "Iteration", indent: int) -> TextLines:
        """All that followed one agent run: its last words, checks, review, commit, landing, remarks."""
        if each.detail and each.outcome != "finished":
            yield from (f"{'':{indent}}{line}" for line in self.wrap_text(each.detail, indent))
        for check in each.checks:
            yield from self._render_check(check, indent)
        if each.reviewed:
            yield from self._render_review(each.story, each.reviewed, indent)
        if each.saved:
            yield from self._render_saved(each.saved, indent)
        if each.landed:
            yield from self._render_landed(each.landed, indent)
        for remark in each.remarks:
            yield from self._render_remark(remark, "" if remark.text == each.detail else remark.text, indent)

    def _render_check(self, check: "CheckLine", indent: int) -> TextLines:
        """✗ make test, exit code 2 (1.2s), the last lines it printed, and where all of its output is"""
        code = "" if check.exit_code is None else f", exit code {check.exit_code}"
        why = describe_check_failure(check.command, check.reason)
        reason = f": {why}" if why else ""
        amounts = f" ({format_duration(check.seconds, tenths=True)}{_format_price(check.cost_usd)})"
        yield from self.render_item("ok" if check.passed else "bad", check.name + code + reason + amounts, indent)
        if not check.passed:
            yield from self._render_output(check, indent)

    def _render_output(self, check: "CheckLine", indent: int) -> TextLines:
        paint, branch = self._palette, self._glyphs.branch
        tail = check.tail.splitlines()[-self._max_check_lines :] if self._max_check_lines else []
        log = shorten_path(check.log, self._folder)
        texts = [*tail, *([f"full output: {log}" if tail else log] if log else [])]
        hang = indent + count_cells(branch)
        lines = [part for text in texts for part in wrap_text(self.clean_text(text), max(1, self._width - hang))]
        for at, line in enumerate(lines):
            lead = f"{'':{indent}}{branch}" if at == 0 else f"{'':{hang}}"
            yield f"{paint.dim}{lead}{line}{paint.off}"

    def _render_review(self, story: str, review: "ReviewLine", indent: int) -> TextLines:
        """▸ US-001 changes requested, 1 review: what the reviewer wants"""
        status = (review.status or "open").replace("_", " ")
        times = f", {pluralize(review.count, 'review')}" if review.count else ""
        feedback = f": {review.feedback}" if review.feedback else ""
        mark: ReceiptMark = "ok" if review.status == "approved" else "note"
        yield from self.render_item(mark, f"{story} {status}{times}{feedback}", indent)

    def _render_saved(self, saved: "SavedLine", indent: int) -> TextLines:
        """✓ Committed: the message (commit, push), and what did not work"""
        tasks = ", ".join(saved.done) + _format_price(saved.cost_usd)
        if saved.done:
            yield from self.render_item(
                "ok", f"Committed: {saved.message} ({tasks})" if saved.message else tasks, indent
            )
        for problem in saved.problems:
            yield from self.render_item("warn", problem, indent)

    def _render_landed(self, landed: "LandedLine", indent: int) -> TextLines:
        """✓ Merged as 4c1d3a90b2, or why not"""
        if landed.done:
            yield from self.render_item("ok", f"Merged as {landed.commit[:COMMIT_HASH_CHARS]}", indent)
            return
        stale = "its files differ from those that were verified" if landed.stale else ""
        why = landed.conflict or landed.red or landed.problem or stale
        yield from self.render_item("bad", f"Not merged: {why}", indent)

    def _render_remark(self, remark: "Remark", text: str, indent: int) -> TextLines:
        """▸ Waited 5m: why, unless the line above says so already"""
        at = f" at {format_local_time('%H:%M', remark.at)}" if remark.at > 0 else ""
        reason = f": {text}" if text else ""
        match remark.kind:
            case "paused":
                yield from self.render_item("note", f"Paused {text}, {format_duration(remark.seconds)}", indent)
            case "told":
                yield from self.render_item("note", f"Told: {text}", indent)
            case "waited":
                yield from self.render_item("note", f"Waited {format_duration(remark.seconds)}{reason}", indent)
            case "interrupted":
                yield from self.render_item("warn", f"Interrupted{at}{reason}", indent)
            case "resumed":
                kept = f", kept {remark.snapshot[:COMMIT_HASH_CHARS]}" if remark.snapshot else ""
                yield from self.render_item("note", f"Resumed{at}{kept}", indent)
            case "sent_back":
                yield from self.render_item("warn", f"Sent back{reason}", indent)
            case "put_back":
                yield from self.render_item("warn", remark.text, indent)


def _format_price(cost_usd: float | None) -> str:
    return "" if cost_usd is None else f", {format_money(cost_usd)}"
