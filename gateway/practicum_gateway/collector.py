"""What a collector is sent (OTLP over HTTP). Loaded only where one is named."""

import logging
from collections.abc import Iterable

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from practicum_gateway.metrics.instruments import Family
from practicum_gateway.metrics.otlp import as_metrics

_LOG = logging.getLogger("practicum_gateway")
_SECONDS = 2.0
"""How long a collector may take, all tries: one that is away must not keep a gateway from ending."""
_SEVERITIES = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}


class Collector:
    """Sends spans, metrics and the gateway's own log to a collector."""

    def __init__(self, endpoint: str, resource: Resource, spans: TracerProvider) -> None:
        """Begin to send.

        Args:
            endpoint: base URL of an OTLP/HTTP collector.
            resource: which process tells it.
            spans: makes the spans.
        """
        self._resource = resource
        base = endpoint.removesuffix("/v1/traces").rstrip("/")
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces", timeout=_SECONDS)))
        self._metrics = OTLPMetricExporter(f"{base}/v1/metrics", timeout=_SECONDS)
        self._logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPLogExporter(f"{base}/v1/logs", timeout=_SECONDS)
        self._logs.add_log_record_processor(BatchLogRecordProcessor(exporter))
        self._handler = _LogHandler(self._logs.get_logger("practicum_gateway"))
        _LOG.addHandler(self._handler)

    def send(self, families: Iterable[Family], started: float) -> None:
        """Send metrics; blocks for as long as that takes.

        Args:
            families: what is told.
            started: since when they count, seconds since 1970.
        """
        metrics = as_metrics(families, self._resource, started)
        self._metrics.export(metrics)  # pyright: ignore[reportUnknownMemberType]  # a signature of theirs

    def close(self) -> None:
        """Send what is left and stop."""
        _LOG.removeHandler(self._handler)
        self._logs.shutdown()
        self._metrics.shutdown()  # pyright: ignore[reportUnknownMemberType]  # likewise


class _LogHandler(logging.Handler):
    """Passes lines of the log on as they are written: without stack traces, which may quote what was handled."""

    def __init__(self, target: Logger) -> None:
        super().__init__()
        self._target = target

    def emit(self, record: logging.LogRecord) -> None:
        severity = _SEVERITIES.get(record.levelno, SeverityNumber.UNSPECIFIED)
        self._target.emit(
            LogRecord(
                timestamp=int(record.created * 1_000_000_000),
                severity_number=severity,
                severity_text=record.levelname,
                body=record.getMessage(),
            )
        )
