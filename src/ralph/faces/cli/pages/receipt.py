"""The receipt of a run as text for people: a head, a row an agent run, and how to get at what was kept."""

import shlex
from itertools import compress, pairwise
from typing import TYPE_CHECKING

from ralph.core.text.plain import count_cells, one_line
from ralph.core.text.quantities import format_cost, format_duration, format_money, format_usage, pluralize
from ralph.faces.activity_labels import ACTIVITY_LABELS
from ralph.faces.check_words import shorten_agent
from ralph.faces.cli.pages.proof_lines import ProofRenderer
from ralph.faces.cli.pages.receipt_lines import ReceiptLineRenderer, TextLines
from ralph.faces.cli.terminal.columns import COLUMN_GAP, align_columns
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.clock import format_local_time
from ralph.faces.proof_words import COMMIT_HASH_CHARS

if TYPE_CHECKING:
    from ralph.app.runs.journal_reader import Iteration
    from ralph.app.runs.receipt import Receipt
    from ralph.app.runs.snapshots import SnapshotCommit

LABEL_CELLS = 8  # cells of a field's name and its indentation
MAX_PROMPT_CELLS = 90
MAX_PART_CELLS = 18  # cells of a role and its story
EXECUTE_KIND = "execute"
RECEIPT_HEADINGS = ("#", "began", "part", "agent", "time", "cost", "tools", "snapshot")
RIGHT_ALIGNED_HEADINGS = {"#", "time", "cost", "tools"}


