"""OpenAI's Responses API: its own client works whole and streamed, and the record is that of chat completions."""

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Episode
from practicum.contracts.trajectory import Trajectory
from practicum.testing import Reply, ScriptedCall, fail, say
from tests.gateway.episodes.world import World
from tests.gateway.models.broken import broken_server

TOOL: Any = {
    "type": "function",
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object"},
    "strict": False,
}
SCHEMA: Any = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
LOOKS = Reply(
    content="Let me see.", tool_calls=(ScriptedCall("look", {"at": 1}, "c1"), ScriptedCall("look", {"at": 2}, "c2"))
)
RESULTS: list[Any] = [
    {"type": "function_call_output", "call_id": "c1", "output": "one"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
]


@pytest.fixture
async def episode(world: World) -> Episode:
    return await world.start("Look around.")


@pytest.fixture
async def client(world: World, episode: Episode) -> AsyncIterator[Any]:
    key = await world.episode_key(episode)
    async with openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=key, max_retries=0) as opened:
        yield opened


async def ask(client: Any, *, streamed: bool, **given: Any) -> Any:
    if not streamed:
        return await client.responses.create(model="scripted", **given)
    async with client.responses.stream(model="scripted", **given) as stream:
        kinds = [event.type async for event in stream]
        answer = await stream.get_final_response()
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    return answer


@pytest.mark.parametrize("streamed", [False, True])
async def test_openais_client_has_a_conversation(
    world: World, episode: Episode, client: Any, *, streamed: bool
) -> None:
    world.model.extend(LOOKS, say("All is well."))
    said: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
    ]
    given: dict[str, Any] = {"instructions": "You look.", "tools": [TOOL], "max_output_tokens": 9}
    first = await ask(client, streamed=streamed, input=said, **given)
    assert [item.type for item in first.output] == ["message", "function_call", "function_call"]
    assert (first.output_text, first.output[1].arguments, first.usage.total_tokens) == ("Let me see.", '{"at": 1}', 15)
    known = [item.model_dump(exclude_none=True) for item in first.output]
    for item in known:
        item.pop("parsed_arguments", None)
    second = await ask(client, streamed=streamed, input=[*said, *known, *RESULTS], **given)
    assert (second.output_text, second.status) == ("All is well.", "completed")
    await world.close(episode)
    trajectory = await world.trajectory(episode)
    assert [message.role for message in trajectory.messages] == [
        "system", "system", "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    one, two = trajectory.model_calls
    assert two.parent == one.id
    assert next(use for use in trajectory.uses if use.use == "sft").eligible
    assert world.model.requests[0].body["max_tokens"] == 9


async def test_the_record_is_that_of_chat_completions(world: World, episode: Episode, client: Any) -> None:
    world.model.extend(LOOKS, LOOKS)
    await client.responses.create(
        model="scripted",
        instructions="You look.",
        input="Look.",
        tools=[TOOL],
        tool_choice={"type": "function", "name": "look"},
        text={"format": {"type": "json_schema", "name": "verdict", "schema": SCHEMA, "strict": True}},
        reasoning={"effort": "low"},
        store=False,
        include=["reasoning.encrypted_content"],
    )
    by_chat = await world.start("Look around.")
    async with openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=await world.episode_key(by_chat)) as chat:
        said: list[Any] = [{"role": "system", "content": "You look."}, {"role": "user", "content": "Look."}]
        function = {name: part for name, part in TOOL.items() if name != "type"}
        tools: list[Any] = [{"type": "function", "function": function}]
        await chat.chat.completions.create(
            model="scripted",
            messages=said,
            tools=tools,
            tool_choice={"type": "function", "function": {"name": "look"}},
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
            },
            reasoning_effort="low",
        )

    def plain(trajectory: Trajectory) -> JsonObject:
        (call,) = trajectory.model_calls
        return call.model_dump(mode="json", exclude={"id", "started", "seconds"})

    assert plain(await world.trajectory(episode)) == plain(await world.trajectory(by_chat))


async def test_a_turn_that_was_cut_off_is_incomplete(world: World, client: Any) -> None:
    world.model.extend(*[Reply(content="Let me", finish_reason="length")] * 2)
    answer = await client.responses.create(model="scripted", input="Look.")
    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    events = [event async for event in await client.responses.create(model="scripted", input="Look.", stream=True)]
    assert (events[-1].type, events[-1].response.output[0].status) == ("response.incomplete", "incomplete")
    (item,) = [event.item for event in events if event.type == "response.output_item.done"]
    assert item == events[-1].response.output[0]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_provider_that_fails_is_an_error_of_openais_client(
    world: World, episode: Episode, client: Any, *, streamed: bool
) -> None:
    world.model.extend(fail(500))
    with pytest.raises(openai.APIStatusError) as raised:
        await ask(client, streamed=streamed, input="Look.")
    assert (raised.value.status_code, raised.value.code) == (502, "model_provider")
    (call,) = (await world.trajectory(episode)).model_calls
    assert call.error is not None


REFUSED: list[tuple[JsonObject, str]] = [
    ({"previous_response_id": "resp_1"}, "the whole conversation"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"background": True}, "background"),
    ({"input": []}, "input"),
    ({"input": [[None]]}, "input"),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "item_reference"),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "image_url"),
    ({"tools": [{"type": "web_search"}]}, "tools"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"truncation": "auto"}, "truncation"),
    ({"max_tool_calls": 3}, "max_tool_calls"),
]


async def test_what_would_have_to_be_kept_or_done_elsewhere_is_refused(world: World) -> None:
    for given, words in REFUSED:
        answer = await world.post("/v1/responses", {"model": "scripted", "input": "Look.", **given})
        assert (answer.status_code, answer.json()["code"]) == (422, "request"), given
        assert words in answer.json()["error"]["message"], given
    assert world.model.requests == []


async def test_an_answer_that_breaks_off_is_raised_by_openais_client_after_what_was_said(world: World) -> None:
    with broken_server() as broken:
        spec = {"alias": "hosted", "provider": "litellm", "target": "openai/x", "base_url": f"{broken.url}/v1"}
        assert (await world.post("/v1/models", spec)).status_code == 201
        broken.way = "broken off"
        episode = await world.start(model="hosted")
        key = await world.episode_key(episode)
        kinds = set[str]()

        async def listen(client: Any) -> None:
            async with client.responses.stream(model="hosted", input="Look.") as stream:
                async for event in stream:
                    kinds.add(event.type)

        async with openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=key, max_retries=0) as client:
            with pytest.raises(openai.APIError) as raised:
                await listen(client)
        said = await world.admin.post("/v1/responses", json={"model": "hosted", "input": "Look.", "stream": True})
    assert "response.output_text.delta" in kinds
    assert raised.value.code == "model_provider"
    last = json.loads(said.text.strip().rpartition("data: ")[2])
    assert (last["type"], last["code"]) == ("error", "model_provider"), "some clients know an event by this alone"
    (call,) = (await world.trajectory(episode)).model_calls
    assert call.error is not None
