"""Servers that tell nonsense, tell secrets, and write as nobody else: what the gateway makes of it."""

import asyncio
import json
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.models import Provider, Usage
from practicum.errors import ModelProviderError, PracticumError, RequestError
from practicum.testing import ScriptedModelServer, garbage
from practicum_gateway.models.completions import CompletionsProvider
from practicum_gateway.models.keyless import without_key
from practicum_gateway.models.litellm_provider import LitellmProvider
from practicum_gateway.models.openai_answer import StreamedAnswer
from practicum_gateway.models.openai_servers import events_in
from practicum_gateway.models.provider import Completed
from practicum_gateway.models.provider_errors import asked_wait
from tests.gateway.models.conftest import MakePrompt, read

_KEY = "Zm9v0123456789Zm9v0123456789"
"""In no form that is known of keys."""


@asynccontextmanager
async def wire(answer: Callable[[str], bytes]) -> AsyncGenerator[tuple[str, list[str]]]:
    """A server that sends what it is told to, byte for byte; its URL, and the heads of what it was asked."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = head.lower().partition("content-length:")[2].split()[0]
        await reader.readexactly(int(length))
        heads.append(head)
        writer.write(answer(head))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", heads
    finally:
        server.close()


def _http(status: int, body: bytes, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status} X", *headers, f"Content-Length: {len(body)}", "Connection: close", "", "")
    return "\r\n".join(lines).encode() + body


async def test_what_a_server_counts_and_numbers_is_believed_only_where_it_may_be(
    model: ScriptedModelServer, provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    def told(usage: object, ids: list[int], logprob: str) -> bytes:
        tokens = ",".join(f'{{"logprob": {logprob}}}' for _ in ids)
        return (
            f'{{"prompt_token_ids": [1, 2], "usage": {json.dumps(usage)}, "choices": [{{"finish_reason": "stop", '
            f'"message": {{"content": "a"}}, "token_ids": {ids}, "logprobs": {{"content": [{tokens}]}}}}]}}'
        ).encode()

    cases: tuple[tuple[object, str, Usage, int, tuple[float, ...]], ...] = (
        ({"prompt_tokens": 9, "completion_tokens": 2}, "-0.5", Usage(prompt_tokens=9, completion_tokens=2), 2, (-0.5,)),
        ({"prompt_tokens": -9, "completion_tokens": 10**30}, "NaN", Usage(prompt_tokens=2, completion_tokens=2), 2, ()),
        (None, "null", Usage(prompt_tokens=2, completion_tokens=2), 2, ()),
        (None, "-Infinity", Usage(prompt_tokens=2, completion_tokens=2), 2, ()),
        ({"prompt_tokens": 2, "completion_tokens": 3}, "-0.5", Usage(prompt_tokens=2, completion_tokens=3), 0, ()),
    )
    for usage, logprob, counted, known, logprobs in cases:
        model.extend(garbage(told(usage, [7, 8], logprob)))
        said = await provider.complete(prompt_of())
        assert said.usage == counted, usage
        ids = () if said.sampled is None else said.sampled.completion_ids
        assert len(ids) == known, usage
        assert (said.sampled.logprobs if said.sampled else ()) == logprobs * known, logprob
    model.extend(garbage(told(None, [7, 2**70], "-1")))
    with pytest.raises(ModelProviderError, match="token_ids"):
        await provider.complete(prompt_of())


async def test_a_servers_words_tell_no_key_wherever_they_stand(
    provider: LitellmProvider, prompt_of: MakePrompt
) -> None:
    said: list[bytes] = []
    completions = CompletionsProvider()
    async with wire(lambda _: said.pop()) as (url, _):
        prompt = prompt_of(api_key=_KEY, base_url=url)
        spec = prompt.spec.model_copy(update={"provider": Provider.COMPLETIONS, "codec": "hermes"})
        for before in (*range(30, 100, 6), 370, 1_000):  # also where what is shown would be cut within it
            for status in (200, 404, 502):
                said.append(_http(status, b"x" * before + f" {_KEY}".encode()))
                await _refuses(provider.complete(prompt))
            said.append(_http(404, b"no, " + _KEY.encode()))
            said.append(_http(404, b"tokenises nothing"))
            await _refuses(completions.complete(replace(prompt, spec=spec)))
            completions = CompletionsProvider()
        said.append(_http(200, b"", f"Content-Type: text/{_KEY}"))
        await _refuses(read(provider, prompt), "streamed no answer")
        ended = {"choices": [{"message": {"content": "a"}, "finish_reason": _KEY}]}
        said.append(_http(200, json.dumps(ended).encode()))
        assert without_key(await provider.complete(prompt), _KEY).finish_reason == "[redacted]"


async def _refuses(asked: Awaitable[object], words: str = ".") -> None:
    with pytest.raises(PracticumError, match=words) as caught:
        await asked
    assert _KEY[:8] not in f"{caught.value} {caught.value.mend} {getattr(caught.value, 'quoted', '')}"


async def test_a_redirect_is_not_followed(provider: LitellmProvider, prompt_of: MakePrompt) -> None:
    async with wire(lambda _: _http(200, b"{}")) as (there, asked):
        for status in (301, 302, 303, 307, 308):
            moved = _http(status, b"", f"Location: {there}/chat/completions")
            async with wire(lambda _, moved=moved: moved) as (url, _):
                with pytest.raises(ModelProviderError, match=str(status)):
                    await provider.complete(prompt_of(base_url=url))
        assert asked == []


async def test_an_error_is_told_whatever_stands_around_it(provider: LitellmProvider, prompt_of: MakePrompt) -> None:
    said: list[bytes] = []
    cases: tuple[tuple[JsonObject, type[PracticumError]], ...] = (
        ({"object": "error", "message": "too long", "code": 400}, RequestError),
        ({"error": {"message": "too long", "code": "400"}}, RequestError),
        ({"detail": "too long"}, ModelProviderError),
    )
    completions = CompletionsProvider()
    async with wire(lambda _: said.pop()) as (url, _):
        prompt = prompt_of(base_url=url)
        spec = prompt.spec.model_copy(update={"provider": Provider.COMPLETIONS, "codec": "hermes"})
        for told, kind in cases:
            event = b"event: error\ndata: %b\n\n" % json.dumps(told).encode()
            asks: tuple[tuple[Callable[[], Awaitable[object]], bytes], ...] = (
                (lambda: provider.complete(prompt), json.dumps(told).encode()),
                (lambda: read(provider, prompt), event),
                (lambda: completions.complete(replace(prompt, spec=spec)), json.dumps(told).encode()),
            )
            for ask, body in asks:
                said += [_http(200, body), *([_http(404, b"")] if ask is asks[2][0] and told is cases[0][0] else [])]
                with pytest.raises(PracticumError, match="too long") as caught:
                    await ask()
                assert type(caught.value) is kind, told


_SAID = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": %b}]}\n\n'


async def test_a_turn_that_has_ended_needs_no_more_than_that(provider: LitellmProvider, prompt_of: MakePrompt) -> None:
    head, whole = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n", _SAID % b'"stop"'
    packed = zlib.compress(whole)
    cases = (
        (head + b"%x\r\n%b\r\n" % (len(whole), whole), None),
        (_http(200, packed, "Content-Encoding: deflate"), None),
        (_http(200, zlib.compress(b"data: " + b"x" * 2**27), "Content-Encoding: deflate"), "is longer than"),
        (_http(200, b"nothing packed", "Content-Encoding: gzip"), "failed"),
        (head + b"%x\r\n%b\r\n" % (len(_SAID % b"null"), _SAID % b"null"), "no whole answer"),
    )
    for sent, wrong in cases:
        async with wire(lambda _, sent=sent: sent) as (url, _):
            if wrong is None:
                assert (await read(provider, prompt_of(base_url=url)))[1].message.content == "Hi."
            else:
                with pytest.raises(ModelProviderError, match=wrong):
                    await read(provider, prompt_of(base_url=url))


def _pieces(*chunks: JsonObject) -> Completed:
    answer = StreamedAnswer(where="m")
    for chunk in chunks:
        answer.add(json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [chunk]}}]}).encode())
    answer.add(b'{"choices": [{"index": 1, "delta": {"content": "of another choice"}}]}')
    answer.add(b'{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}')
    return answer.whole()


def test_calls_are_told_apart_however_a_server_numbers_and_names_them() -> None:
    first: JsonObject = {"id": "a", "function": {"name": "x", "arguments": '{"p":'}}
    more: JsonObject = {"function": {"arguments": "1}"}}
    other: JsonObject = {"id": "b", "function": {"name": "y", "arguments": '{"q":2}'}}
    whole, both = {"p": 1}, [("a", "x", {"p": 1}), ("b", "y", {"q": 2})]

    def said(*chunks: JsonObject) -> list[tuple[str, str, JsonObject]]:
        return [(call.id, call.name, call.arguments) for call in _pieces(*chunks).message.tool_calls]

    assert said(first, more, other) == both, "without numbers"
    assert said({**first, "index": 0}, {**more, "index": 0}, {**other, "index": 0}) == both, "all of one number"
    assert said({**first, "index": 0}, {**other, "index": 3}, {**more, "index": 0}) == both, "mixed"
    assert said({**other, "index": 9}, {**first, "index": 1}, {**more, "index": 1}) == both, "out of order"
    assert said({"id": "a", "index": 0, "function": None}, {**first, "index": 0}, {**more, "index": 0}) == both[:1]
    twice = said({**first, "index": 0}, {**more, "index": 0}, {**other, "id": "a", "index": 1})
    assert [call[1:] for call in twice] == [("x", whole), ("y", {"q": 2})]
    assert len({call[0] for call in twice}) == 2, "a result says whose it is by the id"
    assert _pieces(first, more).message.content is None, "only the first choice was asked for"


def test_a_long_stream_is_read_in_time_that_grows_with_its_length() -> None:
    chunk = json.dumps({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "a" * 32}}]}}]})

    def took(count: int) -> float:
        answer, began = StreamedAnswer(where="m"), time.process_time()
        for _ in range(count):
            answer.add(chunk.encode())
        return time.process_time() - began

    took(100)
    assert took(40_000) < 10 * took(10_000)


async def test_the_events_of_a_stream_are_found_however_it_is_cut() -> None:
    data = b'\xef\xbb\xbfdata: {"a": "\xc3\xbc"}\r\n\r\n: quiet\nevent: x\ndata:2\n\ndata: [DONE]'

    async def given(size: int) -> list[bytes]:
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        response = httpx.Response(200, stream=_Parts(parts))
        return [event async for events in events_in(response) for event in events]

    for size in (3, 4, 7, 1_000):
        assert await given(size) == ['{"a": "ü"}'.encode(), b"2", b"[DONE]"], size
    long = httpx.Response(200, stream=_Parts([b"data: ", *[b"x" * 4_096] * 8_192, b"\n"]))
    began = time.process_time()
    assert [len(event) async for events in events_in(long) for event in events] == [4_096 * 8_192]
    assert time.process_time() - began < 2


class _Parts(httpx.AsyncByteStream):
    """A body that comes in these parts."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def test_a_wait_may_be_asked_for_as_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < (asked_wait({"retry-after": soon}) or 0) <= 60
    for nonsense in ("Wed, 21 Oct 2015 07:28:00 GMT", "soon", "-5", "1e9", "٣", "Fri, 99 Foo 9999", ""):
        assert asked_wait({"retry-after": nonsense}) is None, nonsense
