"""Which trace a run belongs to. Its ids follow from the run's name: who starts a child and who reports spans agree
without a word."""

import re
from collections.abc import Mapping

from msgspec import Struct

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
TRACE_VARIABLE = "TRACEPARENT"
_PATTERN = r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})"


class TraceContext(Struct, frozen=True):
    """A span, as W3C's Trace Context names it."""

    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16
    flags: str = "01"  # sampled

    def format(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


def is_tracing_wanted(variables: Mapping[str, str]) -> bool:
    """Whether a collector is named, and nobody has switched spans off."""
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if variables.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() == "none":
        return False
    return any(variables.get(name, "").strip() for name in ENDPOINT_VARIABLES)


def parse_traceparent(text: str) -> TraceContext | None:
    found = re.fullmatch(_PATTERN, text.strip())
    return TraceContext(found[1], found[2], found[3]) if found else None


def derive_run_context(run: str, outer: TraceContext | None) -> TraceContext:
    """The span of a run: in the trace around it, or in one of its own."""
    import hashlib  # 3 ms, which few runs need

    digest = hashlib.sha256(f"ralph run {run}".encode()).hexdigest()
    if outer is None:
        return TraceContext(digest[:32], digest[32:48])
    return TraceContext(outer.trace_id, digest[32:48], outer.flags)


def build_trace_variables(run: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What a run's agents and checks get, so that spans of their own hang below it; nothing where nobody traces."""
    if not is_tracing_wanted(variables):
        return {}
    outer = parse_traceparent(variables.get(TRACE_VARIABLE, ""))
    return {TRACE_VARIABLE: derive_run_context(run, outer).format()}
