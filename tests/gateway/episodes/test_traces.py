"""Traces follow the GenAI conventions and hold no word of what was said."""

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from practicum.testing import fail, say
from tests.gateway.episodes.world import SYSTEM, World


async def test_a_model_call_is_a_span_of_the_callers_trace(world: World, spans: InMemorySpanExporter) -> None:
    world.model.extend(fail(503, "overloaded sk-of-the-provider-0123456789"), say("A secret answer."))
    episode = await world.start("A secret task.", sampling={"temperature": 0.5, "max_tokens": 9})
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    path = f"/v1/episodes/{episode.id}/turns"
    for attempt in (1, 2):
        await world.admin.post(path, json={"step": 0, "attempt": attempt}, headers=headers)
    failed, answered = [span for span in spans.get_finished_spans() if span.name == "chat scripted"]
    for span in (failed, answered):
        assert span.context is not None
        assert format(span.context.trace_id, "032x") == trace
        assert span.parent is not None
    attributes = dict(answered.attributes or {})
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.conversation.id": episode.id,
        "gen_ai.request.model": "scripted",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.model": "openai/scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    assert failed.status.status_code is StatusCode.ERROR
    assert dict(failed.attributes or {})["error.type"] == "model_provider"
    everything = "".join(span.to_json() for span in spans.get_finished_spans())
    for word in ("A secret", SYSTEM, "sk-of-the-provider", "overloaded"):
        assert word not in everything
