"""Any model that litellm knows, its tools called natively; servers that speak OpenAI's form are asked without it.

litellm is imported at the first call and nowhere else: its import costs seconds. It is told not to call home, not to
retry (the caller of the gateway owns retries) and not to print.
"""

import asyncio
import os
import warnings
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from practicum.codecs.bodies import sent
from practicum.contracts.base import JsonObject
from practicum.errors import ModelProviderError
from practicum_gateway.models.chat_format import body_of
from practicum_gateway.models.openai_answer import StreamedAnswer, read_answer
from practicum_gateway.models.openai_servers import OpenAIServers, asked_directly
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.provider_errors import provider_errors

_NO_KEY = "none"
"""Stands in for a key that a self-hosted server does not ask for, so that no key of the environment is sent to it."""

_BEYOND_OPENAI = "return_token_ids"
"""What litellm passes on only as something extra."""


class LitellmProvider:
    """Answers prompts through litellm."""

    def __init__(self, *, timeout_seconds: float = 300.0) -> None:
        """Nothing is imported or opened yet.

        Args:
            timeout_seconds: how long one answer may take; for a stream, how long the server may be silent.
        """
        self._timeout = timeout_seconds
        self._servers = OpenAIServers()
        self._loading = asyncio.Lock()
        self._litellm: Any = None

    async def complete(self, prompt: Prompt) -> Completed:
        """The model's turn.

        Raises:
            ModelProviderError: the provider is down, overloaded, or answered what is no answer.
            RequestError: the provider refuses what it was asked; asking again will not help.
        """
        if asked_directly(prompt.spec):
            return await self._servers.complete(prompt)
        with provider_errors(prompt):
            litellm = await self._load()
            body = body_of(prompt)
            answer = await litellm.acompletion(**self._arguments(prompt, body))
            completed = _priced(litellm, prompt, read_answer(answer.model_dump(), where=prompt.spec.alias))
            return replace(completed, sent=sent(prompt.spec, body))

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completed]:
        """The model's turn in pieces of text, and last the whole of it.

        Raises:
            ModelProviderError: as for `complete`; also when the stream stops before its end.
            RequestError: as for `complete`.
        """
        if asked_directly(prompt.spec):
            async with aclosing(self._servers.stream(prompt)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        answer = StreamedAnswer(where=prompt.spec.alias)
        with provider_errors(prompt):
            litellm = await self._load()
            body = body_of(prompt)
            chunks = await litellm.acompletion(
                stream=True, stream_options={"include_usage": True}, **self._arguments(prompt, body)
            )
            async for chunk in chunks:
                if text := answer.add(chunk.model_dump()):
                    yield text
            # litellm closes a stream that broke off with a finish reason of its own making.
            if chunks.received_finish_reason is None:
                raise ModelProviderError(f"The model '{prompt.spec.alias}' stopped in the middle of its answer.")
            yield replace(_priced(litellm, prompt, answer.whole()), sent=sent(prompt.spec, body))

    async def embed(self, prompt: Prompt, texts: Sequence[str]) -> JsonObject:
        """The vectors of texts as litellm answers them, in OpenAI's form.

        Raises:
            ModelProviderError: as for `complete`.
            RequestError: as for `complete`; also when the model makes no vectors.
        """
        if asked_directly(prompt.spec):
            return await self._servers.embed(prompt, texts)
        with provider_errors(prompt):
            litellm = await self._load()
            answer = await litellm.aembedding(input=[*texts], encoding_format="float", **self._reaching(prompt))
            return answer.model_dump()

    async def close(self) -> None:
        """Close the connections to providers."""
        await self._servers.close()
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()

    async def _load(self) -> Any:
        async with self._loading:
            if self._litellm is None:
                # Seconds of work, so in a thread: the gateway goes on answering meanwhile.
                self._litellm = await asyncio.to_thread(_import_litellm)
        return self._litellm

    def _arguments(self, prompt: Prompt, body: JsonObject) -> dict[str, Any]:
        """What litellm is told so that it sends this body."""
        told = {name: part for name, part in body.items() if name not in {"model", _BEYOND_OPENAI}}
        if _BEYOND_OPENAI in body:
            told["extra_body"] = {_BEYOND_OPENAI: body[_BEYOND_OPENAI]}
        return self._reaching(prompt) | told

    def _reaching(self, prompt: Prompt) -> dict[str, Any]:
        """Whom a call is for, and with which patience."""
        spec = prompt.spec
        arguments: dict[str, Any] = {
            "model": spec.target,
            "timeout": self._timeout,
            "num_retries": 0,
            "max_retries": 0,
        }
        if spec.base_url is not None:
            arguments["api_base"] = spec.base_url
        if prompt.api_key is not None or spec.base_url is not None:
            arguments["api_key"] = prompt.api_key or _NO_KEY
        return arguments


def _priced(litellm: Any, prompt: Prompt, completed: Completed) -> Completed:
    """The answer with what it cost; without, where the price list that litellm brings does not know the model.

    A server of one's own has no list price, whatever its model is called.
    """
    target, usage = prompt.spec.target, completed.usage
    prices: dict[str, dict[str, Any]] = litellm.model_cost
    price = prices.get(target) or prices.get(target.partition("/")[2]) or {}
    asked, answered = price.get("input_cost_per_token"), price.get("output_cost_per_token")
    if prompt.spec.base_url is not None or asked is None or answered is None:
        return completed
    return replace(completed, cost=usage.prompt_tokens * asked + usage.completion_tokens * answered)


def _import_litellm() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import fetches a price list
    # It builds types when it first uses them, and each warns of what no reader can change.
    warnings.filterwarnings("ignore", message=r"Items? '.*' on TypedDict class", category=UserWarning)
    import litellm  # seconds of CPU and 200 MB, only for those who call a model through it

    litellm.suppress_debug_info = True
    litellm.callbacks = []
    litellm.success_callback = []
    litellm.failure_callback = []
    litellm.drop_params = False  # a parameter the provider does not know is an error, not ignored
    litellm.disable_aiohttp_transport = True  # its aiohttp sessions outlive the loop
    return litellm