class ReceiptPage:
    """Renders receipts for a terminal. `folder` is where the user is: hints name another repository by -C."""

    def __init__(self, style: TerminalStyle, folder: str) -> None:
        self._palette, self._glyphs = style.palette, style.glyphs
        self._folder = folder
        self._line_renderer = ReceiptLineRenderer(style, folder)

    def render_receipt(self, receipt: "Receipt") -> str:
        """Head, table and hints, separated by empty lines."""
        parts = (
            self._render_head(receipt),
            self._render_table(receipt),
            self._render_proof(receipt),
            self._render_hints(receipt),
        )
        return "\n\n".join(filter(None, ("\n".join(part) for part in parts)))

    # -- the head -------------------------------------------------------------------------------
    def _render_head(self, receipt: "Receipt") -> TextLines:
        paint, words = self._palette, self._line_renderer.clean_text
        name = f"{paint.bold}{words(f'{receipt.kind} {receipt.id}')}{paint.off}"
        yield f" {self._glyphs.dot} ".join([name, words(shorten_agent(receipt.agent)), *_format_limits(receipt)])
        if receipt.title and receipt.kind != EXECUTE_KIND:
            yield self._render_field("prompt", one_line(receipt.title, MAX_PROMPT_CELLS, self._glyphs.ellipsis))
        if receipt.task:
            title = f"  {receipt.title}" if receipt.kind == EXECUTE_KIND else ""
            yield self._render_field("task", f"{receipt.task}{title}".rstrip())
        yield self._render_field("folder", receipt.folder)
        began, took = format_local_time("%Y-%m-%d %H:%M", receipt.started_at), format_duration(receipt.seconds)
        yield self._render_field("began", f"{began}, {took} so far" if receipt.active else f"{began}, took {took}")
        yield self._render_field("cost", self._format_spent(receipt))
        yield from self._render_ending(receipt)
        if receipt.unread:
            verb = "is" if receipt.unread == 1 else "are"
            text = f"{pluralize(receipt.unread, 'row')} of its journal cannot be read and {verb} left out"
            yield from self._line_renderer.render_item("warn", text)

    def _render_field(self, label: str, text: str) -> str:
        paint = self._palette
        return f"  {paint.dim}{label:<{LABEL_CELLS - 2}}{paint.off} {self._line_renderer.clean_text(text)}"

    def _format_spent(self, receipt: "Receipt") -> str:
        unknown, earlier = self._glyphs.unknown, receipt.earlier_cost_usd
        aside = f" ({format_money(earlier)} of it by an earlier run)" if earlier else ""
        tokens = unknown if receipt.usage is None else format_usage(receipt.usage)
        return f"{self._format_cost(receipt, receipt.unpriced)}{aside}, tokens {tokens}"

    def _format_cost(self, spent: "Receipt | Iteration", unpriced: int = 0) -> str:
        glyphs = self._glyphs
        cost, estimated = spent.cost_usd, spent.estimated_usd
        return format_cost(cost, estimated, unpriced=unpriced, unknown=glyphs.unknown, about=glyphs.about)

    def _render_ending(self, receipt: "Receipt") -> TextLines:
        if receipt.active:
            doing = ACTIVITY_LABELS.get(receipt.doing or "", receipt.doing or "")
            by = f" by {receipt.paused_by}" if receipt.paused_by else ""
            pause = by if receipt.doing == "pause" else f", then paused{by}" if by else ""
            return self._line_renderer.render_item("active", f"Running: {doing}{pause}")
        outcome = (receipt.outcome or "").replace("_", " ").capitalize()
        sentence = f"{outcome}: {receipt.why}" if receipt.why else outcome
        if receipt.question:
            sentence += f"; answer with: ralph answer {receipt.task or receipt.id} TEXT"
        return self._line_renderer.render_item("ok" if receipt.outcome == "completed" else "bad", sentence)

    # -- agent runs -----------------------------------------------------------------------------
    def _render_table(self, receipt: "Receipt") -> TextLines:
        shown = [each for each in (receipt.before, *receipt.iterations) if each is not None]
        if not shown:
            return
        rows = [self._build_row(each, receipt) for each in shown]
        used = [any(column) for column in zip(*rows, strict=True)]
        table = [list(compress(row, used)) for row in (RECEIPT_HEADINGS, *rows)]
        numbers = [at for at, heading in enumerate(table[0]) if heading in RIGHT_ALIGNED_HEADINGS]
        headings, *lines = align_columns(table, right=numbers)
        indent = max(count_cells(row[0]) for row in table) + len(COLUMN_GAP)
        paint = self._palette
        yield f"{paint.dim}{headings}{paint.off}"
        for each, line in zip(shown, lines, strict=True):
            tint = self._choose_color(each, receipt)
            yield f"{tint}{line}{paint.off if tint else ''}"
            yield from self._line_renderer.render_aftermath(each, indent)

    def _build_row(self, each: "Iteration", receipt: "Receipt") -> tuple[str, ...]:
        """Cells in the order of RECEIPT_HEADINGS; a column that is empty in all rows is left out later."""
        unknown, kept = self._glyphs.unknown, (each.snapshot or "")[:COMMIT_HASH_CHARS]
        if not each.iteration:
            return ("0", unknown, "", "at start", unknown, unknown, unknown, kept)
        return (
            str(each.iteration),
            format_local_time("%H:%M", each.started_at) if each.started_at else unknown,
            one_line(_format_part(each, receipt), MAX_PART_CELLS, self._glyphs.ellipsis),
            _format_outcome(each, receipt),
            unknown if each.seconds is None else format_duration(each.seconds),
            self._format_cost(each),
            str(each.tools),
            kept,
        )

    def _choose_color(self, each: "Iteration", receipt: "Receipt") -> str:
        if each.outcome == "finished" or not each.iteration:
            return ""
        return self._palette.cyan if _is_at_work(each, receipt) else self._palette.red

    def _render_proof(self, receipt: "Receipt") -> TextLines:
        return ProofRenderer(self._line_renderer).render_proof(receipt.proof) if receipt.proof else iter(())

    # -- kept trees -----------------------------------------------------------------------------
    def _render_hints(self, receipt: "Receipt") -> TextLines:
        changes = [newer.iteration for _, newer in pairwise(receipt.snapshots) if newer.iteration]
        for iteration in changes[-1:]:
            command = f"ralph diff {receipt.id} --iteration {iteration}"
            yield from self._render_hint(f"To see what iteration {iteration} changed:", command)
        for newest in receipt.snapshots[-1:]:
            yield from self._render_restore_hint(receipt, newest)

    def _render_restore_hint(self, receipt: "Receipt", kept: "SnapshotCommit") -> TextLines:
        restore = f"ralph restore {kept.commit[:COMMIT_HASH_CHARS]}"
        if receipt.kind == EXECUTE_KIND:  # a task works in a tree of its own, not where the user is
            return self._render_hint("To copy its files into a new folder:", f"{restore} --into ../{receipt.id}")
        is_first = receipt.before is not None and receipt.before.snapshot == kept.commit
        when = kept.title if kept.iteration or is_first else "when the run resumed"
        text = f"To restore the files as they were {when}, including overwritten and deleted ones:"
        there = "" if self._folder == receipt.root else f"cd {shlex.quote(receipt.root)} && "
        return self._render_hint(text, f"{there}{restore}")

    def _render_hint(self, text: str, command: str) -> TextLines:
        yield from self._line_renderer.wrap_text(text, 0)
        yield f"  {self._palette.cyan}{self._line_renderer.clean_text(command)}{self._palette.off}"


def _format_limits(receipt: "Receipt") -> list[str]:
    if (limits := receipt.limits) is None:
        return []
    most = (
        [] if receipt.kind == EXECUTE_KIND else [pluralize(limits.iterations, "iteration")]
    )  # its stages have their own
    most += [] if limits.seconds is None else [format_duration(limits.seconds)]
    most += [] if limits.cost_usd is None else [format_money(limits.cost_usd)]
    return [f"up to {', '.join(most)}"] if most else []


def _format_part(each: "Iteration", receipt: "Receipt") -> str:
    """Such as "implement US-001" or "coder 2/15"; the task's own name is left out, the head has it."""
    if each.turns:
        return f"{each.role} {each.turn}/{each.turns}"
    if receipt.kind == EXECUTE_KIND:  # a run that is no turn of its stage resolves a conflict
        return f"{each.role} (merge)"
    return " ".join(filter(None, (each.role, "" if each.story == receipt.task else each.story)))


def _format_outcome(each: "Iteration", receipt: "Receipt") -> str:
    if each.outcome is None:
        return "at work" if _is_at_work(each, receipt) else "no report"
    return each.outcome.replace("_", " ")


def _is_at_work(each: "Iteration", receipt: "Receipt") -> bool:
    return receipt.active and each.outcome is None and each is receipt.iterations[-1]
