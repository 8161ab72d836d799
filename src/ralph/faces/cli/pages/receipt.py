"""The receipt of a run as text for people: a head, a row an agent run, and how to get at what was kept."""

import shlex
from collections.abc import Iterable, Sequence
from itertools import compress, pairwise
from typing import TYPE_CHECKING

from ralph.core.text.plain import cells, one_line
from ralph.core.text.quantities import counted, duration, money, traffic
from ralph.faces.cli.pages.receipt_lines import HASH, Lines, ReceiptLines
from ralph.faces.cli.pages.runs import DOING
from ralph.faces.cli.terminal.look import Look
from ralph.faces.clock import clock

if TYPE_CHECKING:
    from ralph.app.runs.journal_reader import Iteration
    from ralph.app.runs.receipt import Receipt
    from ralph.app.runs.snapshots import Snapshot

LABEL = 8  # cells of a field's name and its indentation
PART = 18  # cells of a role and its story
EXECUTE = "execute"
HEADINGS = ("#", "began", "part", "agent", "time", "cost", "tools", "kept")
TO_THE_RIGHT = {"#", "time", "cost", "tools"}


class ReceiptPage:
    """Draws receipts on a terminal of this look, for someone in this folder."""

    def __init__(self, look: Look, folder: str) -> None:
        self._paint, self._glyphs = look.paint, look.glyphs
        self._folder = folder
        self._lines = ReceiptLines(look)

    def drawn(self, receipt: "Receipt") -> str:
        """All of it, an empty line between the parts."""
        parts = (self._head(receipt), self._table(receipt), self._hints(receipt))
        return "\n\n".join(filter(None, ("\n".join(part) for part in parts)))

    # -- the head -------------------------------------------------------------------------------
    def _head(self, receipt: "Receipt") -> Lines:
        paint, words = self._paint, self._lines.words
        name = f"{paint.bold}{words(f'{receipt.kind} {receipt.id}')}{paint.off}"
        yield f" {self._glyphs.dot} ".join([name, words(receipt.agent), *_limits(receipt)])
        if receipt.task:
            yield self._field("task", receipt.task)
        yield self._field("folder", receipt.folder)
        began, took = clock("%Y-%m-%d %H:%M", receipt.started_at), duration(receipt.seconds)
        yield self._field("began", f"{began}, {took} so far" if receipt.active else f"{began}, took {took}")
        yield self._field("cost", self._spent(receipt))
        yield from self._ending(receipt)
        if receipt.unread:
            verb = "is" if receipt.unread == 1 else "are"
            told = f"{counted(receipt.unread, 'row')} of its journal cannot be read and {verb} left out"
            yield from self._lines.item("warn", told)

    def _field(self, label: str, text: str) -> str:
        paint = self._paint
        return f"  {paint.dim}{label:<{LABEL - 2}}{paint.off} {self._lines.words(text)}"

    def _spent(self, receipt: "Receipt") -> str:
        unknown, earlier = self._glyphs.unknown, receipt.earlier_cost_usd
        aside = f" ({money(earlier)} of it by an earlier run)" if earlier else ""
        tokens = unknown if receipt.usage is None else traffic(receipt.usage)
        return f"{money(receipt.cost_usd, unknown)}{aside}, tokens {tokens}"

    def _ending(self, receipt: "Receipt") -> Lines:
        if receipt.active:
            doing = receipt.doing or ""
            return self._lines.item("active", f"Still going on: {DOING.get(doing, doing)}")
        outcome = (receipt.outcome or "").replace("_", " ").capitalize()
        sentence = f"{outcome}: {receipt.why}" if receipt.why else outcome
        return self._lines.item("ok" if receipt.outcome == "completed" else "bad", sentence)

    # -- agent runs -----------------------------------------------------------------------------
    def _table(self, receipt: "Receipt") -> Lines:
        shown = [each for each in (receipt.before, *receipt.iterations) if each is not None]
        if not shown:
            return
        rows = [self._row(each, receipt) for each in shown]
        used = [any(column) for column in zip(*rows, strict=True)]
        columns = [
            (heading, max(map(cells, (heading, *column))))
            for heading, *column in compress(zip(HEADINGS, *rows, strict=True), used)
        ]
        paint = self._paint
        yield f"{paint.dim}{_aligned([heading for heading, _ in columns], columns)}{paint.off}"
        for each, row in zip(shown, rows, strict=True):
            tint = self._tint(each, receipt)
            yield f"{tint}{_aligned(compress(row, used), columns)}{paint.off if tint else ''}"
            yield from self._lines.aftermath(each, columns[0][1] + 2)

    def _row(self, each: "Iteration", receipt: "Receipt") -> tuple[str, ...]:
        """In the order of the headings; a column in which nothing stands is not shown."""
        unknown, kept = self._glyphs.unknown, (each.snapshot or "")[:HASH]
        if not each.iteration:
            return ("0", unknown, "", "at start", unknown, unknown, unknown, kept)
        return (
            str(each.iteration),
            clock("%H:%M", each.started_at) if each.started_at else unknown,
            one_line(_part(each, receipt), PART, self._glyphs.ellipsis),
            _outcome(each, receipt),
            unknown if each.seconds is None else duration(each.seconds),
            money(each.cost_usd, unknown),
            str(each.tools),
            kept,
        )

    def _tint(self, each: "Iteration", receipt: "Receipt") -> str:
        if each.outcome == "finished" or not each.iteration:
            return ""
        return self._paint.cyan if _is_at_work(each, receipt) else self._paint.red

    # -- kept trees -----------------------------------------------------------------------------
    def _hints(self, receipt: "Receipt") -> Lines:
        changes = [(older, newer) for older, newer in pairwise(receipt.snapshots) if newer.iteration]
        for older, newer in changes[-1:]:
            command = f"git diff {older.commit[:HASH]} {newer.commit[:HASH]}"
            yield from self._hint(f"To see what iteration {newer.iteration} changed:", command)
        for newest in receipt.snapshots[-1:]:
            yield from self._way_back(receipt, newest)

    def _way_back(self, receipt: "Receipt", kept: "Snapshot") -> Lines:
        commit = kept.commit[:HASH]
        there = "" if self._folder == receipt.root else f"-C {shlex.quote(receipt.root)} "
        if receipt.kind == EXECUTE:  # a task works in a tree of its own, not where the user is
            apart = f"git {there}worktree add ../{receipt.id} {commit}"
            return self._hint("To have its files in a folder of their own:", apart)
        is_first = receipt.before is not None and receipt.before.snapshot == kept.commit
        when = kept.title if kept.iteration or is_first else "when the run went on"
        told = f"To have the files as they were {when} back, also those overwritten, deleted or `git clean`-ed:"
        return self._hint(told, f"git {there}restore --source={commit} -- .")

    def _hint(self, told: str, command: str) -> Lines:
        yield from self._lines.broken(told, 0)
        yield f"  {self._paint.cyan}{self._lines.words(command)}{self._paint.off}"


