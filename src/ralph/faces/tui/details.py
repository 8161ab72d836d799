"""The page of a card: the last failure, the attempts and what changed come first, then all the rest."""

import os
from collections.abc import Iterator, Sequence

from rich.style import Style
from rich.text import Text

from ralph.app.board.changes import RunChanges, RunDetails
from ralph.app.board.tasks import TaskDetails
from ralph.app.runs.journal_reader import CheckLine, Iteration
from ralph.core.text.check_output import take_last_lines
from ralph.core.text.plain import sanitize
from ralph.core.text.quantities import format_duration, format_money, pluralize
from ralph.faces.check_words import shorten_agent
from ralph.faces.clock import format_local_time
from ralph.faces.glyphs import Glyphs
from ralph.faces.task_page import render_task_text
from ralph.faces.tui.colors import TONE_STYLES
from ralph.model.spec import VerificationAttempt

MAX_SHOWN_DIFF_LINES = 40  # before the rest of the page; `d` shows all of it
MAX_WHOLE_DIFF_LINES = 5000
MAX_FAILURE_LINES = 12
MAX_SHOWN_ATTEMPTS = 6  # the last ones
MAX_CHECK_LOG_BYTES = 1 << 16  # the end of a check's output
_DIFF_TONES = {"+": "good", "-": "bad", "@": "tool"}
_MARK_TONES = {"✓": "good", "✗": "bad", "·": "faint"}

PageLine = tuple[str, str]  # text, tone


def render_task_details(shown: TaskDetails, changes: RunChanges | None, glyphs: Glyphs) -> Text:
    """Where it stands, then all of `ralph task show`."""
    lines = [*_render_task_failure(shown.attempts), *_render_attempts(shown.attempts, glyphs)]
    lines += _render_changes(changes, glyphs, is_running=bool(shown.entry.worker))
    return _to_text([*lines, ("", "said")]).append_text(highlight_page(render_task_text(shown)))


def render_run_details(found: RunDetails, title: str, glyphs: Glyphs) -> Text:
    """How it ended, what failed last, what it changed, and every iteration."""
    receipt = found.receipt
    began = format_local_time("%Y-%m-%d %H:%M", receipt.started_at)
    spent = f"{format_duration(receipt.seconds)} {glyphs.dot} {format_money(receipt.cost_usd)}"
    lines: list[PageLine] = [
        (title, "heading"),
        (
            f"  {f' {glyphs.dot} '.join((receipt.kind, shorten_agent(receipt.agent), f'began {began}', spent))}",
            "faint",
        ),
        (f"  {_describe_ending(found)}", "good" if receipt.outcome == "completed" else "said"),
    ]
    lines += _render_run_failure(receipt.iterations)
    lines += [("", "said"), ("Iterations", "heading")]
    for each in receipt.iterations:
        lines += _render_iteration(each, glyphs)
    lines += _render_changes(found.changes, glyphs, is_running=receipt.active)
    return _to_text(lines)


def render_diff(changes: RunChanges) -> Text:
    return _to_text(_tone_diff(changes.diff.splitlines()[:MAX_WHOLE_DIFF_LINES]))


def highlight_page(page: str) -> Text:
    """Styles a task's page: lines at the margin are headings, indented ones go by their first mark (✓ ✗ ·)."""
    text = Text()
    for line in page.split("\n"):
        mark = _MARK_TONES.get(line.lstrip()[:1]) if line.startswith(" ") else None
        style = TONE_STYLES[mark] if mark else TONE_STYLES["heading"] if line[:1].strip() else TONE_STYLES["said"]
        text.append(f"{line}\n", style)
    return text


def _to_text(lines: Sequence[PageLine]) -> Text:
    text = Text()
    for line, tone in lines:
        text.append(f"{sanitize(line)}\n", TONE_STYLES.get(tone, Style()))
    return text


def _render_task_failure(attempts: Sequence[VerificationAttempt]) -> list[PageLine]:
    last = attempts[-1] if attempts else None
    if last is None or last.verified or not last.promise_found:
        return []
    tail = take_last_lines(last.detail, MAX_FAILURE_LINES).splitlines()
    head = f"Last failure: {last.agent} {last.iteration or 'manual'}: {last.reason}"
    return [(head, "bad"), *((f"    {line}", "said") for line in tail), ("", "said")]


