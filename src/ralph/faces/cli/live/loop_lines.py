"""The loop's own events as text for people."""

from ralph.core.text.plain import count_cells, one_line, sanitize, truncate_cells
from ralph.core.text.quantities import format_cost, format_duration, format_usage, pluralize
from ralph.faces.check_words import describe_check_failure, shorten_agent
from ralph.faces.cli.live.agent_lines import shorten_paths
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.clock import format_end_time
from ralph.model.events import (
    NO_USAGE,
    AgentEnded,
    Committed,
    GateEnded,
    GateStarted,
    Hinted,
    IterationStarted,
    Paused,
    RunEnded,
    RunStarted,
    Waiting,
    Warned,
)

HEADING_CELLS = 60  # cells of an iteration's heading
MAX_EVENT_TEXT_CELLS = 500  # cells of what others tell in words


class LoopEventRenderer:
    """One method for each type of loop event. Lines are not cut to the width: the terminal wraps them."""

    def __init__(self, style: TerminalStyle) -> None:
        self._style = style
        self._palette = style.palette
        self._glyphs = style.glyphs

    def render_run_started(self, event: RunStarted) -> str:
        """run 20261115-… · claude · up to 10 iterations · no sandbox"""
        again = " resumed" if event.resumed else ""
        limit = [] if event.is_task else [f"up to {pluralize(event.limit, 'iteration')}"]
        parts = [f"run {event.run}{again}", shorten_agent(event.agent), *limit, event.isolation]
        return self._join_with_dots(*(self._clean_text(part) for part in parts if part))

    def render_iteration_started(self, event: IterationStarted) -> str:
        rule, paint = self._glyphs.rule, self._palette
        title = f"Iteration {event.iteration}/{event.limit}"
        if event.about:
            title = self._join_with_dots(title, self._clean_text(event.about))
        rest = max(2, min(HEADING_CELLS, self._style.width or HEADING_CELLS) - count_cells(title) - 4)
        above = "" if self._style.timestamps else "\n"
        heading = f"{paint.bold}{title}{paint.off}"
        return f"{above}{paint.dim}{rule * 2}{paint.off} {heading} {paint.dim}{rule * rest}{paint.off}"

    def render_agent_ended(self, event: AgentEnded) -> str:
        """✓ Agent finished (cost: …), or what went wrong in a sentence; what was refused may yet prove right."""
        if event.outcome != "finished":
            parts = [self._clean_text(event.detail or event.outcome.replace("_", " ")), format_duration(event.seconds)]
            line = self._join_with_dots(*parts, *self._format_price(event.cost_usd, event.estimated_usd))
            return self._render_warning(line) if event.outcome == "refused" else self._mark_bad(line)
        cost = self._format_cost(event.cost_usd, event.estimated_usd)
        used = self._glyphs.unknown if event.usage == NO_USAGE else format_usage(event.usage)
        odd = f", exit code: {event.exit_code}" if event.exit_code else ""  # its closing event decides; this is news
        return self._mark_ok(
            f"{self._glyphs.agent_ended} (cost: {cost}, tokens: {used},"
            f" tools: {event.tools}, errors: {event.errors}, time: {format_duration(event.seconds)}{odd})"
        )

    def render_gate_started(self, event: GateStarted) -> str:
        """▸ Guardrail "make test" started"""
        paint, what = self._palette, "Verification" if event.is_verification else "Guardrail"
        command = f": {self._clean_text(event.command)}" if event.command else ""
        return f'{paint.dim}{self._glyphs.check} {what} "{self._clean_text(event.gate)}" started{command}{paint.off}'

    def render_gate_ended(self, event: GateEnded) -> str:
        """✗ Guardrail "make test" failed with exit code 2 (1.2s), told to the agent; the last lines of its output, and
        where all of it is."""
        verdict = "passed" if event.passed else "failed"
        what, name = "Verification" if event.is_verification else "Guardrail", self._clean_text(event.gate)
        code = "" if event.exit_code is None else f" with exit code {event.exit_code}"
        line = f'{what} "{name}" {verdict}{code} ({format_duration(event.seconds, tenths=True)})'
        if event.passed:
            return self._mark_ok(line)
        if event.action or event.is_verification:
            line += ", told to the agent"
        shown = self._style.max_check_lines
        tail = event.tail.splitlines()[-shown:] if shown else []
        path = shorten_paths(event.log, self._style.folder)
        log = f"full output: {path}" if path and tail else path
        about = self._clean_text(describe_check_failure(event.command, event.detail))
        return self._mark_bad(line) + self._render_below(about, *map(self._clean_output, tail), self._clean_text(log))

    def render_committed(self, event: Committed) -> str:
        """✓ Committed: the message (commit, push), and what did not work."""
        lines = []
        if event.done:
            tasks = self._clean_text(", ".join(event.done))
            lines.append(
                self._mark_ok(f"Committed: {self._clean_text(event.message)} ({tasks})" if event.message else tasks)
            )
        return "\n".join([*lines, *map(self._render_warning, event.problems)])

    def render_waiting(self, event: Waiting, at: float) -> str:
        """▸ Waiting 5m, until 14:05: why"""
        why = f": {self._clean_text(event.why)}" if event.why else ""
        long = format_duration(event.seconds, tenths=event.seconds < 1)
        text = f"Waiting {long}, until {format_end_time(at, event.seconds)}{why}"
        return f"{self._palette.yellow}{self._glyphs.wait} {text}{self._palette.off}"

    def render_paused(self, event: Paused) -> str:
        """▸ Paused by alex; resume with: ralph resume"""
        text = f"Paused by {self._clean_text(event.by)}; resume with: ralph resume"
        return f"{self._palette.yellow}{self._glyphs.wait} {text}{self._palette.off}"

    def render_warned(self, event: Warned) -> str:
        """! Something the user should know"""
        return self._render_warning(event.text)

    def render_hinted(self, event: Hinted) -> str:
        """→ What the user may type next"""
        return f"  {self._glyphs.right_arrow} {self._clean_text(event.text)}"

    def render_run_ended(self, event: RunEnded) -> str:
        """✓ Completed: why; what was not committed or pushed · 3 iterations · 6m7s · $0.71 · 184K in / 9K out"""
        outcome = self._clean_text(event.outcome).replace("_", " ").capitalize()
        paint = self._palette
        words = "; ".join(map(self._clean_text, filter(None, (event.why, *event.problems))))
        why = f": {words}" if words else ""
        price = self._format_price(event.cost_usd, event.estimated_usd, event.unpriced)
        facts = [_format_iterations(event), format_duration(event.seconds), *price]
        if event.usage != NO_USAGE:
            facts.append(format_usage(event.usage))
        if event.flagged:  # "completed, but …" is the whole sentence
            why = self._clean_text(event.why).removeprefix(event.outcome)
        line = self._join_with_dots(f"{paint.bold}{outcome}{paint.off}{why}", *facts)
        if event.flagged:
            return f"{paint.yellow}{self._glyphs.warn}{paint.off} {line}"
        return self._mark_ok(line) if event.outcome == "completed" else self._mark_bad(line)

    def _format_price(self, cost_usd: float | None, estimated_usd: float | None, unpriced: int = 0) -> list[str]:
        is_known = cost_usd is not None or estimated_usd
        return [self._format_cost(cost_usd, estimated_usd, unpriced)] if is_known else []

    def _format_cost(self, cost_usd: float | None, estimated_usd: float | None, unpriced: int = 0) -> str:
        glyphs = self._glyphs
        return format_cost(cost_usd, estimated_usd, unpriced=unpriced, unknown=glyphs.unknown, about=glyphs.about)

    def _clean_text(self, text: str) -> str:
        return one_line(text, MAX_EVENT_TEXT_CELLS, self._glyphs.ellipsis)

    def _clean_output(self, line: str) -> str:
        """A line as it was printed, its indentation too."""
        return truncate_cells(sanitize(line).replace("\n", " ").rstrip(), MAX_EVENT_TEXT_CELLS, self._glyphs.ellipsis)

    def _join_with_dots(self, *parts: str) -> str:
        return f" {self._glyphs.dot} ".join(parts)

    def _mark_ok(self, text: str) -> str:
        return f"{self._palette.green}{self._glyphs.ok}{self._palette.off} {text}"

    def _mark_bad(self, text: str) -> str:
        return f"{self._palette.red}{self._glyphs.bad}{self._palette.off} {text}"

    def _render_warning(self, text: str) -> str:
        return f"{self._palette.yellow}{self._glyphs.warn} {self._clean_text(text)}{self._palette.off}"

    def _render_below(self, *texts: str) -> str:
        paint, branch = self._palette, self._glyphs.branch
        lines = [text for text in texts if text]
        blank = " " * count_cells(branch)
        return f"\n{paint.dim}{branch}" + f"\n{blank}".join(lines) + paint.off if lines else ""


def _format_iterations(event: RunEnded) -> str:
    """3 iterations, the last interrupted"""
    count = pluralize(event.iterations, "iteration")
    if not event.cut_off:
        return count
    return f"{count}, {'the last ' if event.iterations > 1 else ''}interrupted"
