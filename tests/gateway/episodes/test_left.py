"""A caller who does not wait for a model's answer: nobody goes on asking for it, and the record says so."""

import asyncio

import httpx
import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.models import Attempt
from tests.gateway.episodes.world import World

HELLO: JsonObject = {"messages": [{"role": "user", "content": "Hello."}]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
async def test_a_model_is_not_asked_on_for_a_caller_who_left(world: World, path: str, *, stream: bool) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
        asked.set()
        assert await reader.read() == b""
        gone.set()
        writer.close()

    server = await asyncio.start_server(mute, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    spec: JsonObject = {"alias": "mute", "provider": "litellm", "target": "openai/x", "base_url": url}
    assert (await world.admin.post("/v1/models", json=spec)).status_code == 201
    episode = await world.start(model="mute")
    said = HELLO if path.endswith("completions") else {"input": "Hello."}
    async with world.client(await world.episode_key(episode)) as agent:
        waiting = asyncio.create_task(agent.post(path, json={"model": "mute", "stream": stream, **said}))
        async with asyncio.timeout(10):
            await asked.wait()
            waiting.cancel()
            await gone.wait()
    with pytest.raises((asyncio.CancelledError, httpx.HTTPError)):
        await waiting
    calls = (await world.trajectory(episode)).model_calls
    for _ in range(500):
        if calls:
            break
        await asyncio.sleep(0.02)
        calls = (await world.trajectory(episode)).model_calls
    assert [(call.standing, call.error) for call in calls] == [
        (Attempt.FAILED, "The caller left before the answer was whole.")
    ]
    server.close()
