"""Traces: OpenTelemetry with the GenAI conventions, never a word of content."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    format_span_id,
    format_trace_id,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from practicum.contracts.tools import CallStatus
from practicum_gateway.passing import Passing

_W3C = TraceContextTextMapPropagator()
_TRACES_PATH = "/v1/traces"
_FAILED = frozenset({CallStatus.ERROR, CallStatus.UNAVAILABLE, CallStatus.IN_DOUBT})


class Telemetry:
    """The tracer of this process. Without an endpoint spans are made, so that traces pass through, and not kept.

    Attributes:
        tracer: makes spans.
    """

    tracer: Tracer

    def __init__(self, endpoint: str | None = None, *, processor: SpanProcessor | None = None) -> None:
        """Prepare the tracer.

        Args:
            endpoint: base URL of an OTLP/HTTP collector.
            processor: takes the spans as well, whatever the endpoint.
        """
        self._provider = TracerProvider(
            resource=Resource.create({SERVICE_NAME: "practicum-gateway"}), shutdown_on_exit=False
        )
        if endpoint is not None:
            url = endpoint if endpoint.endswith(_TRACES_PATH) else endpoint.rstrip("/") + _TRACES_PATH
            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        if processor is not None:
            self._provider.add_span_processor(processor)
        taken = endpoint is not None or processor is not None
        self.tracer = self._provider.get_tracer("practicum_gateway") if taken else Passing()

    def close(self) -> None:
        """Send what is left and stop; blocks for as long as the collector takes."""
        self._provider.shutdown()


def parent_of(headers: Mapping[str, str]) -> Context:
    """The trace that a request belongs to, by its W3C headers (names in lower case)."""
    return _W3C.extract(headers) if "traceparent" in headers else Context()


def current_traceparent() -> str | None:
    """The present span as a `traceparent` header, for the next system in line."""
    span = get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{format_trace_id(span.trace_id)}-{format_span_id(span.span_id)}-{span.trace_flags:02x}"


def current_trace_id() -> str | None:
    """The present trace, by which an operator finds what happened."""
    context = get_current_span().get_span_context()
    return format_trace_id(context.trace_id) if context.is_valid else None


class ToolSpan:
    """The span of one tool call."""

    def __init__(self, span: Span) -> None:
        """Wrap a span."""
        self._span = span

    def ended(self, status: CallStatus) -> None:
        """Say how the call ended."""
        self._span.set_attribute("practicum.call.status", status.value)
        if status in _FAILED:
            self._span.set_attribute("error.type", status.value)
            self._span.set_status(StatusCode.ERROR)


@contextmanager
def tool_span(tracer: Tracer, tool: str, episode: str | None) -> Generator[ToolSpan]:
    """The span `execute_tool NAME` around a call; names and status only, no arguments and no result.

    Args:
        tracer: makes the span.
        tool: exposed name of the tool.
        episode: the episode it belongs to.
    """
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.type": "extension"}
    if episode is not None:
        attributes["gen_ai.conversation.id"] = episode
    # An exception's text may quote what was handled: it is not written into the span.
    with tracer.start_as_current_span(
        f"execute_tool {tool}", kind=SpanKind.INTERNAL, attributes=attributes, record_exception=False
    ) as span:
        yield ToolSpan(span)
