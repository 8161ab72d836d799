"""Which trace a run belongs to."""

import pytest

from ralph.core.reporting.trace_context import (
    build_trace_variables,
    derive_run_context,
    is_tracing_wanted,
    parse_traceparent,
)

OUTER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, False),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_spans_are_wanted_where_a_collector_is_named(variables: dict[str, str], wanted: bool) -> None:
    assert is_tracing_wanted(variables) == wanted
    assert bool(build_trace_variables("r1", variables)) == wanted


@pytest.mark.parametrize("text", ["", "x", OUTER[:-1], OUTER.replace("00-", "01-"), f"00-{'0' * 32}-{'1' * 16}-01"])
def test_what_is_no_trace_is_none(text: str) -> None:
    assert parse_traceparent(text) is None


def test_a_run_has_a_trace_of_its_own_or_the_one_around_it() -> None:
    own = derive_run_context("r1", None)
    assert parse_traceparent(own.format()) == own
    assert derive_run_context("r1", None) == own
    assert derive_run_context("r2", None) != own
    inner = parse_traceparent(build_trace_variables("r1", {**ENDPOINT, "TRACEPARENT": OUTER})["TRACEPARENT"])
    assert inner is not None
    assert (inner.trace_id, inner.span_id) == (OUTER[3:35], own.span_id)
