"""Real servers on loopback, asked through litellm and without it: what is sent, what is read, every way of failing."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from practicum.codecs.bodies import outline
from practicum.contracts.base import JsonObject
from practicum.contracts.canonical import digest
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Sampled, Sampling, Usage
from practicum.contracts.tools import Tool
from practicum.errors import ModelProviderError, PracticumError, RequestError
from practicum.testing import (
    Reply,
    ScriptedCall,
    ScriptedModelServer,
    call,
    completion,
    fail,
    garbage,
    hang_up,
    say,
)
from practicum_gateway.models.chat_format import definition
from practicum_gateway.models.litellm_provider import LitellmProvider
from practicum_gateway.models.openai_answer import StreamedAnswer
from tests.gateway.models.broken import WAYS, broken_server
from tests.gateway.models.conftest import KEY, MakePrompt, read


@pytest.fixture(params=["openai/scripted", "openai/gpt-4.1-scripted"], ids=["directly", "through litellm"])
def target(request: pytest.FixtureRequest) -> str:
    """One that is asked directly, and one of whose name litellm knows more than we do."""
    return str(request.param)


async def test_words_come_back_with_their_tokens(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    model.extend(Reply(content="It shipped.", usage=Usage(prompt_tokens=7, completion_tokens=3)))
    completed = await provider.complete(prompt_of())
    assert completed.message == Message(role="assistant", content="It shipped.")
    assert completed.finish_reason == "stop"
    assert completed.usage == Usage(prompt_tokens=7, completion_tokens=3)
    assert completed.sampled is None
    assert not completed.constrained


async def test_what_is_sent_is_what_was_said(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt, refund_tool: Tool, target: str
) -> None:
    model.extend(say("Done."))
    asked = ToolCall(id="c1", name="erp_refund_order", arguments={"id": 7})
    broken = ToolCall(id="c2", name="erp_refund_order", arguments={}, malformed='{"id"')
    await provider.complete(
        prompt_of(
            Message(role="system", content="Be brief."),
            Message(role="user", content="Refund 7."),
            Message(role="assistant", tool_calls=(asked, broken)),
            Message(role="tool", content="ok", tool_call_id="c1"),
            Message(role="tool", content="mend it", tool_call_id="c2"),
            tools=(refund_tool,),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=64, seed=5),
        )
    )
    body = model.requests[0].body
    assert body["tools"] == [definition(refund_tool)]
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["seed"]) == (0.0, 1.0, 64, 5)
    assert body["model"] == target.partition("/")[2]
    messages = model.requests[0].messages
    assert isinstance(messages[2], dict)
    calls: Any = messages[2]["tool_calls"]
    assert [part["function"]["arguments"] for part in calls] == ['{"id": 7}', '{"id"']
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_foreign_agents_definitions_go_out_untouched(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt, refund_tool: Tool
) -> None:
    model.extend(say("Done."))
    given = {"type": "function", "function": {"name": "mine", "parameters": {"type": "object"}, "strict": True}}
    await provider.complete(prompt_of(tools=(refund_tool,), definitions=(given,)))
    assert model.requests[0].body["tools"] == [given]


async def test_no_key_of_the_environment_reaches_a_server_that_asked_for_none(
    model: ScriptedModelServer,
    provider: LitellmProvider,
    prompt_of: MakePrompt,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    model.extend(say("Done."))
    await provider.complete(prompt_of(api_key=None))
    assert "environment" not in model.requests[0].headers.get("authorization", "")


async def test_calls_are_read_and_broken_ones_kept_as_they_were_sampled(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    model.extend(Reply(tool_calls=(ScriptedCall("f", {"a": 1}, "c1"), ScriptedCall("g", '{"b": ', "c2"))))
    completed = await provider.complete(prompt_of())
    assert completed.finish_reason == "tool_calls"
    assert completed.message.content is None
    assert completed.message.tool_calls == (
        ToolCall(id="c1", name="f", arguments={"a": 1}),
        ToolCall(id="c2", name="g", arguments={}, malformed='{"b": '),
    )


async def test_token_ids_are_kept_as_vllm_gives_them(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    sampled = Sampled(prompt_ids=(1, 2, 3), completion_ids=(4, 5), logprobs=(-0.5, -0.25))
    model.extend(Reply(content="hi", sampled=sampled))
    completed = await provider.complete(prompt_of(target="hosted_vllm/scripted"))
    assert completed.sampled == sampled
    assert completed.tokens_from == "prompt_token_ids, choices.token_ids"
    assert model.requests[0].body["return_token_ids"] is True
    assert model.requests[0].body["logprobs"] is True


async def test_drawn_tokens_without_those_of_the_prompt_are_kept(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    drawn = Usage(prompt_tokens=3, completion_tokens=2)
    answer = completion(Reply(content="hi", usage=drawn), model="m", number=1)
    answer["choices"][0]["token_ids"] = [4, 5]  # type: ignore[index,call-overload]  # a completion has choices
    model.extend(garbage(json.dumps(answer).encode()))
    completed = await provider.complete(prompt_of(target="hosted_vllm/scripted"))
    assert completed.sampled == Sampled(prompt_ids=(), completion_ids=(4, 5), logprobs=())
    assert completed.tokens_from == "choices.token_ids"


async def test_what_was_thought_is_kept_beside_the_message(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    model.extend(Reply(content="hi", reasoning="They greet."))
    completed = await provider.complete(prompt_of())
    assert (completed.message.content, completed.reasoning) == ("hi", "They greet.")
    streamed = StreamedAnswer(where="m")
    deltas: tuple[JsonObject, ...] = ({"reasoning": "They "}, {"reasoning": "greet."}, {"content": "hi"})
    for delta in deltas:
        streamed.add({"choices": [{"delta": delta}]})
    assert (streamed.whole().message.content, streamed.whole().reasoning) == ("hi", "They greet.")


@pytest.mark.parametrize("target", ["openai/scripted", "hosted_vllm/scripted"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_record_keeps_the_hash_of_the_request_as_the_server_got_it(
    model: ScriptedModelServer,
    provider: LitellmProvider,
    prompt_of: MakePrompt,
    refund_tool: Tool,
    *,
    target: str,
    streamed: bool,
) -> None:
    model.extend(say("Done."))
    said = (
        Message(role="user", content="Refund 7, Größe."),
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="erp_refund_order", arguments={"id": 7}),)),
        Message(role="tool", content="ok", tool_call_id="c1"),
    )
    prompt = prompt_of(
        *said, tools=(refund_tool,), target=target, sampling=Sampling(temperature=0.5, max_tokens=64, seed=5)
    )
    completed = (await read(provider, prompt))[1] if streamed else await provider.complete(prompt)
    got = {name: part for name, part in model.requests[0].body.items() if name not in ("stream", "stream_options")}
    assert completed.sent is not None
    assert completed.sent.request == outline(got)
    assert completed.sent.digest == digest(got)
    assert completed.sent.request["seed"] == 5
    assert str(completed.sent.request["messages"]).startswith("sha256:")
    assert KEY not in completed.sent.model_dump_json()


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (garbage(), ModelProviderError, "not JSON"),
        (garbage(b""), ModelProviderError, "not JSON"),
        (garbage(b"{not json"), ModelProviderError, "not JSON"),
        (garbage(b'{"choices": []}'), ModelProviderError, "without a choice"),
        (garbage(b"[1, 2]"), ModelProviderError, "[1, 2]"),
        (say(""), ModelProviderError, "nothing"),
        (hang_up(), ModelProviderError, "failed"),
        (fail(500), ModelProviderError, "500"),
        (fail(503, "overloaded"), ModelProviderError, "overloaded"),
        (fail(429, "slow down"), ModelProviderError, "429"),
        (fail(408), ModelProviderError, "408"),
        (fail(400, "context too long"), RequestError, "context too long"),
        (fail(401, f"bad key {KEY}"), RequestError, "api_key"),
        (fail(403), RequestError, "api_key"),
        (fail(404, "no such model"), RequestError, "target"),
        (fail(422), RequestError, "422"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_every_failure_is_typed_asked_once_and_without_the_key(
    model: ScriptedModelServer,
    provider: LitellmProvider,
    prompt_of: MakePrompt,
    *,
    reply: Reply,
    error: type[PracticumError],
    words: str,
    streamed: bool,
) -> None:
    model.extend(reply, say("a second try would find this"))
    with pytest.raises(PracticumError) as caught:
        await (read(provider, prompt_of()) if streamed else provider.complete(prompt_of()))
    assert type(caught.value) is error
    if not streamed or reply.status != 200:
        assert words in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert len(model.requests) == 1


async def test_a_broken_server_is_a_typed_error_asked_once(provider: LitellmProvider, prompt_of: MakePrompt) -> None:
    with broken_server() as server:
        for way in WAYS:
            if way in ("silent", "trickle"):  # the router bounds the time; see test_broken_models.py
                continue
            for streamed in (False, True):
                server.way, before = way, server.asked
                prompt = prompt_of(base_url=f"{server.url}/v1")
                with pytest.raises(ModelProviderError, match="scripted"):
                    await (read(provider, prompt) if streamed else provider.complete(prompt))
                assert server.asked == before + 1, way


class Impatient(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(429)
        self.send_header("Retry-After", "7")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name http.server gave it
        """Keep quiet."""


async def test_the_providers_wish_to_wait_is_passed_on(provider: LitellmProvider, prompt_of: MakePrompt) -> None:
    with HTTPServer(("127.0.0.1", 0), Impatient) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        with pytest.raises(ModelProviderError) as caught:
            await provider.complete(prompt_of(base_url=f"http://127.0.0.1:{server.server_port}/v1"))
        server.shutdown()
        thread.join()
    assert caught.value.retry_after == 7.0
    assert caught.value.mend == "Try again in 7 s."


async def test_a_server_that_is_not_there_is_a_provider_error(provider: LitellmProvider, prompt_of: MakePrompt) -> None:
    with ScriptedModelServer() as server:
        gone = server.base_url
    with pytest.raises(ModelProviderError, match="failed"):
        await provider.complete(prompt_of(base_url=gone))


@pytest.mark.parametrize("target", ["openai/gpt-4.1-scripted"])  # of one asked directly the router bounds the time
async def test_a_silent_server_is_given_up_on(model: ScriptedModelServer, prompt_of: MakePrompt) -> None:
    model.extend(say("too late", delay=20))
    provider = LitellmProvider(timeout_seconds=0.3)
    with pytest.raises(ModelProviderError, match="timed out"):
        await provider.complete(prompt_of())
    await provider.close()


async def test_a_stream_gives_words_then_the_whole(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    model.extend(
        say("It shipped on Monday."),
        Reply(content="Let me look.", tool_calls=(ScriptedCall("f", {"a": 1}, "c1"), ScriptedCall("g", "{", "c2"))),
    )
    texts, whole = await read(provider, prompt_of())
    assert "".join(texts) == "It shipped on Monday."
    assert whole.message == Message(role="assistant", content="It shipped on Monday.")
    assert whole.usage == Usage(prompt_tokens=10, completion_tokens=5)
    texts, whole = await read(provider, prompt_of())
    assert "".join(texts) == "Let me look."
    assert whole.finish_reason == "tool_calls"
    assert [(wish.id, wish.name, wish.malformed) for wish in whole.message.tool_calls] == [
        ("c1", "f", None),
        ("c2", "g", "{"),
    ]


async def test_a_stream_that_breaks_off_is_no_answer(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    chunk = b'{"id":"1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":%s}]}'
    model.extend(garbage(b"data: " + chunk % b'{"role":"assistant","content":"Half an"}' + b"\n\n"))
    with pytest.raises(ModelProviderError, match=r"before a finish_reason|middle of its answer"):
        await read(provider, prompt_of())


def test_litellm_is_not_imported_before_a_model_is_called() -> None:
    code = "import sys, practicum_gateway.app as app; app.LitellmProvider(); print('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_the_provider_reads_calls_named_by_helpers(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    model.extend(call("f", {"a": "b"}))
    completed = await provider.complete(prompt_of())
    assert completed.message.tool_calls[0].arguments == {"a": "b"}
