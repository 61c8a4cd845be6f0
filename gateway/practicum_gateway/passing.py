"""Spans that nobody takes: they carry a trace on to the next system, are kept nowhere, and cost next to nothing."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    TraceFlags,
    Tracer,
    get_current_span,
    set_span_in_context,
)


class Passing(Tracer):
    """Makes them."""

    def __init__(self) -> None:
        """Begin."""
        self._ids = RandomIdGenerator()

    def start_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> Span:
        """A span of the context's trace, or the first of a new one."""
        del name
        parent = get_current_span(context).get_span_context()
        if parent.is_valid:
            trace, flags = parent.trace_id, parent.trace_flags
        else:
            trace, flags = self._ids.generate_trace_id(), TraceFlags(TraceFlags.SAMPLED)
        span = SpanContext(trace, self._ids.generate_span_id(), False, flags, parent.trace_state)
        return NonRecordingSpan(span)

    @contextmanager
    def start_as_current_span(  # pyright: ignore[reportIncompatibleMethodOverride]  # theirs can be awaited, too
        self, name: str, context: Context | None = None, *_: Any, **__: Any
    ) -> Generator[Span]:
        """The same for as long as the block lasts."""
        span = self.start_span(name, context)
        token = attach(set_span_in_context(span, context))
        try:
            yield span
        finally:
            detach(token)
