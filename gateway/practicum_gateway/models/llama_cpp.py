"""The provider for llama.cpp servers: tokens in, tokens out, over the server's own endpoints.

The codec of the model renders and reads; this file speaks HTTP. A conversation that goes on keeps the token ids of the
call it continues, and only what was added is tokenised, piece by piece.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import cast

import httpx
from pydantic import JsonValue

from practicum.codecs.bodies import DEFAULT_CODEC, completion_body, in_force, sent
from practicum.codecs.codec import Codec, Piece
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelSpec, Sampled, Sampling, Usage
from practicum.errors import ConfigurationError, ModelProviderError
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.provider_errors import asked_wait, kind_of
from practicum_gateway.models.renderings import Shown, check_held

__all__ = ["DEFAULT_CODEC", "LlamaCppProvider"]

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 600.0
_EVENT = "data: "
_TOKENS_FROM = "tokens"
"""The field of its answers that holds ids; the prompt's are those that it was sent."""


class LlamaCppProvider:
    """Answers prompts with a llama.cpp server.

    Logprobs are the model's own, of its whole distribution, before temperature, nucleus or grammar narrowed it.
    """

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        """Take the client to speak through.

        Args:
            client: an HTTP client that the caller closes; one of its own when absent, closed by `aclose`.
        """
        self._owned = client is None
        # llama.cpp hangs up on idle connections and after streams; on one kept open, a turn would now and then be lost.
        self._client = client or httpx.AsyncClient(
            timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def aclose(self) -> None:
        """Close the provider's own client."""
        if self._owned:
            await self._client.aclose()

    async def complete(self, prompt: Prompt) -> Completed:
        """The model's turn.

        Raises:
            practicum.errors.ModelProviderError: the server failed, or answered what is no answer.
            practicum.errors.RequestError: the server refuses what it was asked; asking again will not help.
            practicum.errors.ConfigurationError: the model's registration lacks its URL or names an unknown codec.
        """
        exchange = self._exchange(prompt)
        ids = await exchange.prompt_ids()
        answer = await exchange.post("/completion", exchange.body(ids) | {"stream": False})
        drawn = _Drawn()
        drawn.take(answer, exchange.fail)
        return exchange.completed(ids, drawn)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completed]:
        """The model's turn in pieces of text, and last the whole of it; calls come with the whole alone.

        Raises:
            practicum.errors.ModelProviderError: as for `complete`; also when the stream ends early.
            practicum.errors.ConfigurationError: as for `complete`.
        """
        exchange = self._exchange(prompt)
        ids = await exchange.prompt_ids()
        drawn, shown = _Drawn(), Shown(exchange.codec)
        async for chunk in exchange.events("/completion", exchange.body(ids) | {"stream": True}):
            drawn.take(chunk, exchange.fail)
            if piece := shown.more(drawn.text):
                yield piece
        if drawn.ending is None:
            raise exchange.fail("its stream ended before the turn did")
        completed = exchange.completed(ids, drawn)
        if rest := shown.rest(completed.message):
            yield rest
        yield completed

    async def embed(self, prompt: Prompt, texts: Sequence[str]) -> JsonObject:
        """The vectors of texts as the server answers them, in OpenAI's form.

        Raises:
            practicum.errors.ModelProviderError: as for `complete`.
            practicum.errors.ConfigurationError: as for `complete`.
        """
        return await self._exchange(prompt).post("/v1/embeddings", {"model": prompt.spec.target, "input": [*texts]})

    async def tokenise(self, spec: ModelSpec, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The token ids of rendered pieces, as prompts get them; for whoever makes training rows.

        Raises:
            practicum.errors.ModelProviderError: as for `complete`.
            practicum.errors.ConfigurationError: as for `complete`.
        """
        return await self._exchange(Prompt(spec, (), (), Sampling())).tokenised(pieces)

    def _exchange(self, prompt: Prompt) -> "_Exchange":
        url = prompt.spec.base_url
        if not url:
            raise ConfigurationError(
                f"The model '{prompt.spec.alias}' has no base_url.",
                mend="Register it again with the URL of its llama.cpp server.",
            )
        check_held(prompt)
        codec = codec_named(prompt.spec.codec or DEFAULT_CODEC)
        return _Exchange(client=self._client, url=url.rstrip("/"), prompt=prompt, codec=codec)


class _Drawn:
    """What a server drew, as it comes: one answer, or the chunks of a stream."""

    def __init__(self) -> None:
        self.text = ""
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.ending: str | None = None
        self.evaluated = 0

    def take(self, chunk: JsonObject, fail: "_Fail") -> None:
        """Add one chunk."""
        text, ids, found = chunk.get("content"), chunk.get("tokens", []), chunk.get("completion_probabilities", [])
        if not isinstance(text, str) or not isinstance(ids, list) or not isinstance(found, list):
            raise fail("its answer is no completion")
        self.text += text
        self.ids += [_integer(token, fail) for token in ids]
        self.logprobs += [_logprob(entry, fail) for entry in found]
        if chunk.get("stop") is True:
            if chunk.get("truncated") is True:
                raise fail("it cut the prompt to fit its context")
            self.ending = str(chunk.get("stop_type"))
            self.evaluated = _integer(chunk.get("tokens_evaluated"), fail)


@dataclass(frozen=True, slots=True)
class _Fail:
    """Makes the one error of this file."""

    alias: str
    url: str

    def __call__(self, what: str, mend: str | None = None, *, quoted: str | None = None) -> ModelProviderError:
        detail = f"The model server of '{self.alias}' at {self.url} failed: {what}."
        return ModelProviderError(detail, mend=mend, quoted=quoted)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One turn with one server."""

    client: httpx.AsyncClient
    url: str
    prompt: Prompt
    codec: Codec

    @property
    def fail(self) -> _Fail:
        return _Fail(self.prompt.spec.alias, self.url)

    @property
    def _previous(self) -> Sampled | None:
        """Tokens that the prompt begins with."""
        previous = self.prompt.previous
        return None if previous is None or not previous.completion_ids else previous

    async def prompt_ids(self) -> tuple[int, ...]:
        """Token ids of the prompt: those of the call it continues, and what was said since."""
        prompt, previous = self.prompt, self._previous
        if previous is None:
            return await self.tokenised(self.codec.render(prompt.messages, prompt.tools))
        answer, *since = prompt.messages[prompt.covered - 1 :]
        ended = await self._ended(previous.completion_ids[-1])
        added = await self.tokenised(self.codec.suffix(answer, since, ended=ended))
        return (*previous.prompt_ids, *previous.completion_ids, *added)

    async def _ended(self, last: int) -> str | None:
        """Which of the codec's stops a turn ended with; None where it was cut off."""
        for stop in self.codec.stops:
            if await self._tokens([stop], special=True) == (last,):
                return stop
        return None

    def body(self, ids: Sequence[int]) -> JsonObject:
        return completion_body(ids, self.prompt.sampling, self.prompt.spec.adapter, self._grammar(), self.codec.marks)

    def completed(self, ids: tuple[int, ...], drawn: _Drawn) -> Completed:
        if drawn.ending is None:
            raise self.fail("its answer does not say how the turn ended")
        if len(drawn.logprobs) > len(drawn.ids) or (drawn.ids and not drawn.logprobs):
            raise self.fail(f"it gave {len(drawn.ids)} tokens and {len(drawn.logprobs)} logprobs")
        if drawn.evaluated != len(ids):
            raise self.fail(f"it was sent {len(ids)} tokens and read {drawn.evaluated}")
        before = sum(len(message.tool_calls) for message in self.prompt.messages)
        said = self.codec.parse(drawn.text, self.prompt.tools, before)
        # A token that ends within a character is given no probability: it is not known then which one has which.
        logprobs = tuple(drawn.logprobs) if len(drawn.logprobs) == len(drawn.ids) else ()
        whole = "tool_calls" if said.message.tool_calls else "stop"
        return Completed(
            message=said.message,
            reasoning=said.thought or None,
            finish_reason="length" if drawn.ending == "limit" else whole,
            usage=Usage(prompt_tokens=len(ids), completion_tokens=len(drawn.ids)),
            sampled=Sampled(prompt_ids=ids, completion_ids=tuple(drawn.ids), logprobs=logprobs),
            tokens_from=_TOKENS_FROM,
            template_hash=self.codec.template_hash,
            constrained=self._grammar() is not None,
            sampling=in_force(self.prompt.sampling),
            sent=sent(
                self.prompt.spec,
                self.body(ids),
                continued=None if self._previous is None else self.prompt.continued,
            ),
        )

    def _grammar(self) -> str | None:
        return self.codec.grammar(self.prompt.tools) if self.prompt.spec.constrained else None

    async def tokenised(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The ids of the pieces, each tokenised on its own, only control pieces as control tokens."""
        controls: dict[str, int] = {}
        for name in {piece.text for piece in pieces if piece.control}:
            ids = await self._tokens([name], special=True)
            if len(ids) != 1:
                raise self.fail(
                    f"'{name}' is no control token of its model",
                    f"The codec '{self.codec.name}' is for other models; `practicum models check` says which suits.",
                )
            controls[name] = ids[0]
        # The server tokenises each string of a list on its own and takes numbers as tokens.
        mixed: list[JsonValue] = [controls[piece.text] if piece.control else piece.text for piece in pieces]
        if all(piece.control for piece in pieces):
            return tuple(controls[piece.text] for piece in pieces)
        return await self._tokens(mixed, special=False)

    async def _tokens(self, content: list[JsonValue], *, special: bool) -> tuple[int, ...]:
        answer = await self.post("/tokenize", {"content": content, "add_special": False, "parse_special": special})
        tokens = answer.get("tokens")
        if not isinstance(tokens, list):
            raise self.fail("its answer holds no tokens")
        return tuple(_integer(token, self.fail) for token in tokens)

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        """Ask an endpoint, and read its JSON object."""
        try:
            response = await self.client.post(self.url + path, json=body, headers=self._headers())
        except httpx.HTTPError as error:
            raise self._unreached(error) from None
        self._refuse(response)
        return self._object(response.text)

    async def events(self, path: str, body: JsonObject) -> AsyncIterator[JsonObject]:
        """Ask an endpoint, and read the JSON objects it streams."""
        try:
            async with self.client.stream("POST", self.url + path, json=body, headers=self._headers()) as response:
                if response.is_error:
                    await response.aread()
                self._refuse(response)
                async for line in response.aiter_lines():
                    if line.startswith(_EVENT):
                        yield self._object(line.removeprefix(_EVENT))
        except httpx.HTTPError as error:
            raise self._unreached(error) from None

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.prompt.api_key}"} if self.prompt.api_key else {}

    def _unreached(self, error: httpx.HTTPError) -> ModelProviderError:
        reason = str(error) or type(error).__name__
        return self.fail(f"it cannot be reached ({reason})", "Start it, or register the model with another base_url.")

    def _refuse(self, response: httpx.Response) -> None:
        if not response.is_error:
            return
        try:
            said: object = response.json()["error"]["message"]
        except (ValueError, KeyError, TypeError):
            said = "no reason given"
        wait = asked_wait(response.headers)
        fault = self.fail(f"it answered {response.status_code}: {said}")
        raise kind_of(response.status_code, wait)(fault.detail, retry_after=wait, quoted=str(said))

    def _object(self, text: str) -> JsonObject:
        try:
            value: object = json.loads(text)
        except ValueError:
            mend, said = "Is this the URL of a llama.cpp server?", repr(text[:80])
            raise self.fail(f"its answer is not JSON: {said}", mend, quoted=said) from None
        if not isinstance(value, dict):
            raise self.fail("its answer is no JSON object")
        return cast("JsonObject", value)


def _integer(value: JsonValue, fail: _Fail) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise fail("a token in its answer is no number")
    return value


def _logprob(entry: JsonValue, fail: _Fail) -> float:
    value = entry.get("logprob") if isinstance(entry, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fail("a logprob in its answer is no number")
    return float(value)
