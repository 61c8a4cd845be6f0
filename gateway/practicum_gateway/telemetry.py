"""Traces, metrics and logs: OpenTelemetry with the GenAI conventions, and no word of content that nobody asked for."""

import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
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

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Episode, EpisodeResult, EpisodeStatus
from practicum.contracts.tools import CallStatus, Observation, Tool
from practicum_gateway.content import Content
from practicum_gateway.metrics.instruments import Family
from practicum_gateway.metrics.meter import UNKNOWN, Meter
from practicum_gateway.metrics.process import ProcessMeter
from practicum_gateway.metrics.requests import RequestMeter
from practicum_gateway.passing import Passing

if TYPE_CHECKING:
    from practicum_gateway.collector import Collector

_W3C = TraceContextTextMapPropagator()
_REPEATED, _OVER_BUDGET, _BROKEN_OFF = "repeated", "over_budget", "broken_off"
_NANO = 1_000_000_000
_FAILED = frozenset({CallStatus.ERROR, CallStatus.UNAVAILABLE, CallStatus.IN_DOUBT})


class Telemetry:
    """What this process tells of itself. Without an endpoint spans are made, so that traces pass through, and not kept.

    Attributes:
        tracer: makes spans.
        requests: counts requests.
        process: measures the process.
    """

    tracer: Tracer

    def __init__(self, endpoint: str | None = None, *, processor: SpanProcessor | None = None) -> None:
        """Prepare the tracer, and what sends to a collector.

        Args:
            endpoint: base URL of an OTLP/HTTP collector.
            processor: takes the spans as well, whatever the endpoint.
        """
        self._resource = Resource.create({SERVICE_NAME: "practicum-gateway", SERVICE_VERSION: version("practicum")})
        self._provider = TracerProvider(resource=self._resource, shutdown_on_exit=False)
        self._collector = None if endpoint is None else _collector(endpoint, self._resource, self._provider)
        if processor is not None:
            self._provider.add_span_processor(processor)
        taken = endpoint is not None or processor is not None
        self.tracer = self._provider.get_tracer("practicum_gateway") if taken else Passing()
        self.requests = RequestMeter()
        self.process = ProcessMeter()
        self._last: tuple[Family, ...] = ()

    @property
    def is_collected(self) -> bool:
        """Whether a collector wants to hear of it."""
        return self._collector is not None

    def send(self, families: Iterable[Family]) -> None:
        """Send metrics to the collector; blocks for as long as that takes."""
        if self._collector is not None:
            self._collector.send(families, self.process.started)

    def keep(self, families: Iterable[Family]) -> None:
        """Keep metrics to be sent when all else is closed."""
        self._last = tuple(families)

    def close(self) -> None:
        """Send what is left and stop; blocks for as long as the collector takes, a few seconds at most."""
        if self._collector is not None:
            self._collector.send(self._last, self.process.started)
            self._collector.close()
        self._provider.shutdown()


def _collector(endpoint: str, resource: Resource, spans: TracerProvider) -> "Collector":
    from practicum_gateway.collector import Collector  # many gateways have none, and it takes a while to load

    return Collector(endpoint, resource, spans)


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


def agent_ended(tracer: Tracer, meter: Meter, episode: Episode, result: EpisodeResult, domain: str) -> None:
    """The span `invoke_agent` of an episode, from its begin to now, and what is counted of it.

    It is made at the end, in the trace of whoever says that it ended: an episode outlives the process that began it.

    Args:
        tracer: makes the span.
        meter: counts it.
        episode: the episode.
        result: how it ended.
        domain: what it was about.
    """
    error = "" if result.status is EpisodeStatus.COMPLETED else result.status.value
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": episode.id,
        "gen_ai.request.model": episode.model,
        "gen_ai.usage.input_tokens": result.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": result.usage.completion_tokens,
        "practicum.episode.status": result.status.value,
        "practicum.episode.cause": result.cause.value,
        "practicum.episode.steps": result.steps,
    }
    began = int(episode.created.timestamp() * _NANO)
    span = tracer.start_span("invoke_agent", kind=SpanKind.INTERNAL, attributes=attributes, start_time=began)
    if error:
        span.set_attribute("error.type", error)
        span.set_status(StatusCode.ERROR)
    span.end()
    seconds = max(0.0, time.time() - episode.created.timestamp())
    meter.agent_seconds.observe(seconds, meter.model(episode.model), domain, error)
    meter.episodes.add(result.status, result.cause, domain)


