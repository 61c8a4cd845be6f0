"""Traces pass through the worker: what it does for an episode belongs to the trace in which the episode was begun.

The gateway gives the trace along with the workflow, Temporal keeps it with each activity, and the SDK's client sends it
on. Spans hold names and ids; no prompt, no answer, no argument.
"""

from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from temporalio.contrib.opentelemetry import TracingInterceptor


class Tracing:
    """The tracer of a worker. Without an endpoint its spans are kept nowhere, and traces pass through all the same.

    Attributes:
        interceptor: takes traces from Temporal and gives them back.
    """

    def __init__(self, endpoint: str | None = None) -> None:
        """Prepare.

        Args:
            endpoint: base URL of an OTLP/HTTP collector.
        """
        resource = Resource.create({SERVICE_NAME: "practicum-worker", SERVICE_VERSION: version("practicum")})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        if endpoint is not None:
            exporter = OTLPSpanExporter(endpoint=f"{endpoint.removesuffix('/v1/traces').rstrip('/')}/v1/traces")
            self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self.interceptor = TracingInterceptor(self._provider.get_tracer("practicum_workflows"))

    def close(self) -> None:
        """Send what is left and stop; blocks for as long as the collector takes."""
        self._provider.shutdown()
