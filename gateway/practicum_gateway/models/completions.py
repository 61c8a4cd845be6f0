"""The provider for servers of OpenAI's text completions: a codec renders the prompt and reads the answer.

A server that tokenises for whoever asks, such as vLLM's, is given tokens and tells those that it drew, so that a
conversation that goes on keeps every token it had. Any other is given text: nothing is known of its tokens.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from practicum.codecs.bodies import in_force, sent, text_body
from practicum.codecs.codec import Codec, Piece
from practicum.codecs.plain import plain_text, runs
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.models import Sampled
from practicum.errors import ConfigurationError, ModelProviderError, RequestError
from practicum_gateway.models.openai_answer import (
    Answering,
    Reason,
    TokenId,
    TokenUsage,
    UnreadableError,
    sampled_of,
    start_of,
)
from practicum_gateway.models.openai_servers import VECTORS, RefusalError, Server, events_in, transport_to, whole
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.provider_errors import provider_errors, said_by
from practicum_gateway.models.renderings import Shown, check_held

_COMPLETIONS, _TOKENISE = "/completions", "/tokenize"
_TOKENS_FROM = "choices.token_ids"
_SILENT_SECONDS = 600.0
"""For how long a server that tokenised nothing is not asked to again."""
_NOT_THERE = frozenset({404, 405, 501})
_DONE = b"[DONE]"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Logprobs(_Part):
    token_logprobs: tuple[float | None, ...] | None = None


class _Choice(_Part):
    text: str | None = None
    finish_reason: Reason = None
    token_ids: tuple[TokenId, ...] | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    logprobs: _Logprobs | None = None


class _Answer(Answering):
    choices: tuple[_Choice, ...] | None = None
    usage: TokenUsage | None = None


class _Tokens(_Part):
    tokens: tuple[TokenId, ...]


class CompletionsProvider:
    """Answers prompts with servers of text completions."""

    def __init__(self) -> None:
        """Connect to nothing yet."""
        self._servers: dict[str, Server] = {}
        self._controls: dict[tuple[str, str, str], tuple[int, ...]] = {}
        self._silent: dict[str, float] = {}

    async def complete(self, prompt: Prompt) -> Completed:
        """The model's turn.

        Raises:
            ModelProviderError: the server is down, overloaded, or answered what is no answer.
            RequestError: the server refuses what it was asked, or has no text completions.
            ConfigurationError: the model's registration lacks its URL or codec, or the codec is for other models.
        """
        exchange = self._exchange(prompt)
        with provider_errors(prompt):
            body, ids = await exchange.body()
            drawn = _Drawn()
            try:
                async with exchange.server.asked(_COMPLETIONS, body, prompt.api_key) as response:
                    drawn.take(await whole(response))
            except RefusalError as refusal:
                raise exchange.refused(refusal) from None
            return exchange.completed(drawn, ids, body)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completed]:
        """The model's turn in pieces of text, and last the whole of it; calls come with the whole alone.

        Raises:
            ModelProviderError: as for `complete`; also when the stream stops before its end.
            RequestError: as for `complete`.
            ConfigurationError: as for `complete`.
        """
        exchange = self._exchange(prompt)
        with provider_errors(prompt):
            body, ids = await exchange.body()
            wish: JsonObject = {**body, "stream": True, "stream_options": {"include_usage": True}}
            drawn, shown = _Drawn(), Shown(exchange.codec)
            try:
                async with exchange.server.asked(_COMPLETIONS, wish, prompt.api_key) as response:
                    async for events in events_in(response):
                        for event in events:
                            if event != _DONE:
                                drawn.take(event)
                        if piece := shown.more(exchange.spoken(drawn)):
                            yield piece
                        if _DONE in events:
                            break
            except RefusalError as refusal:
                raise exchange.refused(refusal) from None
            completed = exchange.completed(drawn, ids, body)
            if rest := shown.rest(completed.message):
                yield rest
            yield completed

    async def embed(self, prompt: Prompt, texts: Sequence[str]) -> JsonObject:
        """The vectors of texts as the server answers them, in OpenAI's form.

        Raises:
            ModelProviderError: as for `complete`.
            RequestError: as for `complete`.
        """
        with provider_errors(prompt):
            return await self._exchange(prompt).server.vectors(prompt.spec.target, texts, prompt.api_key)

    async def close(self) -> None:
        """Close the connections that nobody uses; those in use end with their answers."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.transport.aclose()

    def _exchange(self, prompt: Prompt) -> "_Exchange":
        base, codec = prompt.spec.base_url, prompt.spec.codec
        if not base or codec is None:
            raise ConfigurationError(
                f"The model '{prompt.spec.alias}' has no {'codec' if base else 'base_url'}.",
                mend="Register it again with the URL of its server and the codec of its chat template.",
            )
        check_held(prompt)
        if base not in self._servers:
            url = httpx.URL(base)
            path = url.path.rstrip("/")
            urls = {name: url.copy_with(path=path + name) for name in (_COMPLETIONS, VECTORS)}
            urls[_TOKENISE] = url.copy_with(path=path.removesuffix("/v1") + _TOKENISE)
            self._servers[base] = Server(urls, transport_to(url))
        return _Exchange(self._servers[base], prompt, codec_named(codec), self._controls, self._silent)


