"""What still holds, as lines for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ralph.core.text.quantities import format_duration, pluralize
from ralph.faces.cli.pages.receipt_lines import ReceiptLineRenderer, TextLines
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.proof_words import COMMIT_HASH_CHARS, describe_check

if TYPE_CHECKING:
    from ralph.app.board.verify_landed import LandedFinding
    from ralph.app.runs.proofs.verify_run import RecheckedCommand, VerifiedRun
    from ralph.model.receipt import CheckEvidence

MAX_DETAIL_LINES = 20


class VerificationPage:
    """For `ralph verify`."""

    def __init__(self, style: TerminalStyle) -> None:
        self._lines = ReceiptLineRenderer(style)

    def render_run(self, found: "VerifiedRun") -> str:
        return "\n".join(self._iter_run(found))

    def render_landed(self, found: "Sequence[LandedFinding]") -> str:
        return "\n".join(self._iter_landed(found))

    def _iter_run(self, found: "VerifiedRun") -> TextLines:
        kind, name = ("commit", found.commit) if found.commit else ("tree", found.tree)
        yield from self._lines.wrap_text(f"run {found.run}, {kind} {name[:COMMIT_HASH_CHARS]}", 0)
        for note in found.notes:
            yield from self._lines.render_item("warn", note)
        for each in found.checks:
            yield from self._render_recheck(each)
        yield from self._render_sum(found)

    def _render_recheck(self, each: "RecheckedCommand") -> TextLines:
        name = f"{each.check.role}: {each.check.name}" if each.check.role else each.check.name
        match each.standing:
            case "holds":
                took = format_duration(each.seconds, tenths=True)
                yield from self._lines.render_item("ok", f"{name} ({took})")
            case "unknown":
                yield from self._lines.render_item("note", f"{describe_check(each.check)}: {each.reason}")
            case "broken":
                yield from self._lines.render_item("bad", f"{name}: {each.reason}")
                for line in each.detail.splitlines()[-MAX_DETAIL_LINES:]:
                    yield from (f"    {part}" for part in self._lines.wrap_text(line, 4))

    def _render_sum(self, found: "VerifiedRun") -> TextLines:
        if found.problem:
            yield from self._lines.render_item("bad", found.problem)
        elif found.interrupted:
            yield from self._lines.render_item("warn", "Interrupted: not all checks were run")
        elif found.holds:
            count = sum(each.standing == "holds" for each in found.checks)
            yield from self._lines.render_item("ok", f"Verified: {pluralize(count, 'check')} passed again")
        else:
            count = sum(each.standing == "broken" for each in found.checks)
            yield from self._lines.render_item("bad", f"Not verified: {pluralize(count, 'check')} failed")

    # -- landed tasks ---------------------------------------------------------------------------
    def _iter_landed(self, found: "Sequence[LandedFinding]") -> TextLines:
        if not found:
            yield "No task is merged yet."
        for each in found:
            if not each.checks:
                yield from self._lines.render_item("note", f"{each.task}: no command to run")
            for check in each.checks:
                yield from self._render_landed_check(each.task, check)
        broken = [each.task for each in found if not each.holds]
        if any(each.interrupted for each in found):
            yield from self._lines.render_item("warn", "Interrupted: not all tasks were checked")
        elif broken:
            yield from self._lines.render_item("bad", f"No longer true: {', '.join(broken)}")
        elif found:
            yield from self._lines.render_item("ok", f"Verified: {pluralize(len(found), 'merged task')}")

    def _render_landed_check(self, task: str, check: "CheckEvidence") -> TextLines:
        took = format_duration(check.seconds, tenths=True)
        text = f"{task}: {check.name} ({took})" if check.passed else f"{task}: {check.name}: {check.reason}"
        yield from self._lines.render_item("ok" if check.passed else "bad", text)
