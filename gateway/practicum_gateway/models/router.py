"""Models by alias: the prompt for whoever answers behind it, one span for every call."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager

from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec, Provider, Sampled, Sampling
from practicum.contracts.tools import Tool
from practicum.errors import ModelProviderError, PracticumError
from practicum_gateway.content import Content
from practicum_gateway.metrics.instruments import At
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.models.answers import Answers
from practicum_gateway.models.keyless import KeylessText, without_key
from practicum_gateway.models.provider import Completed, ModelProvider, Prompt
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.rests import Rests
from practicum_gateway.models.versions import version_of

_BROKEN_OFF = "broken_off"
_CONVENTIONAL = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""What the GenAI conventions call a provider that litellm calls otherwise."""
_GRACE = 0.5
"""Seconds after which an answer is given up on that the provider's own bound should have ended."""


class Models:
    """Calls models by their alias."""

    def __init__(
        self,
        registry: Registry,
        providers: Mapping[Provider, ModelProvider],
        tracer: Tracer,
        meter: Meter | None = None,
        content: Content | None = None,
        *,
        seconds: float = 600.0,
    ) -> None:
        """Look aliases up in a registry, ask the provider that each names, make spans of the calls and count them.

        Args:
            registry: knows the models.
            providers: who answers.
            tracer: makes the spans.
            meter: counts.
            content: puts on the spans what was said, where an operator asked for it.
            seconds: how long an answer may take, however slowly it trickles in, and a streamed one be silent.
        """
        self._registry = registry
        self._providers = dict(providers)
        self._tracer = tracer
        self._meter = meter or Meter()
        self._content = content
        self._rests = Rests()
        self._answers = Answers()
        self._seconds = seconds

    async def prompt(
        self,
        name: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sampling: Sampling | None = None,
        definitions: Sequence[JsonObject] | None = None,
        previous: Sampled | None = None,
        covered: int = 0,
        unit: str | None = None,
        anew: bool = False,
    ) -> Prompt:
        """What the provider behind a model will be asked.

        Args:
            name: the model, as `alias` or `alias@version`.
            messages: the conversation so far.
            tools: the tools on offer.
            sampling: overrides of the model's own defaults.
            definitions: the same tools as a foreign agent defined them, or as the model's provider takes them.
            previous: tokens of the call that this one continues.
            covered: how many of `messages` these cover.
            unit: for whom it is, where an alias that is split shall draw a version.
            anew: whether the model is asked even where the answer is known.

        Raises:
            NotFoundError: there is no such alias or version.
            ConfigurationError: it cannot be asked in the way it was trained for.
        """
        model = await self._registry.get(name, unit=unit)
        return Prompt(
            spec=model.spec,
            messages=tuple(messages),
            tools=tuple(tools),
            sampling=merged(model.spec.sampling, sampling or Sampling()),
            api_key=model.api_key,
            previous=previous,
            covered=covered,
            definitions=None if definitions is None else tuple(definitions),
            fallbacks=model.fallbacks,
            anew=anew,
        )

    async def version(self, name: str) -> str:
        """What the record calls the model behind `alias` or `alias@version` now.

        Raises:
            NotFoundError: there is no such alias or version.
            ConfigurationError: as for `prompt`.
        """
        return (await self._registry.get(name)).version

    async def embed(self, name: str, texts: Sequence[str]) -> JsonObject:
        """What the server of an embedding model answers, in OpenAI's form.

        Args:
            name: the model, as `alias` or `alias@version`.
            texts: at least one.

        Raises:
            NotFoundError: there is no such alias or version.
            ModelProviderError: the provider failed, or asked for rest; another try may help.
            RequestError: the provider refuses the request; another try will not help.
        """
        prompt = await self.prompt(name, ())
        with _span(self._tracer, self._meter, prompt, None, operation="embeddings"), self._rests.heeded(prompt):
            async with self._within(prompt):
                return await self._providers[prompt.spec.provider].embed(prompt, texts)

    async def complete(self, prompt: Prompt, *, episode: str | None = None, attempt: int = 1) -> Completed:
        """The model's turn.

        Args:
            prompt: what the model is asked.
            episode: the episode it belongs to, for the trace.
            attempt: which try at the turn it is; those beyond the first are counted.

        Raises:
            ModelProviderError: the provider failed, or asked for rest; another try may help.
            RequestError: the provider refuses the request; another try will not help.
        """
        if (known := self._answers.known(prompt)) is not None:
            return known
        with _span(self._tracer, self._meter, prompt, episode, attempt) as span, self._rests.heeded(prompt):
            self._asked(span, prompt)
            async with self._within(prompt):
                answer = await self._providers[prompt.spec.provider].complete(prompt)
            completed = without_key(answer, prompt.api_key)
            self._note(span, prompt, completed)
        self._answers.keep(prompt, completed)
        return completed

    async def stream(
        self, prompt: Prompt, *, episode: str | None = None, attempt: int = 1
    ) -> AsyncGenerator[str | Completed]:
        """The model's turn in pieces of text, and last the whole of it; an answer that is known, in one piece.

        Args:
            prompt: what the model is asked.
            episode: the episode it belongs to, for the trace.
            attempt: as for `complete`.

        Raises:
            ModelProviderError: as for `complete`; also when the answer breaks off.
            RequestError: as for `complete`.
        """
        if (known := self._answers.known(prompt)) is not None:
            if known.message.content:
                yield known.message.content
            yield known
            return
        text = KeylessText(prompt.api_key)
        with _span(self._tracer, self._meter, prompt, episode, attempt) as span, self._rests.heeded(prompt):
            self._asked(span, prompt)
            began = time.perf_counter()
            first = True
            async with aclosing(self._providers[prompt.spec.provider].stream(prompt)) as pieces:
                while (piece := await self._next(pieces, prompt)) is not None:
                    if first:
                        self._began(span, prompt, time.perf_counter() - began)
                        first = False
                    given = text.add(piece) if isinstance(piece, str) else text.rest()
                    if given:
                        yield given
                    if isinstance(piece, Completed):
                        whole = without_key(piece, prompt.api_key)
                        self._note(span, prompt, whole)
                        self._answers.keep(prompt, whole)
                        yield whole

    async def _next(self, pieces: AsyncIterator[str | Completed], prompt: Prompt) -> str | Completed | None:
        async with self._within(prompt):
            return await anext(pieces, None)

    @asynccontextmanager
    async def _within(self, prompt: Prompt) -> AsyncGenerator[None]:
        """Give up on a server that is silent, or that sends just enough not to seem so."""
        try:
            async with asyncio.timeout(self._seconds + _GRACE):
                yield
        except TimeoutError:
            raise ModelProviderError(
                f"The provider of model '{prompt.spec.alias}' did not answer within {self._seconds:g} s.",
                mend="Try again; is the model server up? PRACTICUM_MODEL_SECONDS says how long is waited.",
            ) from None

    def _asked(self, span: Span, prompt: Prompt) -> None:
        if self._content is not None:
            self._content.asked(span, prompt.messages, prompt.api_key)

    def _began(self, span: Span, prompt: Prompt, seconds: float) -> None:
        span.set_attribute("gen_ai.request.stream", True)
        span.set_attribute("gen_ai.response.time_to_first_chunk", seconds)
        self._meter.first_seconds.observe(seconds, *_place(self._meter, prompt, "chat"))

    def _note(self, span: Span, prompt: Prompt, completed: Completed) -> None:
        usage = completed.usage
        if self._content is not None:
            self._content.answered(span, completed.message, completed.finish_reason, completed.reasoning)
        span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
        span.set_attribute("gen_ai.response.finish_reasons", [completed.finish_reason])
        at = _place(self._meter, prompt, "chat")
        self._meter.took(at, usage.prompt_tokens, usage.completion_tokens)
        if completed.cost is not None:
            self._meter.cost.add(*at[2:], by=completed.cost)


