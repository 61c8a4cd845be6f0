"""Chat completions: OpenAI's own client works, a developer's calls are not recorded, an episode key's calls are."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.canonical import digest
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, Link, Sampled, Usage
from practicum.testing import Reply, ScriptedCall, call, fail, garbage, say
from practicum.trajectories import explain, replay
from tests.gateway.episodes.conftest import ADMIN
from tests.gateway.episodes.world import World

HELLO: list[JsonObject] = [{"role": "user", "content": "Hello"}]
TOOL: JsonObject = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": True},
}


@pytest.fixture
async def client(world: World) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=ADMIN, max_retries=0) as opened:
        yield opened


async def ask(world: World, client: httpx.AsyncClient, messages: list[JsonObject], **given: Any) -> httpx.Response:
    _ = world
    return await client.post("/v1/chat/completions", json={"model": "scripted", "messages": messages, **given})


async def test_openais_client_gets_an_answer(world: World, client: Any) -> None:
    world.model.extend(Reply(content="Let me see.", tool_calls=(ScriptedCall("look", {"at": 1}, "c1"),)))
    answer = await client.chat.completions.create(
        model="scripted",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "you"}]},
        ],
        tools=[TOOL],
        temperature=0.5,
        max_completion_tokens=9,
        seed=3,
        user="u1",
        n=1,
    )
    assert answer.model == "scripted"
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me see."
    assert [(wish.id, wish.function.name, wish.function.arguments) for wish in choice.message.tool_calls] == [
        ("c1", "look", '{"at": 1}')
    ]
    assert answer.usage.total_tokens == 15
    body = world.model.requests[0].body
    assert body["tools"] == [TOOL]
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.5, 9, 3)
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello\nyou"},
    ]
    assert (await world.admin.get("/v1/trajectories")).json() == []


async def test_openais_client_reads_a_stream(world: World, client: Any) -> None:
    world.model.extend(
        Reply(
            content="Let me see.", tool_calls=(ScriptedCall("look", {"at": 1}, "c1"), ScriptedCall("look", "{", "c2"))
        )
    )
    texts: list[str] = []
    calls: list[tuple[int, str, str]] = []
    usage: Any = None
    reasons: list[str] = []
    stream = await client.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": "Hello"}],
        tools=[TOOL],
        stream=True,
        stream_options={"include_usage": True},
    )
    async for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts.append(choice.delta.content or "")
            reasons += [choice.finish_reason] if choice.finish_reason else []
            calls += [(c.index, c.id, c.function.arguments) for c in choice.delta.tool_calls or ()]
    assert "".join(texts) == "Let me see."
    assert calls == [(0, "c1", '{"at": 1}'), (1, "c2", "{")]
    assert reasons == ["tool_calls"]
    assert usage.total_tokens == 15


async def test_errors_are_problems_that_openais_client_can_show(world: World, client: Any) -> None:
    world.model.extend(fail(429, "slow down"))
    with pytest.raises(openai.APIStatusError) as caught:
        await client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": "Hello"}])
    assert caught.value.status_code == 502
    assert "slow down" in str(caught.value)
    body: Any = caught.value.body
    assert (body["type"], body["code"]) == ("Model provider failed", "model_provider")
    with pytest.raises(openai.NotFoundError, match="There is no model 'nobody'"):
        await client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "Hello"}])


async def test_a_stream_that_fails_before_it_begins_is_an_error(world: World) -> None:
    world.model.extend(garbage(), fail(503))
    for _ in range(2):
        answer = await ask(world, world.admin, HELLO, stream=True)
        assert answer.status_code == 502
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["error"]["code"] == "model_provider"


async def test_a_stream_that_breaks_off_says_so(world: World, client: Any) -> None:
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    half = {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Half an"}}]}
    world.model.extend(garbage(f"data: {json.dumps(half)}\n\n".encode()))
    texts: list[str] = []
    stream = await client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "Hello"}], stream=True
    )

    async def read() -> None:
        async for piece in stream:
            texts.extend(choice.delta.content or "" for choice in piece.choices)

    with pytest.raises(openai.APIError, match="scripted"):
        await read()
    assert "".join(texts) == "Half an"


USELESS: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "role"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "tool_call_id"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "image_url"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "look"}}}, "tool_choice"),
    ({"n": 2}, "n"),
    ({"parallel_tool_calls": False}, "parallel_tool_calls"),
    ({"presence_penalty": 0.5}, "presence_penalty"),
    ({"logprobs": True}, "logprobs"),
    ({"response_format": {"type": "xml"}}, "response_format"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format"),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"max_tokens": 5, "max_completion_tokens": 6}, "max_completion_tokens"),
    ({"temperature": 3}, "temperature"),
    ({"tools": [{"type": "web_search"}]}, "tools"),
    ({"thinking": True}, "thinking"),
]


async def test_what_would_do_nothing_is_refused(world: World) -> None:
    for given, words in USELESS:
        answer = await world.post("/v1/chat/completions", {"model": "scripted", "messages": HELLO, **given})
        assert answer.status_code == 422, given
        assert answer.json()["code"] == "request"
        assert words in answer.json()["error"]["message"], given
    assert world.model.requests == []


PICTURE: JsonObject = {"type": "image_url", "image_url": {"url": "https://pictures.example/1.png"}}


async def test_openais_client_tells_what_is_wrong(world: World, client: Any) -> None:
    """It shows `error.message` alone; so that is there before the door, for what is not there, and in plain words."""
    stranger = client.with_options(api_key="nobody")
    astray = client.with_options(base_url=world.url)
    for asked, words in [
        (stranger.chat.completions.create(model="scripted", messages=HELLO), "The key is not valid"),
        (astray.chat.completions.create(model="scripted", messages=HELLO), "clients ends with /v1"),
        (client.embeddings.create(model="scripted", input="x"), "There is nothing at /v1/embeddings."),
        (
            client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": [PICTURE]}]),
            "body.messages.0.content: parts of type `text` alone are taken, no `image_url`",
        ),
    ]:
        with pytest.raises(openai.APIStatusError) as told:
            await asked
        assert words in str(told.value), told.value
    other = await world.admin.get("/v1/nothing")
    assert "error" not in other.json()


async def test_what_says_nothing_is_taken(world: World) -> None:
    world.model.extend(say("Hi."))
    answer = await ask(
        world,
        world.admin,
        [{"role": "user", "content": "Hello", "name": "ann", "refusal": None, "tool_calls": []}],
        stop=None,
        logit_bias=None,
        tools=[],
        tool_choice="none",
        metadata={"a": "b"},
        store=False,
        parallel_tool_calls=True,
        presence_penalty=0,
        frequency_penalty=0.0,
        response_format={"type": "text"},
    )
    assert answer.status_code == 200, answer.text
    assert "tools" not in world.model.requests[0].body


async def test_an_approver_and_a_worker_do_not_chat(world: World) -> None:
    assert (await ask(world, world.approver, HELLO)).status_code == 403


async def test_chat_calls_of_an_episode_form_a_graph(world: World) -> None:
    """Two sub-agents in turn, an edited history, a call that fails, and the same conversation twice."""
    episode = await world.start()
    async with world.client(await world.episode_key(episode)) as agent:

        async def said(messages: list[JsonObject], reply: Reply) -> list[JsonObject]:
            world.model.extend(reply)
            answer = await ask(world, agent, messages)
            return [*messages, answer.json()["choices"][0]["message"]] if answer.is_success else messages

        thinking = replace(call("look", {"at": 1}, id="c1"), reasoning="I have to look.")
        main = await said([{"role": "user", "content": "main"}], thinking)
        sub = await said([{"role": "user", "content": "sub"}], say("sub answer"))
        main = await said([*main, {"role": "tool", "tool_call_id": "c1", "content": "seen"}], say("main answer"))
        await said([*sub, {"role": "user", "content": "and?"}], fail(500))
        await said([*sub, {"role": "user", "content": "and?"}], say("same"))
        twice = await said([*sub, {"role": "user", "content": "and?"}], say("same"))
        await said([*twice, {"role": "user", "content": "whose child?"}], say("nobody's"))
        edited: list[JsonObject] = [{"role": "user", "content": "MAIN"}, *main[1:]]
        await said([*edited, {"role": "user", "content": "on"}], say("edited answer"))
        await said([*main, {"role": "user", "content": "on"}], say("the end"))
        assert (
            await agent.post(f"/v1/episodes/{episode.id}/close", json={"status": "completed", "cause": "policy"})
        ).status_code == 200
    trajectory = await world.trajectory(episode)
    calls = trajectory.model_calls
    place = {made.id: index for index, made in enumerate(calls)}
    assert [None if made.parent is None else place[made.parent] for made in calls] == [
        None,
        None,
        0,
        1,
        1,
        1,
        None,
        None,
        2,
    ]
    assert [made.standing for made in calls] == [
        Attempt.FAILED if index == 3 else Attempt.ACCEPTED for index in range(9)
    ]
    assert [made.step for made in calls] == list(range(9))
    assert [made.reasoning for made in calls] == ["I have to look.", *[None] * 8]  # kept, and shown to no model again
    assert not any("I have to look" in request.model_dump_json() for request in calls[1:])
    for sent, made in zip(world.model.requests, calls, strict=True):
        assert [message.content for message in made.messages] == [
            message.get("content") for message in sent.messages if isinstance(message, dict)
        ]
    assert [made.by for made in calls] == [None, None, *[Link.MESSAGES] * 4, None, None, Link.MESSAGES]
    assert [made.candidates for made in calls if made.candidates] == [tuple(sorted((calls[4].id, calls[5].id)))]
    assert {made.call for made in explain(trajectory).calls if made.quarantined} == {calls[6].id}
    # What each was asked can be made again from the record, byte for byte as the server got it.
    replayed = replay(trajectory)
    assert replayed.same
    assert [bool(made.checked) for made in replayed.calls] == [index != 3 for index in range(9)]
    for request, made in zip(world.model.requests, calls, strict=True):
        assert made.sent is None or made.sent.digest == digest(request.body)
    # Of the two longest conversations the latest stands.
    assert trajectory.messages == (*calls[8].messages, Message(role="assistant", content="the end"))
    assert trajectory.messages[1].tool_calls == (ToolCall(id="c1", name="look", arguments={"at": 1}),)
    ended = await world.get(episode)
    assert ended.result is not None
    assert (ended.result.answer, ended.result.steps) == ("the end", 9)


async def test_a_streamed_chat_call_is_recorded_before_its_end_is_seen(world: World) -> None:
    episode = await world.start()
    world.model.extend(say("It shipped on Monday."))
    async with world.client(await world.episode_key(episode)) as agent:
        answer = await ask(world, agent, HELLO, stream=True)
        assert answer.text.endswith("data: [DONE]\n\n")
        assert len((await world.trajectory(episode)).model_calls) == 1
    trajectory = await world.trajectory(episode)
    assert trajectory.messages[-1].content == "It shipped on Monday."


async def test_what_vllm_streams_is_recorded_with_its_tokens(world: World) -> None:
    spec = {"alias": "ids", "provider": "litellm", "target": "hosted_vllm/scripted", "base_url": world.model.base_url}
    assert (await world.admin.post("/v1/models", json=spec)).status_code == 201
    episode = await world.start(model="ids")
    sampled = Sampled(prompt_ids=(1, 2, 3), completion_ids=(4, 5), logprobs=(-0.5, -0.25))
    world.model.extend(Reply(content="Hi.", sampled=sampled, usage=Usage(prompt_tokens=3, completion_tokens=2)))
    async with world.client(await world.episode_key(episode)) as agent:
        answer = await ask(world, agent, HELLO, model="ids", stream=True)
        assert answer.text.endswith("data: [DONE]\n\n")
    (made,) = (await world.trajectory(episode)).model_calls
    assert (made.sampled, made.tokens_from) == (sampled, "prompt_token_ids, choices.token_ids")
    assert (made.usage.prompt_tokens, made.usage.completion_tokens) == (3, 2)


async def test_the_shorter_way_answers_as_the_other_does(world: World) -> None:
    """A content type with a parameter takes the framework's way."""

    async def answers(body: dict[str, Any]) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        for kind in ("application/json", "application/json; charset=utf-8"):
            answer = await world.admin.post(
                "/v1/chat/completions", content=json.dumps(body), headers={"content-type": kind}
            )
            told = answer.json()
            found.append((answer.status_code, {name: told[name] for name in told if name not in ("id", "created")}))
        return found

    asked: dict[str, Any] = {"model": "scripted", "messages": HELLO}
    bodies: tuple[dict[str, Any], ...] = (asked, asked, {**asked, "model": "nobody"}, {**asked, "n": 2})
    world.model.extend(say("Hi."), say("Hi."), fail(503, "busy"), fail(503, "busy"))
    for body, status in zip(bodies, (200, 502, 404, 422), strict=True):
        (shorter, told), other = await answers(body)
        assert shorter == status
        assert ("error" in told) == (status != 200)
        assert {**told, "trace": None} == {**other[1], "trace": None}
        assert other[0] == status