class ToolSpan:
    """The span of one tool call, and what is counted of it."""

    def __init__(self, span: Span, meter: Meter, content: Content | None) -> None:
        """Wrap a span, and begin to measure."""
        self._span = span
        self._content = content
        self._meter = meter
        self._began = time.perf_counter()
        self._upstream: float | None = None
        self._tool = self._connector = self._effect = UNKNOWN
        self._error = _BROKEN_OFF
        self._outcome: str | None = None

    def found(self, tool: Tool | None, *, repeated: bool) -> None:
        """Say which tool is called, if there is one, and whether its outcome is known already."""
        if tool is not None:
            self._span.update_name(f"execute_tool {tool.name}")
            self._span.set_attribute("gen_ai.tool.name", tool.name)
            self._tool = self._meter.tool(tool.name)
            self._connector, self._effect = self._meter.connector(tool.connector), tool.effect
        self._outcome = _REPEATED if repeated else None

    def called(self, arguments: JsonObject) -> None:
        """Say with what it is called, the credentials being taken out, where that may be told."""
        if self._content is not None:
            self._content.called(self._span, arguments)

    def over_budget(self) -> None:
        """Say that a budget has no room for it."""
        self._outcome = _OVER_BUDGET

    def sent(self, seconds: float, tries: int) -> None:
        """Say that the system was asked.

        Args:
            seconds: what it took, all tries.
            tries: how many there were.
        """
        self._upstream = seconds
        if tries > 1:
            self._meter.retries.add(self._connector, by=tries - 1)

    def ended(self, observation: Observation) -> None:
        """Say how the call ended."""
        status = observation.status
        if self._content is not None:
            self._content.observed(self._span, observation.content)
        self._outcome = self._outcome or status.value
        self._span.set_attribute("practicum.call.status", status.value)
        self._error = status.value if status in _FAILED else ""
        if status in _FAILED:
            self._span.set_attribute("error.type", status.value)
            self._span.set_status(StatusCode.ERROR)

    def close(self) -> None:
        """Count it; a call of which nobody said how it ended was broken off, or was nobody's to make."""
        if self._error == _BROKEN_OFF:
            self._span.set_attribute("error.type", _BROKEN_OFF)
            self._span.set_status(StatusCode.ERROR)
        whole = time.perf_counter() - self._began
        self._meter.tool_seconds.observe(whole, self._tool, self._error)
        self._meter.calls.add(self._connector, self._effect, self._outcome or _BROKEN_OFF)
        self._meter.gateway_seconds.observe(max(0.0, whole - (self._upstream or 0.0)), self._effect)
        if self._upstream is not None:
            self._meter.upstream_seconds.observe(self._upstream, self._connector)


@contextmanager
def tool_span(tracer: Tracer, meter: Meter, episode: str | None, content: Content | None = None) -> Generator[ToolSpan]:
    """The span `execute_tool NAME` around a call, which has a name once its tool is found: others were made up.

    Args:
        tracer: makes the span.
        meter: counts the call.
        episode: the episode it belongs to.
        content: puts arguments and result on it; without, only names and the status are there.
    """
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": UNKNOWN, "gen_ai.tool.type": "extension"}
    if episode is not None:
        attributes["gen_ai.conversation.id"] = episode
    # An exception's text may quote what was handled: it is not written into the span.
    with tracer.start_as_current_span(
        f"execute_tool {UNKNOWN}",
        kind=SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        measured = ToolSpan(span, meter, content)
        try:
            yield measured
        finally:
            measured.close()
