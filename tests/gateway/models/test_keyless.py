"""A model server that echoes its request: the key is neither given on nor kept."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest
from opentelemetry.trace import NoOpTracer

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import ModelSpec, Provider, Sampled, Sampling, Usage
from practicum_gateway.models.keyless import KeylessText, without_key
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.router import Models
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault, new_key

KEY = 'sk-"top"/secret-0123456789'
TOKENS = Sampled(prompt_ids=(1,), completion_ids=(2,), logprobs=(-0.5,))


def turn(content: str | None = None, *calls: ToolCall) -> Completed:
    message = Message(role="assistant", content=content, tool_calls=calls)
    return Completed(message=message, finish_reason="stop", usage=Usage(), sampled=TOKENS)


class Echo:
    """Says its key, in pieces that cut it anywhere."""

    async def complete(self, prompt: Prompt) -> Completed:
        return turn(f"I was sent {prompt.api_key}!")

    async def embed(self, prompt: Prompt, texts: Sequence[str]) -> JsonObject:
        raise AssertionError(f"nobody asks for vectors of {texts} by {prompt.spec.alias}")

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completed]:
        for letter in f"I was sent {prompt.api_key}!":
            yield letter
        yield await self.complete(prompt)


def test_text_and_arguments_lose_the_key_and_its_tokens() -> None:
    call = ToolCall(id="c1", name="crm_find", arguments={"auth": [f"Bearer {KEY}"], KEY: 1}, malformed=f"{KEY} {{")
    kept = without_key(turn(f"Bearer {KEY}", call), KEY)
    assert kept.message.content == "Bearer [redacted]"
    assert kept.message.tool_calls[0].arguments == {"auth": ["Bearer [redacted]"], "[redacted]": 1}
    assert kept.message.tool_calls[0].malformed == "[redacted] {"
    assert kept.sampled is None


def test_thoughts_lose_the_key_too() -> None:
    kept = without_key(replace(turn("Hello."), reasoning=f"They gave me {KEY}."), KEY)
    assert (kept.message.content, kept.reasoning, kept.sampled) == ("Hello.", "They gave me [redacted].", None)


@pytest.mark.parametrize("key", [KEY, "EMPTY", "", None])
def test_a_turn_without_the_key_stays_as_it_is(key: str | None) -> None:
    completed = turn("The drawer is EMPTY.")
    assert without_key(completed, key) is completed


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_stream_loses_the_key_wherever_it_is_cut(size: int) -> None:
    said = f"{KEY[:5]} {KEY}{KEY[:9]} and {KEY[:4]}"
    text = KeylessText(KEY)
    given = [text.add(said[start : start + size]) for start in range(0, len(said), size)]
    assert "".join([*given, text.rest()]) == said.replace(KEY, "[redacted]")


async def test_the_router_takes_it_out_of_both(store: Store) -> None:
    models = Models(Registry(store, Vault(new_key())), {Provider.LITELLM: Echo()}, NoOpTracer())
    spec = ModelSpec(alias="echo", provider=Provider.LITELLM, target="openai/echo")
    prompt = Prompt(spec=spec, messages=(), tools=(), sampling=Sampling(), api_key=KEY)
    assert (await models.complete(prompt)).message.content == "I was sent [redacted]!"
    *pieces, last = [piece async for piece in models.stream(prompt)]
    assert "".join(str(piece) for piece in pieces) == "I was sent [redacted]!"
    assert isinstance(last, Completed)
    assert last.message.content == "I was sent [redacted]!"
