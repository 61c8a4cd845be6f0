"""An episode, and an agent of one's own, on a model whose server completes text and knows of no tools."""

import json
from collections.abc import Generator
from typing import Any

import pytest

from practicum.codecs.registry import codec_named
from practicum.contracts.models import Link
from practicum.contracts.tools import CallStatus
from practicum.trajectories import replay
from tests.gateway.episodes.test_episode import ALLOW
from tests.gateway.episodes.world import World
from tests.gateway.local.texts import TextServer, text_server

THOUGHT = "<think>\nBoth orders.\n</think>\n\n"


def written(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.fixture
def server() -> Generator[TextServer]:
    with text_server() as made:
        yield made


async def registered(world: World, server: TextServer) -> None:
    spec = {"alias": "own", "provider": "completions", "target": "qwen", "base_url": server.url, "codec": "hermes"}
    answer = await world.admin.post("/v1/models", json=spec)
    assert (answer.status_code, answer.json()["advice"]) == (201, None)


@pytest.mark.parametrize("tokenises", [True, False])
async def test_a_model_calls_in_parallel_and_mends_what_it_wrote_wrongly(
    tokenises: bool, world: World, server: TextServer
) -> None:
    server.tokenises = tokenises
    await registered(world, server)
    await world.rules(ALLOW)
    broken = '<tool_call>\n{"name": "shop_get_order", "arguments": {"id": }\n</tool_call>'
    server.says = [
        (f"{THOUGHT}Let me see.\n{written('shop_get_order', id=8)}\n{broken}", "stop"),
        (written("shop_get_order", id=9), "stop"),
        ("Both are delivered.", "stop"),
    ]
    episode = await world.start(model="own")
    receipt = await world.turn(episode, 0)
    assert [(call.tool, call.malformed) for call in receipt.calls] == [
        ("shop_get_order", False),
        ("shop_get_order", True),
    ]
    assert [(await world.call(episode, 0, index)).status for index in (0, 1)] == [CallStatus.OK, CallStatus.ERROR]
    await world.turn(episode, 1)
    assert (await world.call(episode, 1)).status is CallStatus.OK
    await world.turn(episode, 2)
    await world.close(episode)
    record = await world.trajectory(episode)
    told = [message.content or "" for message in record.messages if message.role == "tool"]
    assert "could not be read" in told[1]
    assert "one JSON object that fits the schema of shop_get_order" in told[1]
    calls = record.model_calls
    assert [call.reasoning for call in calls] == ["Both orders.", None, None]
    assert {call.template_hash for call in calls} == {codec_named("hermes").template_hash}
    assert [call.by for call in calls] == [None, *([Link.TOKENS if tokenises else Link.MESSAGES] * 2)]
    assert [call.sent is not None and call.sent.codec for call in calls] == ["hermes"] * 3
    assert all((call.sampled is not None) == tokenises for call in calls)
    assert replay(record).same
    # The thought stays where it was sampled, and is shown to no prompt that is rendered anew.
    last = server.asked[-1]["prompt"]
    text = last if isinstance(last, str) else "".join(chr(token) for token in last if token < 0x110000)
    assert ("Both orders." in text) == tokenises


async def test_an_agent_of_its_own_is_answered_in_openais_form(world: World, server: TextServer) -> None:
    await registered(world, server)
    call = written("look", at="8")
    server.says = [(f"{THOUGHT}So.\n{call}", "stop"), (f"{THOUGHT}So.\n{call}", "stop")]
    look = {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}
    body: dict[str, Any] = {
        "model": "own",
        "messages": [{"role": "user", "content": "Look."}],
        "tools": [{"type": "function", "function": look}],
    }
    answer = (await world.post("/v1/chat/completions", body)).json()["choices"][0]
    (made,) = answer["message"]["tool_calls"]
    assert (answer["message"]["content"], answer["finish_reason"]) == ("So.", "tool_calls")
    assert (made["function"]["name"], json.loads(made["function"]["arguments"])) == ("look", {"at": "8"})
    async with world.admin.stream("POST", "/v1/chat/completions", json=body | {"stream": True}) as streamed:
        lines = [line.removeprefix("data: ") async for line in streamed.aiter_lines() if line.startswith("data: {")]
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines if json.loads(line)["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "So."
    assert [each["function"]["name"] for delta in deltas for each in delta.get("tool_calls", ())] == ["look"]