async def test_limits_hold_for_an_agent_of_another_house(world: World) -> None:
    cases: list[tuple[JsonObject, str]] = [
        ({"steps": 1}, "1 steps"),
        ({"tokens": 15}, "15 tokens"),
        ({"seconds": 0.001}, "seconds"),
    ]
    for limits, words in cases:
        episode = await world.start(limits=limits)
        async with world.client(await world.episode_key(episode)) as agent:
            if "seconds" not in limits:
                world.model.extend(say("Hi."))
                assert (await ask(world, agent, HELLO)).status_code == 200
            refused = await ask(world, agent, HELLO)
        assert (refused.status_code, refused.json()["code"]) == (409, "episode")
        assert words in refused.json()["error"]["message"]


async def test_an_episode_key_reaches_no_further_than_its_episode(world: World) -> None:
    episode, other = await world.start(tools=["shop.get_order"]), await world.start()
    async with world.client(await world.episode_key(episode)) as agent:
        assert (await agent.get(f"/v1/episodes/{episode.id}")).status_code == 200
        assert (await agent.get(f"/v1/episodes/{other.id}")).status_code == 404
        assert (await agent.post(f"/v1/episodes/{other.id}/cancel")).status_code == 404
        assert (await agent.get(f"/v1/trajectories/{other.id}")).status_code == 404
        assert [found["id"] for found in (await agent.get("/v1/episodes")).json()] == [episode.id]
        assert [found["episode"] for found in (await agent.get("/v1/trajectories")).json()] == [episode.id]
        assert (await agent.post(f"/v1/episodes/{episode.id}/keys")).status_code == 403
        verdict = {"reward": 1.0, "source": "myself"}
        assert (await agent.post(f"/v1/episodes/{episode.id}/reward", json=verdict)).status_code == 403
        assert (await agent.post("/v1/tools/shop_refund_order/call", json={"arguments": {}})).status_code == 404
        for tool in ("shop_refund_order", "shop.refund_order"):
            assert (await agent.get(f"/v1/tools/{tool}")).status_code == 404
            assert (await agent.get(f"/v1/tools/{tool}", params={"profile": "openai"})).status_code == 404
        assert (await agent.get("/v1/tools/shop.get_order")).json()["name"] == "shop_get_order"
        assert (await ask(world, agent, HELLO, model="other")).status_code == 404
        allowed = await agent.post("/v1/tools/shop_get_order/call", json={"arguments": {"id": 8}})
        assert allowed.json()["status"] == "ok", allowed.text


async def test_an_ended_episode_takes_nothing_more_from_its_agent(world: World) -> None:
    episode = await world.start()
    async with world.client(await world.episode_key(episode)) as agent:
        await world.post(f"/v1/episodes/{episode.id}/cancel")
        assert (await ask(world, agent, HELLO)).status_code == 409
        called = await agent.post("/v1/tools/shop_get_order/call", json={"arguments": {"id": 8}})
        assert called.status_code == 409
    late = await world.post(f"/v1/episodes/{episode.id}/keys")
    assert late.status_code == 409


async def test_turns_and_chat_calls_do_not_mix(world: World) -> None:
    world.model.extend(say("Hi."), say("Hi."))
    driven, chatting = await world.start(), await world.start()
    await world.turn(driven, 0)
    async with world.client(await world.episode_key(driven)) as agent:
        assert (await ask(world, agent, HELLO)).status_code == 409
    async with world.client(await world.episode_key(chatting)) as agent:
        assert (await ask(world, agent, HELLO)).status_code == 200
    assert (await world.post(f"/v1/episodes/{chatting.id}/turns", {"step": 0})).status_code == 409