def merged(defaults: Sampling, overrides: Sampling) -> Sampling:
    """The parameters in force: the overrides where they say something, else the defaults."""
    return defaults.model_copy(update=overrides.model_dump(exclude_none=True))


@contextmanager
def _span(
    tracer: Tracer, meter: Meter, prompt: Prompt, episode: str | None, attempt: int = 1, *, operation: str = "chat"
) -> Generator[Span]:
    """A client span with the GenAI conventions, and a count."""
    spec, sampling = prompt.spec, prompt.sampling
    attributes: dict[str, str | int | float] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _provider_name(spec),
        "gen_ai.request.model": spec.alias,
        "gen_ai.response.model": version_of(spec),
    }
    if episode is not None:
        attributes["gen_ai.conversation.id"] = episode
    asked = {
        "gen_ai.request.temperature": sampling.temperature,
        "gen_ai.request.top_p": sampling.top_p,
        "gen_ai.request.max_tokens": sampling.max_tokens,
        "gen_ai.request.seed": sampling.seed,
    }
    attributes |= {name: value for name, value in asked.items() if value is not None}
    # Not made current: a stream's consumer runs in other contexts than the stream.
    span = tracer.start_span(f"{operation} {spec.alias}", kind=SpanKind.CLIENT, attributes=attributes)
    began, code = time.perf_counter(), _BROKEN_OFF
    try:
        yield span
        code = ""
    except PracticumError as error:
        code = error.code
        span.set_status(StatusCode.ERROR, error.title)
        raise
    finally:
        if code:
            span.set_attribute("error.type", code)
        span.end()
        at = _place(meter, prompt, operation)
        meter.model_seconds.observe(time.perf_counter() - began, *at, code)
        if attempt > 1:
            meter.model_retries.add(*at[2:])


def _place(meter: Meter, prompt: Prompt, operation: str) -> At:
    """Where a call is counted: in the domain of whose tools its model is offered."""
    domain = meter.domain(tool.connector for tool in prompt.tools)
    return meter.asked(operation, _provider_name(prompt.spec), prompt.spec.alias, domain)


def _provider_name(spec: ModelSpec) -> str:
    """Who answers, by the name that the conventions have for it where they have one."""
    named, slash, _ = spec.target.partition("/")
    return _CONVENTIONAL.get(named, named) if spec.provider is Provider.LITELLM and slash else spec.provider
