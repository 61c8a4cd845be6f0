"""The scripted model speaks OpenAI chat completions well enough for OpenAI's own client."""

import time

import httpx
import openai
import pytest

from practicum.contracts.models import Sampled
from practicum.testing import (
    RecordedRequest,
    Reply,
    ScriptedCall,
    ScriptedModelServer,
    call,
    fail,
    garbage,
    hang_up,
    say,
)

TASK = {"role": "user", "content": "Where is order 1042?"}


def client_of(server: ScriptedModelServer, timeout: float = 5.0) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0, timeout=timeout)


def test_replies_follow_the_script_and_requests_are_recorded() -> None:
    script = [call("crm_get_order", {"id": 1042}), say("It shipped.")]
    with ScriptedModelServer(script, model="tiny") as server, client_of(server) as client:
        first = client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "Where?"}])
        second = client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "And now?"}])
    asked = first.choices[0].message.tool_calls
    assert asked is not None
    assert asked[0].type == "function"
    assert (asked[0].function.name, asked[0].function.arguments) == ("crm_get_order", '{"id": 1042}')
    assert first.choices[0].finish_reason == "tool_calls"
    assert second.choices[0].message.content == "It shipped."
    assert [request.messages for request in server.requests] == [
        [{"role": "user", "content": "Where?"}],
        [{"role": "user", "content": "And now?"}],
    ]
    assert server.requests[0].headers["authorization"] == "Bearer sk-test"
    assert "sk-test" not in repr(server.requests[0])


def test_a_stream_carries_text_calls_and_usage() -> None:
    reply = Reply(content="One  moment.", tool_calls=(ScriptedCall("crm_get", {}), ScriptedCall("erp_get", "{oops")))
    with ScriptedModelServer([reply]) as server, client_of(server) as client:
        chunks = list(
            client.chat.completions.create(
                model="scripted",
                messages=[{"role": "user", "content": "?"}],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "One  moment."
    calls = [asked for delta in deltas for asked in delta.tool_calls or []]
    assert [(asked.index, asked.function.arguments if asked.function else None) for asked in calls] == [
        (0, "{}"),
        (1, "{oops"),
    ]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 15


def test_faults_of_every_kind() -> None:
    with ScriptedModelServer([fail(429, "slow down"), garbage(), hang_up(), fail(503)]) as server:
        with client_of(server) as client, pytest.raises(openai.RateLimitError, match="slow down"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])
        url = f"{server.base_url}/chat/completions"
        assert httpx.post(url, json={"messages": [TASK]}).text.startswith("<html>")
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(url, json={"messages": [TASK]})
        assert httpx.post(url, json={"messages": [TASK]}).status_code == 503
        assert httpx.post(url, content=b"not json").status_code == 400


def test_a_request_past_the_end_of_the_script_fails_until_it_is_extended() -> None:
    with ScriptedModelServer() as server:
        url = f"{server.base_url}/chat/completions"
        answer = httpx.post(url, json={"messages": [TASK]})
        assert answer.status_code == 500
        assert "ends before request 1" in answer.text
        server.extend(say("hello"))
        assert httpx.post(url, json={"messages": [TASK]}).json()["choices"][0]["message"]["content"] == "hello"


def test_a_function_can_answer() -> None:
    def echo(request: RecordedRequest) -> Reply:
        return say(f"{len(request.messages)} messages at {request.path}")

    with ScriptedModelServer(echo) as server:
        body = httpx.post(f"{server.base_url}/chat/completions", json={"messages": [TASK, TASK]}).json()
        assert body["choices"][0]["message"]["content"] == "2 messages at /v1/chat/completions"
        with pytest.raises(TypeError):
            server.extend(say("no"))


def test_token_ids_are_reported_as_vllm_does() -> None:
    sampled = Sampled(prompt_ids=(1, 2, 3), completion_ids=(7, 8), logprobs=(-0.5, -0.25))
    with ScriptedModelServer([Reply(content="ab", sampled=sampled)]) as server:
        body = httpx.post(f"{server.base_url}/chat/completions", json={"messages": [TASK]}).json()
    assert body["prompt_token_ids"] == [1, 2, 3]
    assert body["choices"][0]["token_ids"] == [7, 8]
    assert [entry["logprob"] for entry in body["choices"][0]["logprobs"]["content"]] == [-0.5, -0.25]


def test_models_are_listed() -> None:
    with ScriptedModelServer(model="tiny") as server:
        assert httpx.get(f"{server.base_url}/models").json()["data"][0]["id"] == "tiny"


def test_stopping_cuts_a_delayed_reply_short() -> None:
    server = ScriptedModelServer([say("late", delay=60)]).start()
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.base_url}/chat/completions", json={"messages": [TASK]}, timeout=0.2)
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 5
    with pytest.raises(RuntimeError, match="does not serve"):
        _ = server.base_url
