"""The same families in OpenTelemetry's form, for a collector."""

import time
from collections.abc import Iterable
from typing import Any

from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from practicum_gateway.metrics.instruments import At, Family, Kind, Measured

_GROWING = export.AggregationTemporality.CUMULATIVE
_NANO = 1_000_000_000
_UNTOLD: Any = None


def as_metrics(families: Iterable[Family], resource: Resource, started: float) -> export.MetricsData:
    """Families as a collector takes them.

    Args:
        families: what is told.
        resource: which process tells it.
        started: since when it counts, seconds since 1970.
    """
    span = int(started * _NANO), time.time_ns()
    metrics = [_metric(family, *span) for family in families]
    scope = export.ScopeMetrics(InstrumentationScope("practicum_gateway"), metrics, "")
    return export.MetricsData([export.ResourceMetrics(resource, [scope], "")])


def _metric(family: Family, since: int, now: int) -> export.Metric:
    return export.Metric(family.name, family.help, family.unit, _data(family, since, now))


def _data(family: Family, since: int, now: int) -> export.Sum | export.Gauge | export.Histogram:
    if family.kind is Kind.HISTOGRAM:
        points = [_measured(family, at, measured, since, now) for at, measured in family.measured.items()]
        return export.Histogram(points, _GROWING)
    numbers = [
        export.NumberDataPoint(_attributes(family, at), since, now, value) for at, value in family.points.items()
    ]
    if family.kind is Kind.GAUGE:
        return export.Gauge(numbers)
    return export.Sum(numbers, _GROWING, is_monotonic=True)


def _measured(family: Family, at: At, measured: Measured, since: int, now: int) -> export.HistogramDataPoint:
    return export.HistogramDataPoint(
        attributes=_attributes(family, at),
        start_time_unix_nano=since,
        time_unix_nano=now,
        count=sum(measured.counts),
        sum=measured.total,
        bucket_counts=measured.counts,
        explicit_bounds=family.bounds,
        min=_UNTOLD,
        max=_UNTOLD,
    )


def _attributes(family: Family, at: At) -> dict[str, str]:
    return {name: value for name, value in zip(family.attributes, at, strict=True) if value}
