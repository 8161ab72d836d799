"""Spans of runs for an OpenTelemetry collector. Imported only where one is named: the SDK takes a while to load."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from ralph._version import VERSION
from ralph.app.run_spans import RunSpans
from ralph.core.reporting.trace_context import (
    ENDPOINT_VARIABLES,
    TRACE_VARIABLE,
    TraceContext,
    derive_run_context,
    parse_traceparent,
)
from ralph.core.text.quantities import pluralize
from ralph.core.text.secrets import redact
from ralph.model.ports import Watcher

FLUSH_SECONDS = 3.0  # how long the end of a run waits for a collector
EXPORT_SECONDS = 3.0  # for one request, its repetitions included
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SERVICE_NAME = "ralph"


class Telemetry:
    """One connection to a collector, for all runs of this process. Nothing here waits, but for `close`."""

    def __init__(
        self, variables: Mapping[str, str], warn: Callable[[str], object], *, flush_seconds: float = FLUSH_SECONDS
    ) -> None:
        _silence_sdk()
        self._flush_seconds = flush_seconds
        self._variables, self._warn = variables, warn
        self._address = next(variables[name] for name in ENDPOINT_VARIABLES if variables.get(name, "").strip())
        self._exporter = _CountingExporter(OTLPSpanExporter(endpoint=_find_endpoint(variables), timeout=EXPORT_SECONDS))
        self._processor = BatchSpanProcessor(self._exporter)
        self._resource = Resource.create(_describe_service(variables))
        self._spans: list[RunSpans] = []

    def watch_run(self, kind: str, *, task: str = "", model: str = "") -> Watcher:
        """A watcher of one run, whose events become spans."""
        captures = self._variables.get(CONTENT_VARIABLE, "").strip().lower() == "true"
        spans = RunSpans(self._make_tracer, kind=kind, task=task, model=model, captures_content=captures)
        self._spans.append(spans)
        return spans

    def close(self) -> None:
        """Send what there is, for a few seconds at most; say once what could not be sent."""
        for spans in self._spans:
            spans.close()
        sending = threading.Thread(target=self._processor.shutdown, name="otel-flush", daemon=True)
        sending.start()
        sending.join(self._flush_seconds)
        if sending.is_alive():
            self._warn(f"otel: the collector at {redact(self._address)} could not be reached in time; spans are lost")
        elif lost := self._exporter.failed:
            self._warn(f"otel: {pluralize(lost, 'span')} could not be sent to {redact(self._address)}")

    def _make_tracer(self, run: str, resumed: bool) -> "RunTracer":
        outer = parse_traceparent(self._variables.get(TRACE_VARIABLE, ""))
        own = derive_run_context(run, outer)
        # A later life of a run is a span below the first one's: that id is taken.
        parent = own if resumed else outer
        return RunTracer(self._processor, self._resource, own=None if resumed else own, parent=parent)


class RunTracer:
    """Gives the first span the ids that children were told in TRACEPARENT, and all others random ones."""

    def __init__(
        self, processor: SpanProcessor, resource: Resource, *, own: TraceContext | None, parent: TraceContext | None
    ) -> None:
        provider = TracerProvider(resource=resource, id_generator=_RunIds(own), shutdown_on_exit=False)
        provider.add_span_processor(processor)
        self.tracer: Tracer = provider.get_tracer("ralph", VERSION)
        self.context = None if parent is None else set_span_in_context(NonRecordingSpan(_locate_span(parent)))


class _RunIds(RandomIdGenerator):
    def __init__(self, first: TraceContext | None) -> None:
        self._span_ids = [] if first is None else [int(first.span_id, 16)]
        self._trace_ids = [] if first is None else [int(first.trace_id, 16)]

    def generate_span_id(self) -> int:
        return self._span_ids.pop() if self._span_ids else super().generate_span_id()

    def generate_trace_id(self) -> int:
        return self._trace_ids.pop() if self._trace_ids else super().generate_trace_id()


class _CountingExporter(SpanExporter):
    """The same exporter, and how many spans it could not send."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001  # whatever is wrong with a collector, the run goes on
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS:
            self.failed += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _locate_span(context: TraceContext) -> SpanContext:
    return SpanContext(
        trace_id=int(context.trace_id, 16),
        span_id=int(context.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(context.flags, 16)),
    )


def _find_endpoint(variables: Mapping[str, str]) -> str:
    """The one for spans as it stands; of the one for all signals, the path of spans."""
    if own := variables.get(ENDPOINT_VARIABLES[0], "").strip():
        return own
    return f"{variables[ENDPOINT_VARIABLES[1]].strip().rstrip('/')}/v1/traces"


def _describe_service(variables: Mapping[str, str]) -> dict[str, str]:
    """Unless the user names it otherwise."""
    named = variables.get("OTEL_SERVICE_NAME") or "service.name=" in variables.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {"service.version": VERSION} if named else {"service.name": SERVICE_NAME, "service.version": VERSION}


def _silence_sdk() -> None:
    """It would print each failure to the middle of the screen; what matters is said at the end."""
    logger = logging.getLogger("opentelemetry")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