def _render_attempts(attempts: Sequence[VerificationAttempt], glyphs: Glyphs) -> list[PageLine]:
    if not attempts:
        return []
    shown = attempts[-MAX_SHOWN_ATTEMPTS:]
    more = f" (the last {len(shown)} of {len(attempts)})" if len(shown) < len(attempts) else ""
    return [(f"Attempts{more}", "heading"), *(_render_attempt_line(each, glyphs) for each in shown), ("", "said")]


def _render_attempt_line(attempt: VerificationAttempt, glyphs: Glyphs) -> PageLine:
    mark = glyphs.ok if attempt.verified else glyphs.bad if attempt.promise_found else glyphs.dot
    tone = "good" if attempt.verified else "bad" if attempt.promise_found else "faint"
    return f"  {mark} {attempt.agent} {attempt.iteration or 'manual'}: {attempt.reason}", tone


def _render_run_failure(iterations: Sequence[Iteration]) -> list[PageLine]:
    for each in reversed(iterations):
        failed = [check for check in {check.name: check for check in each.checks}.values() if not check.passed]
        if failed:
            return [("", "said"), *_render_failed_check(failed[0], each.iteration)]
        if each.checks:
            return []
        if each.outcome not in (None, "finished"):
            return [("", "said"), (f"Last failure: iteration {each.iteration}: {each.detail or each.outcome}", "bad")]
    return []


def _render_failed_check(check: CheckLine, iteration: int) -> Iterator[PageLine]:
    why = check.summary or check.reason or f"exit code {check.exit_code}"
    yield f"Last failure: iteration {iteration}: {check.name}: {why}", "bad"
    for line in take_last_lines(_read_end(check.log), MAX_FAILURE_LINES).splitlines():
        yield f"    {line}", "said"
    if check.log:
        yield f"    full output: {check.log}", "faint"


def _read_end(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_CHECK_LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _render_iteration(each: Iteration, glyphs: Glyphs) -> Iterator[PageLine]:
    outcome = (each.outcome or "at work").replace("_", " ")
    took = "" if each.seconds is None else f" {glyphs.dot} {format_duration(each.seconds)}"
    cost = "" if each.cost_usd is None else f" {glyphs.dot} {format_money(each.cost_usd)}"
    part = " ".join(filter(None, (each.role, each.story)))
    about = f"  {each.iteration}  {f'{part} {glyphs.dot} ' if part else ''}{outcome}{took}{cost}"
    yield about, "said" if each.outcome in (None, "finished") else "bad"
    for check in each.checks:
        why = "" if check.passed else f": {check.summary or check.reason or f'exit code {check.exit_code}'}"
        mark = glyphs.ok if check.passed else glyphs.bad
        yield f"     {mark} {check.name}{why}", "good" if check.passed else "bad"


def _render_changes(changes: RunChanges | None, glyphs: Glyphs, *, is_running: bool) -> list[PageLine]:
    if changes is None:
        return [("", "said"), (f"What changed: reading{glyphs.ellipsis}", "faint")]
    if changes.problem:
        return [("", "said"), (f"What changed: unknown ({changes.problem})", "faint")]
    if not changes.files:
        return [("", "said"), (f"What changed: nothing{' yet' if is_running or not changes.run else ''}", "faint")]
    lines = changes.diff.splitlines()
    head = f"What changed: {pluralize(len(changes.files), 'file')}"
    files = [(f"  {each.path}  +{each.added} -{each.removed}", "said") for each in changes.files]
    more = len(lines) - MAX_SHOWN_DIFF_LINES
    rest = [(f"  {glyphs.ellipsis} {more} more lines: d shows the whole diff", "faint")] if more > 0 else []
    return [("", "said"), (head, "heading"), *files, *_tone_diff(lines[:MAX_SHOWN_DIFF_LINES], "  "), *rest]


def _tone_diff(lines: Sequence[str], indent: str = "") -> list[PageLine]:
    return [(f"{indent}{line}", _get_diff_tone(line)) for line in lines]


def _get_diff_tone(line: str) -> str:
    if line.startswith(("+++", "---", "index ")):
        return "faint"
    return "heading" if line.startswith("diff --git") else _DIFF_TONES.get(line[:1], "said")


def _describe_ending(found: RunDetails) -> str:
    receipt = found.receipt
    if receipt.active:
        return "running"
    outcome = (receipt.outcome or "ended").replace("_", " ")
    return f"{outcome}: {receipt.why}" if receipt.why else outcome
