"""What a caller holds an answer to goes to the provider as it was written, and into the record; or it is refused."""

from typing import Any

import openai

from practicum.contracts.trajectory import Use
from practicum.testing import Reply, call, say
from practicum.trajectories import explain, replay
from tests.gateway.episodes.world import World

TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
SCHEMA: Any = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "why": {"type": "string", "default": None}},
    "required": ["ok"],
    "additionalProperties": False,
}
FORM: Any = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True}}
HELD: dict[str, Any] = {
    "tools": [TOOL],
    "tool_choice": {"type": "function", "function": {"name": "look"}},
    "parallel_tool_calls": False,
    "response_format": FORM,
    "stop": ["END"],
    "reasoning_effort": "low",
}
ASKED = ("tool_choice", "parallel_tool_calls", "response_format", "stop", "reasoning_effort")


async def test_what_an_answer_is_held_to_is_sent_recorded_and_asked_again_alike(world: World) -> None:
    world.model.extend(call("look", {}, id="c1"), say('{"ok": true}'), say("Plain."))
    episode = await world.start()
    async with openai.AsyncOpenAI(
        base_url=f"{world.url}/v1", api_key=await world.episode_key(episode), max_retries=0
    ) as client:
        said: list[Any] = [{"role": "user", "content": "Is it well?"}]
        await client.chat.completions.create(model="scripted", messages=said, **HELD)
        await client.chat.completions.create(
            model="scripted", messages=said, tools=[TOOL], tool_choice="required", response_format={"type": "text"}
        )
        await client.chat.completions.create(model="scripted", messages=said, tools=[TOOL], parallel_tool_calls=True)
    held, required, usual = (request.body for request in world.model.requests)
    assert {name: held[name] for name in ASKED} == {name: HELD[name] for name in ASKED}
    assert [name for name in ASKED if name in required] == ["tool_choice"]
    assert [name for name in ASKED if name in usual] == []
    await world.close(episode)
    trajectory = await world.trajectory(episode)
    first, second, third = trajectory.model_calls
    assert first.sampling.response_format == FORM
    assert first.sampling.holding == (
        "stop",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "reasoning_effort",
    )
    assert (second.sampling.holding, third.sampling.holding) == (("tool_choice",), ())
    assert replay(trajectory).same
    changed = first.model_copy(update={"sampling": first.sampling.model_copy(update={"response_format": None})})
    assert not replay(trajectory.model_copy(update={"model_calls": (changed, second, third)})).same
    reasons = {each.use: [reason.text for reason in each.reasons] for each in explain(trajectory).uses}
    assert "its caller held the answer to a form" in reasons[Use.RL]


async def test_a_form_of_the_answer_holds_while_it_is_streamed_too(world: World) -> None:
    world.model.extend(Reply(content='{"ok": true}'))
    episode = await world.start()
    async with openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=await world.episode_key(episode)) as client:
        said: list[Any] = [{"role": "user", "content": "Is it well?"}]
        async with client.chat.completions.stream(model="scripted", messages=said, response_format=FORM) as stream:
            answer = await stream.get_final_completion()
    assert answer.choices[0].message.content == '{"ok": true}'
    assert world.model.requests[0].body["response_format"] == FORM


async def test_a_model_that_cannot_be_held_says_so(world: World) -> None:
    spec = {"alias": "small", "provider": "llama_cpp", "target": "x", "base_url": world.model.base_url}
    assert (await world.post("/v1/models", spec)).status_code == 201
    body = {"model": "small", "messages": [{"role": "user", "content": "Hello"}], "response_format": FORM}
    answer = await world.post("/v1/chat/completions", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "request")
    assert "'small' cannot be held to response_format" in answer.json()["error"]["message"]
    assert world.model.requests == []