def _limits(receipt: "Receipt") -> list[str]:
    if (limits := receipt.limits) is None:
        return []
    most = [counted(limits.iterations, "iteration")]
    most += [] if limits.seconds is None else [duration(limits.seconds)]
    most += [] if limits.cost_usd is None else [money(limits.cost_usd)]
    return [f"up to {', '.join(most)}"]


def _part(each: "Iteration", receipt: "Receipt") -> str:
    """implement US-001, coder 2/15: a task's own name stands in the head already."""
    if each.turns:
        return f"{each.role} {each.turn}/{each.turns}"
    if receipt.kind == EXECUTE:  # a run that is no turn of its stage resolves a conflict
        return f"{each.role} (merge)"
    return " ".join(filter(None, (each.role, "" if each.story == receipt.task else each.story)))


def _outcome(each: "Iteration", receipt: "Receipt") -> str:
    if each.outcome is None:
        return "at work" if _is_at_work(each, receipt) else "no report"
    return each.outcome.replace("_", " ")


def _is_at_work(each: "Iteration", receipt: "Receipt") -> bool:
    return receipt.active and each.outcome is None and each is receipt.iterations[-1]


def _aligned(texts: Iterable[str], columns: Sequence[tuple[str, int]]) -> str:
    """Numbers to the right."""
    padded = (
        " " * (width - cells(text)) + text if heading in TO_THE_RIGHT else text + " " * (width - cells(text))
        for text, (heading, width) in zip(texts, columns, strict=True)
    )
    return "  ".join(padded).rstrip()
