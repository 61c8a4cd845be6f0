"""Traces leave for the collector, and only where one is configured."""

import asyncio

from fastapi import FastAPI, Request

from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.telemetry import Telemetry, current_trace_id, current_traceparent, parent_of, tool_span
from tests.gateway.conftest import Serve


async def test_spans_are_sent_to_the_collector(serve: Serve) -> None:
    received: list[bytes] = []

    async def take(request: Request) -> dict[str, str]:
        received.append(await request.body())
        return {}

    collector = FastAPI()
    collector.post("/v1/traces")(take)
    async with serve(collector) as url:
        telemetry = Telemetry(url)
        with tool_span(telemetry.tracer, Meter(), "ep_1") as span:
            span.ended(Observation(status=CallStatus.OK, content="said"))
        await asyncio.to_thread(telemetry.close)
    assert b"execute_tool unknown" in b"".join(received)
    assert b"said" not in b"".join(received)
    assert b"ep_1" in b"".join(received)


def test_without_a_collector_traces_still_pass_through() -> None:
    telemetry = Telemetry()
    trace = "0af7651916cd43dd8448eb211c80319c"
    parent = parent_of({"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    with telemetry.tracer.start_as_current_span("x", context=parent):
        assert current_trace_id() == trace
        assert trace in str(current_traceparent())
    assert current_trace_id() is None
    assert current_traceparent() is None
    telemetry.close()


def test_a_broken_traceparent_begins_a_new_trace() -> None:
    telemetry = Telemetry()
    with telemetry.tracer.start_as_current_span("x", context=parent_of({"traceparent": "00-zz-zz-zz"})):
        assert current_trace_id() is not None
    telemetry.close()
