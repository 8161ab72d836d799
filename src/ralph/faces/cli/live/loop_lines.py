"""The loop's own events as text for people."""

from ralph.core.text.plain import cells, one_line
from ralph.core.text.quantities import counted, duration, money, timing, traffic
from ralph.faces.cli.terminal.look import Look
from ralph.faces.clock import until
from ralph.model.events import (
    NO_USAGE,
    AgentEnded,
    Committed,
    GateEnded,
    GateStarted,
    IterationStarted,
    RunEnded,
    RunStarted,
    Waiting,
    Warned,
)

RULE = 60  # cells of an iteration's heading
SENTENCE = 500  # cells of what others tell in words


class LoopLines:
    """Each method gives the lines of one event. None is cut to the width: a terminal breaks what is too long."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._paint = look.paint
        self._glyphs = look.glyphs

    def run_started(self, event: RunStarted) -> str:
        """run 20261115-… · claude · up to 10 iterations"""
        again = " resumed" if event.resumed else ""
        limit = f"up to {counted(event.limit, 'iteration')}"
        return self._dotted(f"run {self._words(event.run)}{again}", self._words(event.agent), limit)

    def iteration_started(self, event: IterationStarted) -> str:
        """━━ Iteration 3/10 ━━━━━━"""
        rule, paint = self._glyphs.rule, self._paint
        title = f"Iteration {event.iteration}/{event.limit}"
        if event.about:
            title = self._dotted(title, self._words(event.about))
        rest = max(2, min(RULE, self._look.width or RULE) - cells(title) - 4)
        above = "" if self._look.timestamps else "\n"
        heading = f"{paint.bold}{title}{paint.off}"
        return f"{above}{paint.dim}{rule * 2}{paint.off} {heading} {paint.dim}{rule * rest}{paint.off}"

    def agent_ended(self, event: AgentEnded) -> str:
        """✅ Complete (cost: …), or what went wrong in a sentence."""
        if event.outcome != "finished":
            parts = [self._words(event.detail or event.outcome.replace("_", " ")), duration(event.seconds)]
            return self._bad(self._dotted(*parts, *self._price(event.cost_usd)))
        used = self._glyphs.unknown if event.usage == NO_USAGE else traffic(event.usage)
        odd = f", exit code: {event.exit_code}" if event.exit_code else ""  # its closing event decides; this is news
        return self._good(
            f"Complete (cost: {money(event.cost_usd, self._glyphs.unknown)}, tokens: {used},"
            f" tools: {event.tools}, errors: {event.errors}, time: {duration(event.seconds)}{odd})"
        )

    def gate_started(self, event: GateStarted) -> str:
        """▸ Guardrail "make test" started"""
        paint = self._paint
        return f'{paint.dim}{self._glyphs.check} Guardrail "{self._words(event.gate)}" started{paint.off}'

    def gate_ended(self, event: GateEnded) -> str:
        """✗ Guardrail "make test" failed with exit code 2 (1.2s) → APPEND, and where its output is."""
        verdict = "passed" if event.passed else "failed"
        name = self._words(event.gate)
        code = "" if event.exit_code is None else f" with exit code {event.exit_code}"
        line = f'Guardrail "{name}" {verdict}{code} ({timing(event.seconds)})'
        if event.passed:
            return self._good(line)
        if event.action:
            line += f" {self._glyphs.leads} {self._words(event.action)}"
        return self._bad(line) + self._below(event.detail, event.log)

    def committed(self, event: Committed) -> str:
        """✓ Committed: the message (commit, push), and what did not work."""
        lines = []
        if event.done:
            tasks = self._words(", ".join(event.done))
            lines.append(self._good(f"Committed: {self._words(event.message)} ({tasks})" if event.message else tasks))
        return "\n".join([*lines, *map(self._warning, event.problems)])

    def waiting(self, event: Waiting, at: float) -> str:
        """▸ Waiting 5m, until 14:05: why"""
        why = f": {self._words(event.why)}" if event.why else ""
        long = duration(event.seconds) if event.seconds >= 1 else timing(event.seconds)
        text = f"Waiting {long}, until {until(at, event.seconds)}{why}"
        return f"{self._paint.yellow}{self._glyphs.wait} {text}{self._paint.off}"

    def warned(self, event: Warned) -> str:
        """! Something the user should know"""
        return self._warning(event.text)

    def run_ended(self, event: RunEnded) -> str:
        """✓ Completed: why · 3 iterations · 6m7s · $0.71 · 184K in / 9K out"""
        outcome = self._words(event.outcome).replace("_", " ").capitalize()
        paint = self._paint
        why = f": {self._words(event.why)}" if event.why else ""
        facts = [_iterations(event), duration(event.seconds), *self._price(event.cost_usd)]
        if event.usage != NO_USAGE:
            facts.append(traffic(event.usage))
        line = self._dotted(f"{paint.bold}{outcome}{paint.off}{why}", *facts)
        return self._good(line) if event.outcome == "completed" else self._bad(line)

    def _price(self, cost_usd: float | None) -> list[str]:
        return [] if cost_usd is None else [money(cost_usd)]

    def _words(self, text: str) -> str:
        return one_line(text, SENTENCE, self._glyphs.ellipsis)

    def _dotted(self, *parts: str) -> str:
        return f" {self._glyphs.dot} ".join(parts)

    def _good(self, text: str) -> str:
        return f"{self._paint.green}{self._glyphs.ok}{self._paint.off} {text}"

    def _bad(self, text: str) -> str:
        return f"{self._paint.red}{self._glyphs.bad}{self._paint.off} {text}"

    def _warning(self, text: str) -> str:
        return f"{self._paint.yellow}{self._glyphs.warn} {self._words(text)}{self._paint.off}"

    def _below(self, *texts: str) -> str:
        paint, branch = self._paint, self._glyphs.branch
        lines = [self._words(text) for text in texts if text]
        blank = " " * cells(branch)
        return f"\n{paint.dim}{branch}" + f"\n{blank}".join(lines) + paint.off if lines else ""


def _iterations(event: RunEnded) -> str:
    """3 iterations, the last interrupted"""
    count = counted(event.iterations, "iteration")
    if not event.cut_off:
        return count
    return f"{count}, {'the last ' if event.iterations > 1 else ''}interrupted"