@dataclass(slots=True)
class _Drawn:
    """What a server drew, as it comes: one answer, or the chunks of a stream."""

    text: str = ""
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    told: tuple[int, ...] | None = None
    ending: str | None = None
    counts: TokenUsage | None = None

    def take(self, said: bytes) -> None:
        """Add one answer.

        Raises:
            UnreadableError: it is none.
            ToldError: it is an error.
        """
        try:
            answer = _Answer.model_validate_json(said)
        except ValidationError:
            raise UnreadableError(f"its answer is no completion: {start_of(said)}") from None
        answer.check(answers=answer.choices is not None)
        self.counts = answer.usage or self.counts
        for choice in (answer.choices or ())[:1]:
            self.text += choice.text or ""
            self.ids += choice.token_ids or ()
            told = (choice.logprobs.token_logprobs if choice.logprobs is not None else None) or ()
            self.logprobs += [each for each in told if each is not None]
            self.told = choice.prompt_token_ids or self.told
            self.ending = choice.finish_reason or self.ending


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One turn with one server.

    Attributes:
        server: which.
        prompt: what it is asked.
        codec: how its model is spoken to.
        controls: the ids of control tokens that are known, by server, model and name.
        silent: the servers that tokenise nothing, and when each was last asked to.
    """

    server: Server
    prompt: Prompt
    codec: Codec
    controls: dict[tuple[str, str, str], tuple[int, ...]]
    silent: dict[str, float]

    async def body(self) -> tuple[JsonObject, tuple[int, ...]]:
        """What the server is asked, and the ids of the prompt where it is asked in tokens."""
        spec, sampling = self.prompt.spec, self.prompt.sampling
        ids = await self._ids()
        if ids is None:
            rendered = plain_text(self.codec, self.codec.render(self.prompt.messages, self.prompt.tools))
            return text_body(spec.target, rendered, sampling, self.codec), ()
        stops = [await self._control(stop) for stop in self.codec.stops]
        stop_ids = [found[0] for found in stops if len(found) == 1]
        return text_body(spec.target, ids, sampling, self.codec, stop_ids), ids

    def spoken(self, drawn: _Drawn) -> str:
        """The text of a turn without the control token that ended it, which some servers show."""
        return next(
            (drawn.text.removesuffix(stop) for stop in self.codec.stops if drawn.text.endswith(stop)), drawn.text
        )

    def completed(self, drawn: _Drawn, ids: tuple[int, ...], body: JsonObject) -> Completed:
        """The whole turn."""
        alias = self.prompt.spec.alias
        if drawn.ending is None:
            raise ModelProviderError(f"The model '{alias}' stopped in the middle of its answer.")
        if drawn.told is not None and ids and drawn.told != ids:
            raise ModelProviderError(f"The server of '{alias}' was sent {len(ids)} tokens and read {len(drawn.told)}.")
        before = sum(len(message.tool_calls) for message in self.prompt.messages)
        said = self.codec.parse(self.spoken(drawn), self.prompt.tools, before)
        if not said.message.content and not said.message.tool_calls and drawn.ending == "stop":
            raise ModelProviderError(f"The model '{alias}' answered with nothing.")
        counts = drawn.counts or TokenUsage()
        told = drawn.ids if ids and drawn.ids else None
        sampled = sampled_of(ids, told, drawn.logprobs, counts.completion_tokens)
        return Completed(
            message=said.message,
            finish_reason="tool_calls" if said.message.tool_calls and drawn.ending == "stop" else drawn.ending,
            usage=counts.or_of(sampled),
            sampled=sampled,
            tokens_from=None if sampled is None else _TOKENS_FROM,
            reasoning=said.thought or None,
            template_hash=self.codec.template_hash,
            sampling=in_force(self.prompt.sampling),
            sent=sent(
                self.prompt.spec,
                body,
                continued=self.prompt.continued if ids and self.prompt.previous is not None else None,
            ),
        )

    def refused(self, refusal: RefusalError) -> Exception:
        """A refusal as it is; where there is nothing to ask, what to do."""
        if refusal.status_code not in _NOT_THERE:
            return refusal
        spec = self.prompt.spec
        return RequestError(
            f"The server of '{spec.alias}' has no {_COMPLETIONS} below {spec.base_url}, or no model '{spec.target}': "
            f"{said_by(refusal, self.prompt)}",
            mend="Check base_url and target. A server without text completions cannot be spoken to with a codec: "
            "leave the codec out if it calls tools itself.",
        )

    async def _ids(self) -> tuple[int, ...] | None:
        """The ids of the prompt; None where the server does not tokenise."""
        url = self.prompt.spec.base_url or ""
        if time.monotonic() - self.silent.get(url, -_SILENT_SECONDS) < _SILENT_SECONDS:
            return None
        previous = self.prompt.previous
        if not await self._control(self.codec.stops[0], knows=False):
            self.silent[url] = time.monotonic()
            return None
        if previous is None or not previous.completion_ids:
            return await self._tokenised(self.codec.render(self.prompt.messages, self.prompt.tools))
        answer, *since = self.prompt.messages[self.prompt.covered - 1 :]
        added = await self._tokenised(self.codec.suffix(answer, since, ended=await self._ended(previous)))
        return (*previous.prompt_ids, *previous.completion_ids, *added)

    async def _ended(self, previous: Sampled) -> str | None:
        """Which of the codec's stops a turn ended with; None where it was cut off."""
        for stop in self.codec.stops:
            if await self._control(stop) == previous.completion_ids[-1:]:
                return stop
        return None

    async def _tokenised(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The ids of a rendering: control tokens by their names, and nothing else as a control token."""
        parts = list(runs(self.codec, pieces))
        texts = list(dict.fromkeys(text for part in parts if not isinstance(part, str) for text in part))
        found = dict(zip(texts, await asyncio.gather(*map(self._tokens, texts)), strict=True))
        ids: list[int] = []
        for part in parts:
            if isinstance(part, str):
                ids += await self._named(part)
            else:
                ids += [token for text in part for token in found[text]]
        return tuple(ids)

    async def _named(self, name: str) -> tuple[int, ...]:
        found = await self._control(name)
        if len(found) != 1:
            raise ConfigurationError(
                f"'{name}' is no control token of the model '{self.prompt.spec.alias}'.",
                mend=f"The codec '{self.codec.name}' is for other models; `practicum models check` says which suits.",
            )
        return found

    async def _control(self, name: str, *, knows: bool = True) -> tuple[int, ...]:
        """The ids of a control token's name; none where the server does not tokenise."""
        key = (self.prompt.spec.base_url or "", self.prompt.spec.target, name)
        if key not in self.controls:
            try:
                self.controls[key] = await self._tokens(name)
            except RefusalError as refusal:
                if knows or refusal.status_code not in _NOT_THERE:
                    raise
                return ()
        return self.controls[key]

    async def _tokens(self, text: str) -> tuple[int, ...]:
        body: JsonObject = {"model": self.prompt.spec.target, "prompt": text, "add_special_tokens": False}
        async with self.server.asked(_TOKENISE, body, self.prompt.api_key) as response:
            said = await whole(response)
        try:
            return _Tokens.model_validate_json(said).tokens
        except ValidationError:
            raise UnreadableError(f"what it tokenised are no tokens: {start_of(said)}") from None
