"""What only servers do that are asked directly: vLLM's tokens in a stream, errors within one, other ways of writing."""

import json

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.models import Sampled, Usage
from practicum.errors import ModelProviderError, PracticumError, RequestError
from practicum.testing import Reply, ScriptedCall, ScriptedModelServer, garbage, say
from practicum_gateway.models.litellm_provider import LitellmProvider
from tests.gateway.models.conftest import KEY, MakePrompt, read


async def test_a_proxy_that_the_environment_names_is_used(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", model.base_url.removesuffix("/v1"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    model.extend(say("Through it."), say("Streamed through it."), say("Past it."))
    there = prompt_of(base_url="http://models.invalid/v1/")
    assert (await provider.complete(there)).message.content == "Through it."
    assert (await read(provider, there))[0] == ["Streamed through it."]
    assert (await provider.complete(prompt_of())).message.content == "Past it."
    paths = [request.path for request in model.requests]
    assert paths == [*["http://models.invalid/v1/chat/completions"] * 2, "/v1/chat/completions"]


async def test_servers_that_write_some_parts_otherwise_are_understood(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    function: JsonObject = {"name": "f", "arguments": {"a": "ü"}}
    calls: JsonObject = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
    chunks: tuple[JsonObject, ...] = (
        {"choices": [{"delta": calls}], "usage": None},
        {"choices": [{"delta": None, "finish_reason": "tool_calls"}]},
        {"choices": None, "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    )
    stream = b": still here\n\n" + b"".join(b"event: x\r\ndata:%b\r\n\r\n" % json.dumps(one).encode() for one in chunks)
    model.extend(garbage(json.dumps({"choices": [{"message": calls}]}).encode()), garbage(stream))
    wished = (ToolCall(id="c1", name="f", arguments={"a": "ü"}),)
    assert (await provider.complete(prompt_of())).message.tool_calls == wished
    _, streamed = await read(provider, prompt_of())
    assert (streamed.message.tool_calls, streamed.finish_reason) == (wished, "tool_calls")
    assert streamed.usage == Usage(prompt_tokens=7, completion_tokens=3)


@pytest.mark.parametrize("target", ["hosted_vllm/scripted"])
async def test_token_ids_are_kept_as_vllm_streams_them(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    sampled = Sampled(prompt_ids=(1, 2, 3), completion_ids=(4, 5, 6, 7), logprobs=(-0.5, -0.25, 0.0, -2.0))
    drawn = Usage(prompt_tokens=3, completion_tokens=4)
    wishes = (ScriptedCall("f", {"a": 1}, "c1"),)
    model.extend(
        Reply(content="hi there", sampled=sampled, usage=drawn),
        Reply(tool_calls=wishes, sampled=sampled, usage=drawn),
        Reply(content="hi there", sampled=sampled, usage=Usage(prompt_tokens=3, completion_tokens=6)),
    )
    _, said = await read(provider, prompt_of())
    assert (said.sampled, said.tokens_from) == (sampled, "prompt_token_ids, choices.token_ids")
    _, called = await read(provider, prompt_of())
    assert (called.sampled, called.message.tool_calls[0].name) == (sampled, "f")
    _, lacking = await read(provider, prompt_of())
    assert (lacking.sampled, lacking.tokens_from) == (None, None), "some that were drawn were not told"
    assert model.requests[0].body["return_token_ids"] is True


async def test_an_error_in_the_place_of_an_answer_is_told(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    cases: tuple[tuple[JsonObject, type[PracticumError], str], ...] = (
        ({"error": {"message": f"out of memory {KEY}", "code": 500}}, ModelProviderError, "out of memory"),
        ({"error": "worker died"}, ModelProviderError, "worker died"),
        ({"error": {"message": "too long", "code": 400}}, RequestError, "too long"),
    )
    for said, kind, words in cases:
        chunk = {"choices": [{"index": 0, "delta": {"content": "Half an"}}]}
        model.extend(
            garbage(json.dumps(said).encode()),
            garbage(b"".join(b"data: %b\r\n\r\n" % json.dumps(part).encode() for part in (chunk, said))),
        )
        for asked in (provider.complete(prompt_of()), read(provider, prompt_of())):
            with pytest.raises(PracticumError, match=words) as caught:
                await asked
            assert type(caught.value) is kind
            assert KEY not in str(caught.value)
