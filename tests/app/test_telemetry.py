"""Spans of a run, as a real collector on this machine gets them."""

import time
from collections.abc import Iterator

import pytest

from ralph.app.telemetry import Telemetry
from ralph.core.reporting.trace_context import derive_run_context
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
    Usage,
    Waiting,
)
from support.collector import SpanCollector, collect_spans, read_attributes, refuse_to_answer

SECRET = "sk-ant-api03-" + "a" * 40
USAGE = Usage(input_tokens=100, output_tokens=7, cache_read_tokens=60)
EVENTS: list[Event] = [
    RunStarted(run="r1", agent="/usr/bin/claude", limit=3),
    IterationStarted(1, 3, "coder T-1"),
    ToolStarted(id="t1", name="Bash", summary="echo the prompt"),
    ToolEnded(id="t1", error="no such file: the output"),
    ToolStarted(id="t2", name="Edit"),
    AgentEnded(iteration=1, outcome="finished", detail="", seconds=2, cost_usd=0.25, usage=USAGE, tools=2, errors=1),
    GateStarted(f"make test KEY={SECRET}"),
    GateEnded(gate=f"make test KEY={SECRET}", passed=False, exit_code=2, seconds=1, tail="the output"),
    Waiting(5.0, "why"),
    IterationStarted(2, 3),
    AgentEnded(iteration=2, outcome="crashed", detail="the output", seconds=1),
    RunEnded(run="r1", outcome="exhausted", why="the output", exit_code=1, iterations=2, seconds=9, cost_usd=0.25),
]


@pytest.fixture
def collector() -> Iterator[SpanCollector]:
    with collect_spans() as made:
        yield made


def play(address: str, warnings: list[str], events: list[Event], **more: str) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, **more}
    telemetry = Telemetry(variables, warnings.append, flush_seconds=0.5)
    watch = telemetry.watch_run("execute", task="T-1", model="opus")
    for number, event in enumerate(events):
        watch(1000.0 + number, 1, [event])
    telemetry.close()


def test_a_run_is_a_tree_of_spans_by_the_conventions(collector: SpanCollector) -> None:
    warnings: list[str] = []
    play(collector.address, warnings, EVENTS)
    assert warnings == []
    (run,), (first,), (second,) = (collector.find(name) for name in ("ralph execute", "iteration 1", "iteration 2"))
    agent, crashed = sorted(collector.find("invoke_agent claude"), key=lambda span: span.start_time_unix_nano)
    (bash,), (edit,), (check,) = (
        collector.find(name) for name in ("execute_tool Bash", "execute_tool Edit", "check make test KEY=***")
    )
    own = derive_run_context("r1", None)
    assert (run.trace_id.hex(), run.span_id.hex(), run.parent_span_id) == (own.trace_id, own.span_id, b"")
    assert first.parent_span_id == second.parent_span_id == run.span_id
    assert agent.parent_span_id == check.parent_span_id == first.span_id
    assert bash.parent_span_id == edit.parent_span_id == agent.span_id
    assert {span.trace_id for span in collector.spans} == {run.trace_id}
    told = read_attributes(agent)
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert (told["gen_ai.provider.name"], told["gen_ai.request.model"]) == ("anthropic", "opus")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (100, 7)
    assert (told["gen_ai.usage.cache_read.input_tokens"], told["ralph.cost_usd"]) == (60, 0.25)
    assert read_attributes(crashed)["error.type"] == "crashed"
    assert read_attributes(bash)["gen_ai.tool.call.id"] == "t1"
    assert read_attributes(bash)["error.type"] == "tool_error"
    assert (read_attributes(check)["ralph.passed"], read_attributes(check)["process.exit.code"]) == (False, 2)
    assert (read_attributes(run)["ralph.outcome"], read_attributes(run)["ralph.task"]) == ("exhausted", "T-1")
    assert (run.start_time_unix_nano, run.end_time_unix_nano) == (1000 * 10**9, 1011 * 10**9)
    assert run.events[0].name == "waiting"
    assert collector.resource["service.name"] == "ralph"


def test_prompts_and_output_stay_here_unless_somebody_wants_them(collector: SpanCollector) -> None:
    play(collector.address, [], EVENTS)
    sent = str(collector.spans)
    assert "the output" not in sent
    assert "the prompt" not in sent
    assert SECRET not in sent
    collector.spans.clear()
    play(collector.address, [], EVENTS, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")
    assert "the output" in str(collector.spans)
    assert "the prompt" in str(collector.spans)
    assert SECRET not in str(collector.spans)


def test_a_resumed_run_and_one_inside_a_trace_hang_below_it(collector: SpanCollector) -> None:
    outer = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    play(
        collector.address,
        [],
        [*EVENTS[:1], RunStarted(run="r1", agent="codex", limit=3, resumed=True)],
        TRACEPARENT=outer,
    )
    first, again = collector.spans
    assert {first.trace_id.hex(), again.trace_id.hex()} == {outer[3:35]}
    assert first.parent_span_id.hex() == outer[36:52]
    assert again.parent_span_id == first.span_id
    assert again.span_id != first.span_id


def test_a_collector_that_is_down_or_silent_costs_a_moment_and_a_word() -> None:
    warnings: list[str] = []
    with refuse_to_answer() as silent:
        for address in ("http://127.0.0.1:9", silent):
            began = time.monotonic()
            play(address, warnings, EVENTS)
            assert time.monotonic() - began < 2
    assert len(warnings) == 2
    assert warnings[1] == f"otel: the collector at {silent} could not be reached in time; spans are lost"
