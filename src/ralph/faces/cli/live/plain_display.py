"""A run for people who listen to it: whole sentences, a line each, nothing that is drawn again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ralph.core.text.plain import one_line, sanitize
from ralph.core.text.quantities import format_cost, format_duration, format_usage, pluralize
from ralph.faces.check_words import describe_check_failure, shorten_agent
from ralph.faces.cli.live.agent_lines import shorten_paths
from ralph.faces.cli.live.display import DEBUG_PREFIX
from ralph.faces.cli.live.summary import IterationRow, IterationRows
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.clock import format_end_time, format_local_time
from ralph.model.events import (
    NO_USAGE,
    AgentEnded,
    Committed,
    Debugged,
    Doing,
    Event,
    FileEdit,
    Finished,
    GateEnded,
    GateStarted,
    Hinted,
    IterationStarted,
    Noted,
    Paused,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    Spent,
    ToolEnded,
    ToolStarted,
    Unparsed,
    Waiting,
    Warned,
)

MAX_SENTENCE_CELLS = 500
MAX_OPEN_TOOLS = 1000
_SESSION_NOTES = ("session: ", "thread: ")


class PlainDisplay:
    """A Watcher that writes sentences. `out` and `err` never raise. `label` stands before each line, where several
    tasks are told at once."""

    has_status_line = False

    def __init__(
        self, style: TerminalStyle, out: Callable[[str], object], err: Callable[[str], object], label: str = ""
    ) -> None:
        self._style, self._out, self._err = style, out, err
        self._label = f"{label}: " if label else ""
        self._rows = IterationRows()
        self._tools: dict[str, str] = {}
        self._at = 0.0
        silent = (Said, ToolStarted, ToolEnded, Planned, Noted, Unparsed) if not style.stream_agent_output else ()
        tellers: Mapping[type, Callable[[Any], list[str]]] = {
            Said: self._tell_said,
            ToolStarted: self._tell_tool_started,
            ToolEnded: self._tell_tool_ended,
            Planned: _tell_plan,
            Noted: self._tell_noted,
            Unparsed: _tell_nothing,
            Spent: _tell_nothing,
            Finished: _tell_nothing,
            RunStarted: self._tell_run_started,
            IterationStarted: self._tell_iteration_started,
            AgentEnded: self._tell_agent_ended,
            GateStarted: _tell_gate_started,
            GateEnded: self._tell_gate_ended,
            Committed: _tell_committed,
            Doing: lambda event: [f"{event.text.capitalize()}."],
            Waiting: self._tell_waiting,
            Paused: lambda event: [f"Paused by {event.by}. Resume with: ralph resume"],
            Warned: lambda event: [f"Warning: {event.text}"],
            Hinted: lambda event: [f"Next: {event.text}"],
            RunEnded: self._tell_run_ended,
        }
        self._tellers = {kind: _tell_nothing if kind in silent else tell for kind, tell in tellers.items()}

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """Tell the events of one moment in one write."""
        self._at = at
        lines: list[str] = []
        for event in events:
            self._rows.add_event(event, at)
            if isinstance(event, Debugged):
                self._tell_debugged(event)
            elif (tell := self._tellers.get(type(event))) is not None:
                lines += tell(event)
        stamp = f"{format_local_time('%H:%M:%S', at)} " if self._style.timestamps else ""
        if lines:
            self._out("".join(f"{stamp}{self._label}{sanitize(line)}\n" for line in lines))

    def tick(self, now: float) -> None: ...

    def close(self) -> None: ...

    # -- the agent ------------------------------------------------------------------------------
    def _tell_said(self, event: Said) -> list[str]:
        if event.thinking:
            thought = _shorten(event.text)
            return [f"Thinking: {thought}"] if thought else []
        return [line for line in event.text.split("\n") if _has_words(line)]

    def _tell_tool_started(self, event: ToolStarted) -> list[str]:
        if len(self._tools) >= MAX_OPEN_TOOLS:
            self._tools.clear()
        self._tools[event.id] = event.name
        about = _shorten(shorten_paths(event.summary, self._style.folder))
        first = f"Tool {event.name}: {about}" if about else f"Tool {event.name}"
        if event.edit is None:
            return [f"{first}."]
        return [f"{first}, {_describe_size(event.edit)}.", *self._tell_hunk(event.edit)]

    def _tell_hunk(self, edit: FileEdit) -> list[str]:
        words = {"+": "Added", "-": "Removed"}
        lines = [line for line in edit.hunk.split("\n") if line.strip()][: self._style.max_edit_lines]
        return [f"  {words.get(line[0], 'Line')}: {_shorten(line[1:])}" for line in lines]

    def _tell_tool_ended(self, event: ToolEnded) -> list[str]:
        name = self._tools.pop(event.id, "Tool")
        text = event.output if event.error is None else event.error or event.output
        lines = [line for line in sanitize(text).splitlines() if _has_words(line)]
        most = self._style.max_output_lines
        shown = (lines[-most:] if event.from_end else lines[:most]) if most else []
        size = pluralize(event.lines, "line") if event.lines else "nothing"
        head = f"{name} failed" if event.error is not None else f"{name} printed {size}"
        return [f"{head}{':' if shown else '.'}", *(f"  {_shorten(line)}" for line in shown)]

    def _tell_noted(self, event: Noted) -> list[str]:
        is_session = event.text.startswith(_SESSION_NOTES)
        return [] if not event.text or (is_session and not self._style.verbose) else [_shorten(event.text)]

    # -- the loop -------------------------------------------------------------------------------
    def _tell_run_started(self, event: RunStarted) -> list[str]:
        self._rows.clear_rows()
        verb = "resumes" if event.resumed else "starts"
        parts = [f"Run {event.run} {verb} with {shorten_agent(event.agent)}"]
        parts += [] if event.is_task else [f"up to {pluralize(event.limit, 'iteration')}"]
        parts += [f"budget ${event.budget_usd:,.2f}"] if event.budget_usd is not None else []
        return [", ".join([*parts, *([event.isolation] if event.isolation else [])]) + "."]

    def _tell_iteration_started(self, event: IterationStarted) -> list[str]:
        about = f" for {event.about}" if event.about else ""
        return [f"Iteration {event.iteration} of {event.limit} starts{about}."]

    def _tell_agent_ended(self, event: AgentEnded) -> list[str]:
        cost = self._format_cost(event.cost_usd, event.estimated_usd)
        took = format_duration(event.seconds)
        if event.outcome != "finished":
            return [f"The agent did not finish: {_shorten(event.detail or event.outcome)} After {took}, {cost}."]
        used = "" if event.usage == NO_USAGE else f", {format_usage(event.usage)}"
        calls = f"{pluralize(event.tools, 'tool call')}, {pluralize(event.errors, 'error')}"
        return [f"Agent finished after {took}, {cost}{used}, {calls}."]

    def _tell_gate_ended(self, event: GateEnded) -> list[str]:
        what = "Verification" if event.is_verification else "Guardrail"
        took = format_duration(event.seconds, tenths=True)
        if event.passed:
            return [f"{what} passed: {event.gate}, {took}."]
        code = "" if event.exit_code is None else f", exit code {event.exit_code}"
        consequence = " Told to the agent." if event.action or event.is_verification else ""
        why = describe_check_failure(event.command, event.detail)
        shown = self._style.max_check_lines
        tail = [line for line in event.tail.splitlines() if _has_words(line)][-shown:] if shown else []
        path = shorten_paths(event.log, self._style.folder)
        below = [*([why] if why else []), *tail, *([f"Full output: {path}."] if path else [])]
        return [f"{what} failed: {event.gate}{code}, {took}.{consequence}", *(f"  {_shorten(line)}" for line in below)]

    def _tell_waiting(self, event: Waiting) -> list[str]:
        end = format_end_time(self._at, event.seconds)
        return [f"Waiting {format_duration(event.seconds)}, until {end}: {event.why or 'nothing to do until then.'}"]

    def _tell_run_ended(self, event: RunEnded) -> list[str]:
        outcome = event.outcome.replace("_", " ")
        words = "; ".join(filter(None, (event.why, *event.problems)))
        facts = [pluralize(event.iterations, "iteration"), format_duration(event.seconds)]
        facts.append(self._format_cost(event.cost_usd, event.estimated_usd, event.unpriced))
        rows = [self._tell_row(row) for row in self._rows.get_rows()]
        return [*rows, f"Run {outcome}: {words}.".replace("..", "."), f"{', '.join(facts)}."]

    def _tell_row(self, row: IterationRow) -> str:
        name = f"{row.about.partition(' ')[0]} iteration {row.iteration}".strip().capitalize()
        checks = max(row.passed + row.failed, row.checks)
        what = "verifications" if row.is_task else "guardrails"
        passed = f"{row.passed} of {checks} {what} passed" if checks else "nothing was checked"
        commit = f", committed as {_shorten(row.commit)}" if row.commit else ""
        outcome = (row.outcome or "unknown").replace("_", " ")
        cost = self._format_cost(row.cost_usd, row.estimated_usd)
        return f"{name}: agent {outcome}, {passed}{commit}, {format_duration(row.seconds)}, {cost}."

    def _format_cost(self, cost_usd: float | None, estimated_usd: float | None, unpriced: int = 0) -> str:
        cost = format_cost(cost_usd, estimated_usd, unpriced=unpriced, unknown="unknown", about="about ")
        return f"cost {cost.replace('+', ' or more')}"

    def _tell_debugged(self, event: Debugged) -> None:
        if self._style.verbose:
            self._err(DEBUG_PREFIX + sanitize(event.text).replace("\n", "\n" + DEBUG_PREFIX) + "\n")


def _shorten(text: str) -> str:
    return one_line(text, MAX_SENTENCE_CELLS, "...")


def _has_words(line: str) -> bool:
    """Rules and frames are nothing to listen to."""
    return any(map(str.isalnum, line))


def _describe_size(edit: FileEdit) -> str:
    if edit.whole:
        return f"{pluralize(edit.added, 'line')} written"
    return f"{pluralize(edit.added, 'line')} added, {edit.removed} removed"


def _tell_plan(event: Planned) -> list[str]:
    words = {"done": "Done", "active": "Now", "pending": "To do"}
    done = sum(todo.state == "done" for todo in event.todos)
    items = [f"  {words[todo.state]}: {_shorten(todo.text)}" for todo in event.todos]
    return [f"Plan, {done} of {len(event.todos)} done:", *items] if items else []


def _tell_gate_started(event: GateStarted) -> list[str]:
    what = "Verification" if event.is_verification else "Guardrail"
    return [f"{what} starts: {event.command or event.gate}."]


def _tell_committed(event: Committed) -> list[str]:
    lines = [f"Committed: {event.message or ', '.join(event.done)}."] if event.done else []
    return [*lines, *(f"Warning: {problem}" for problem in event.problems)]


def _tell_nothing(_: object) -> list[str]:
    return []
