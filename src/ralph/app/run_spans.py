"""The events of a run as spans: run, iteration, agent, tool, check, by the GenAI conventions. No prompt and no output,
unless the user asks for content."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from ralph.app import registry
from ralph.core.text.plain import one_line
from ralph.core.text.secrets import redact
from ralph.model.events import (
    AgentEnded,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolStarted,
    Waiting,
)

if TYPE_CHECKING:
    from ralph.app.telemetry import RunTracer

MAX_ATTRIBUTE_CELLS = 300
NANOSECONDS = 1_000_000_000
AttributeValue = str | int | float | bool


class RunSpans:
    """A Watcher of one run. It only makes spans; who sends them does so in a thread of its own."""

    def __init__(
        self,
        make_tracer: "Callable[[str, bool], RunTracer]",
        *,
        kind: str,
        task: str = "",
        model: str = "",
        captures_content: bool = False,
    ) -> None:
        self._make_tracer, self._captures_content = make_tracer, captures_content
        self._kind, self._task, self._model, self._agent_name = kind, task, model, ""
        self._tracer: RunTracer | None = None
        self._run: Span | None = None
        self._iteration: Span | None = None
        self._agent: Span | None = None
        self._check: Span | None = None
        self._tools: dict[str, Span] = {}
        self._at = 0.0

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        self._at = at
        for event in events:
            match event:
                case RunStarted():
                    self._begin_run(event)
                case IterationStarted():
                    self._begin_iteration(event)
                case ToolStarted():
                    self._begin_tool(event)
                case ToolEnded():
                    self._end_tool(event)
                case AgentEnded():
                    self._end_agent(event)
                case GateStarted():
                    self._begin_check(event)
                case GateEnded():
                    self._end_check(event)
                case Waiting(seconds=seconds) if self._run is not None:
                    self._run.add_event("waiting", {"ralph.seconds": seconds}, self._now)
                case RunEnded():
                    self._end_run(event)
                case _:
                    pass

    def close(self) -> None:
        """What has not ended ends here: the run was cut off."""
        self._end_iteration()
        if self._run is not None:
            self._run.set_status(Status(StatusCode.ERROR))
            self._run.end(self._now)
            self._run = None

    @property
    def _now(self) -> int:
        return int(self._at * NANOSECONDS)

    # -- the run --------------------------------------------------------------------------------
    def _begin_run(self, event: RunStarted) -> None:
        self.close()
        self._agent_name = os.path.basename(event.agent)
        self._tracer = self._make_tracer(event.run, event.resumed)
        facts: dict[str, AttributeValue] = {
            "ralph.run.id": event.run,
            "ralph.kind": self._kind,
            "ralph.resumed": event.resumed,
            "gen_ai.agent.name": self._agent_name,
        }
        if self._task:
            facts["ralph.task"] = self._task
        self._run = self._start(f"ralph {self._kind}", None, facts)

    def _end_run(self, event: RunEnded) -> None:
        self._end_iteration()
        if self._run is None:
            return
        facts: dict[str, AttributeValue] = {
            "ralph.outcome": event.outcome,
            "ralph.iterations": event.iterations,
            "gen_ai.usage.input_tokens": event.usage.input_tokens,
            "gen_ai.usage.output_tokens": event.usage.output_tokens,
        }
        self._finish(self._run, facts, event.cost_usd, "" if event.outcome == "completed" else event.outcome)
        self._capture(self._run, "ralph.why", event.why)
        self._run.end(self._now)
        self._run = None

    # -- an iteration ---------------------------------------------------------------------------
    def _begin_iteration(self, event: IterationStarted) -> None:
        self._end_iteration()
        facts: dict[str, AttributeValue] = {"ralph.iteration": event.iteration, "ralph.limit": event.limit}
        if event.about:
            facts["ralph.about"] = self._show(event.about)
        self._iteration = self._start(f"iteration {event.iteration}", self._run, facts)
        asked: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": find_provider(self._agent_name),
            "gen_ai.agent.name": self._agent_name,
        }
        if self._model:
            asked["gen_ai.request.model"] = self._model
        self._agent = self._start(f"invoke_agent {self._agent_name}", self._iteration, asked, SpanKind.CLIENT)

    def _end_agent(self, event: AgentEnded) -> None:
        self._end_tools()
        if self._agent is None:
            return
        usage = event.usage
        facts: dict[str, AttributeValue] = {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
            "ralph.outcome": event.outcome,
            "ralph.tools": event.tools,
            "ralph.tool_errors": event.errors,
            "process.exit.code": event.exit_code,
        }
        self._finish(self._agent, facts, event.cost_usd, "" if event.outcome == "finished" else event.outcome)
        self._capture(self._agent, "ralph.detail", event.detail)
        self._agent.end(self._now)
        self._agent = None

    def _end_iteration(self) -> None:
        self._end_tools()
        for span in filter(None, (self._check, self._agent, self._iteration)):
            span.end(self._now)
        self._check = self._agent = self._iteration = None

    # -- tools and checks -----------------------------------------------------------------------
    def _begin_tool(self, event: ToolStarted) -> None:
        name = self._show(event.name)
        facts: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": self._show(event.id),
        }
        span = self._start(f"execute_tool {name}", self._agent or self._iteration, facts)
        if span is not None:
            self._capture(span, "gen_ai.tool.call.arguments", event.summary)
            self._tools[event.id] = span

    def _end_tool(self, event: ToolEnded) -> None:
        span = self._tools.pop(event.id, None)
        if span is None:
            return
        self._finish(span, {"ralph.output_chars": event.chars}, None, "tool_error" if event.error is not None else "")
        self._capture(span, "gen_ai.tool.call.result", event.error or event.output)
        span.end(self._now)

    def _end_tools(self) -> None:
        for span in self._tools.values():
            span.end(self._now)
        self._tools.clear()

    def _begin_check(self, event: GateStarted) -> None:
        facts: dict[str, AttributeValue] = {"ralph.command": self._show(event.command)} if event.command else {}
        self._check = self._start(f"check {self._show(event.gate)}", self._iteration or self._run, facts)

    def _end_check(self, event: GateEnded) -> None:
        if self._check is None:
            return
        facts: dict[str, AttributeValue] = {"ralph.check": self._show(event.gate), "ralph.passed": event.passed}
        if event.exit_code is not None:
            facts["process.exit.code"] = event.exit_code
        self._finish(self._check, facts, None, "" if event.passed else "check_failed")
        self._capture(self._check, "ralph.detail", event.detail or event.tail)
        self._check.end(self._now)
        self._check = None

    # -- spans ----------------------------------------------------------------------------------
    def _start(
        self,
        name: str,
        parent: Span | None,
        facts: dict[str, AttributeValue] | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span | None:
        if self._tracer is None:
            return None
        context: Context | None = self._tracer.context if parent is None else set_span_in_context(parent)
        return self._tracer.tracer.start_span(
            name, context=context or Context(), kind=kind, attributes=facts, start_time=self._now
        )

    def _finish(self, span: Span, facts: dict[str, AttributeValue], cost_usd: float | None, error: str) -> None:
        if cost_usd is not None:
            facts["ralph.cost_usd"] = cost_usd  # there is no convention for it
        if error:
            facts["error.type"] = error
            span.set_status(Status(StatusCode.ERROR))
        span.set_attributes(facts)

    def _capture(self, span: Span, name: str, text: str) -> None:
        if self._captures_content and text:
            span.set_attribute(name, redact(text))

    def _show(self, text: str) -> str:
        return one_line(redact(text), MAX_ATTRIBUTE_CELLS)


def find_provider(agent: str) -> str:
    """As its card says; else it is called like the agent."""
    return registry.load_agent_card(registry.resolve_adapter(agent)).provider or agent
