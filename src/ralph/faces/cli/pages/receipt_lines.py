"""What came after an agent run, as lines for people. Every word of an agent or a command passes through `plain`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from ralph.core.text.plain import cells, one_line, wrapped
from ralph.core.text.quantities import counted, duration, money, timing
from ralph.faces.cli.terminal.look import Look
from ralph.faces.clock import clock

if TYPE_CHECKING:
    from ralph.app.runs.journal_reader import CheckLine, Iteration, LandedLine, Remark, ReviewLine, SavedLine

SENTENCE = 500  # cells of what others tell in words
LOG_WIDTH = 2 * SENTENCE  # of a line where no terminal sets a width
HASH = 10  # characters of a commit

Mark = Literal["ok", "bad", "warn", "note", "active"]
Lines = Iterator[str]


class ReceiptLines:
    """Each method gives whole lines, broken between words where the terminal is too narrow."""

    def __init__(self, look: Look) -> None:
        self._width = look.width or LOG_WIDTH
        self._glyphs = glyphs = look.glyphs
        self._paint = paint = look.paint
        self._marks = {
            "ok": (paint.green, glyphs.ok),
            "bad": (paint.red, glyphs.bad),
            "warn": (paint.yellow, glyphs.warn),
            "note": (paint.dim, glyphs.check),
            "active": (paint.cyan, glyphs.running),
        }

    def words(self, text: str) -> str:
        """What someone else said, on one line."""
        return one_line(text, SENTENCE, self._glyphs.ellipsis)

    def item(self, mark: Mark, text: str, indent: int = 0) -> Lines:
        """A sign, and the text to the right of it."""
        tint, sign = self._marks[mark]
        hang = indent + cells(sign) + 1
        first, *rest = self.broken(text, hang)
        yield f"{'':{indent}}{tint}{sign}{self._paint.off} {first}"
        yield from (f"{'':{hang}}{line}" for line in rest)

    def broken(self, text: str, used: int) -> list[str]:
        """As lines that fit where so many cells are taken."""
        return wrapped(self.words(text), max(1, self._width - used)) or [""]

    def aftermath(self, each: "Iteration", indent: int) -> Lines:
        """What the agent said of its end, what was checked, what was done with it, what else happened."""
        if each.detail and each.outcome != "finished":
            yield from (f"{'':{indent}}{line}" for line in self.broken(each.detail, indent))
        for check in each.checks:
            yield from self._check(check, indent)
        if each.reviewed:
            yield from self._reviewed(each.story, each.reviewed, indent)
        if each.saved:
            yield from self._saved(each.saved, indent)
        if each.landed:
            yield from self._landed(each.landed, indent)
        for remark in each.remarks:
            yield from self._remark(remark, "" if remark.text == each.detail else remark.text, indent)

    def _check(self, check: "CheckLine", indent: int) -> Lines:
        """✗ make test, exit code 2 (1.2s), and where its output is"""
        code = "" if check.exit_code is None else f", exit code {check.exit_code}"
        reason = f": {check.reason}" if check.reason else ""
        amounts = f" ({timing(check.seconds)}{_price(check.cost_usd)})"
        yield from self.item("ok" if check.passed else "bad", check.name + code + reason + amounts, indent)
        if check.log and not check.passed:
            paint = self._paint
            yield f"{'':{indent}}{paint.dim}{self._glyphs.branch}{self.words(check.log)}{paint.off}"

    def _reviewed(self, story: str, review: "ReviewLine", indent: int) -> Lines:
        """▸ US-001 changes requested, 1 review: what the reviewer wants"""
        status = (review.status or "open").replace("_", " ")
        times = f", {counted(review.count, 'review')}" if review.count else ""
        feedback = f": {review.feedback}" if review.feedback else ""
        mark: Mark = "ok" if review.status == "approved" else "note"
        yield from self.item(mark, f"{story} {status}{times}{feedback}", indent)

    def _saved(self, saved: "SavedLine", indent: int) -> Lines:
        """✓ Committed: the message (commit, push), and what did not work"""
        tasks = ", ".join(saved.done) + _price(saved.cost_usd)
        if saved.done:
            yield from self.item("ok", f"Committed: {saved.message} ({tasks})" if saved.message else tasks, indent)
        for problem in saved.problems:
            yield from self.item("warn", problem, indent)

    def _landed(self, landed: "LandedLine", indent: int) -> Lines:
        """✓ Landed as 4c1d3a90b2, or why not"""
        if landed.done:
            yield from self.item("ok", f"Landed as {landed.commit[:HASH]}", indent)
            return
        stale = "its files are not those that were proven" if landed.stale else ""
        why = landed.conflict or landed.red or landed.problem or stale
        yield from self.item("bad", f"Not landed: {why}", indent)

    def _remark(self, remark: "Remark", text: str, indent: int) -> Lines:
        """▸ Waited 5m: why, unless the line above says so already"""
        at = f" at {clock('%H:%M', remark.at)}" if remark.at > 0 else ""
        told = f": {text}" if text else ""
        match remark.kind:
            case "waited":
                yield from self.item("note", f"Waited {duration(remark.seconds)}{told}", indent)
            case "interrupted":
                yield from self.item("warn", f"Interrupted{at}{told}", indent)
            case "resumed":
                kept = f", kept {remark.snapshot[:HASH]}" if remark.snapshot else ""
                yield from self.item("note", f"Resumed{at}{kept}", indent)
            case "sent_back":
                yield from self.item("warn", f"Sent back{told}", indent)
            case "put_back":
                yield from self.item("warn", remark.text, indent)


def _price(cost_usd: float | None) -> str:
    return "" if cost_usd is None else f", {money(cost_usd)}"
