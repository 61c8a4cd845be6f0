"""A stand-in for an OpenTelemetry collector: remembers what it was sent."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import SERVICE_NAME


@dataclass
class Receiver:
    """What came, as it came."""

    traces: list[ExportTraceServiceRequest] = field(default_factory=list[ExportTraceServiceRequest])
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list[ExportMetricsServiceRequest])
    logs: list[ExportLogsServiceRequest] = field(default_factory=list[ExportLogsServiceRequest])

    def app(self) -> FastAPI:
        """Takes OTLP over HTTP."""
        app = FastAPI()

        @app.post("/v1/{kind}")
        async def take(kind: str, request: Request) -> Response:
            body = await request.body()
            body = gzip.decompress(body) if request.headers.get("content-encoding") == "gzip" else body
            if kind == "traces":
                self.traces.append(ExportTraceServiceRequest.FromString(body))
            elif kind == "metrics":
                self.metrics.append(ExportMetricsServiceRequest.FromString(body))
            else:
                self.logs.append(ExportLogsServiceRequest.FromString(body))
            return Response(media_type="application/x-protobuf")

        _ = take
        return app

    @property
    def everything(self) -> str:
        """All of it as text."""
        return "".join(map(str, (*self.traces, *self.metrics, *self.logs)))

    def spans(self) -> Iterator[tuple[str, Span]]:
        """Every span, with the service that made it."""
        for resource in (each for sent in self.traces for each in sent.resource_spans):
            service = next(each.value.string_value for each in resource.resource.attributes if each.key == SERVICE_NAME)
            yield from ((service, span) for scope in resource.scope_spans for span in scope.spans)

    def names(self) -> dict[str, dict[str, set[str]]]:
        """Names of spans by service and trace."""
        found: dict[str, dict[str, set[str]]] = {}
        for service, span in self.spans():
            found.setdefault(service, {}).setdefault(span.trace_id.hex(), set()).add(span.name)
        return found

    def lines(self) -> Iterator[LogRecord]:
        """Every line of a log."""
        for sent in self.logs:
            yield from (line for r in sent.resource_logs for s in r.scope_logs for line in s.log_records)

    def measured(self) -> set[str]:
        """Names of metrics."""
        return {
            metric.name
            for sent in self.metrics
            for r in sent.resource_metrics
            for s in r.scope_metrics
            for metric in s.metrics
        }

    def counted(self, name: str) -> list[dict[str, str]]:
        """Attributes of each point of a metric, as it was told last."""
        told: list[dict[str, str]] = []
        for sent in self.metrics:
            for metric in (m for r in sent.resource_metrics for s in r.scope_metrics for m in s.metrics):
                if metric.name == name:
                    points = (*metric.sum.data_points, *metric.histogram.data_points)
                    told = [{each.key: each.value.string_value for each in point.attributes} for point in points]
        return told


def attributes(span: Span) -> dict[str, str]:
    """The texts among a span's attributes."""
    return {each.key: each.value.string_value for each in span.attributes if each.value.string_value}


def told(span: Span, attribute: str) -> Any:
    """What an attribute that holds JSON says; None where it is not there."""
    text = attributes(span).get(attribute)
    return None if text is None else json.loads(text)
