"""The port behind which every model stands, and the values that cross it."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec, Sampled, Sampling, Sent, Usage
from practicum.contracts.tools import Tool


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a provider is asked.

    Attributes:
        spec: the registered model.
        messages: the conversation so far.
        tools: the tools on offer.
        sampling: parameters, already merged with the model's defaults.
        api_key: the provider's key, decrypted for this call alone.
        previous: tokens of the call whose conversation this one continues, and how many of `messages` they cover
            (that call's messages and its response), so that a provider that works in tokens re-tokenises nothing.
        covered: number of leading `messages` that `previous` covers.
        continued: id of the call that `previous` are the tokens of.
        definitions: the same tools in OpenAI's form, as a foreign agent gave them or as the model's provider takes
            them, for a provider that passes them on.
        fallbacks: the models to ask in this one's place, in this order, where it cannot answer.
        anew: whether the model is asked even where the answer is known.
    """

    spec: ModelSpec
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    sampling: Sampling
    api_key: str | None = None
    previous: Sampled | None = None
    covered: int = 0
    continued: str | None = None
    definitions: tuple[JsonObject, ...] | None = None
    fallbacks: tuple[str, ...] = ()
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Completed:
    """What a provider answered.

    Attributes:
        message: the assistant's message, its tool calls parsed.
        finish_reason: `stop`, `tool_calls`, `length` or the provider's own word.
        usage: tokens.
        sampled: token ids and logprobs, where the server gives them.
        template_hash: SHA-256 of the template that rendered the prompt, where the gateway rendered it.
        constrained: whether a grammar held the decoding.
        cost: US dollars by the provider's price list, where that is known.
        tokens_from: the fields of the answer that held the token ids.
        reasoning: what the model thought before it answered, where the server tells.
        sampling: how tokens were drawn, where the provider decides what nobody asked for; None where it was as asked.
        sent: how the server was asked.
        cached: whether it is an answer that was given before, and nobody was asked.
    """

    message: Message
    finish_reason: str
    usage: Usage
    sampled: Sampled | None = None
    template_hash: str | None = None
    constrained: bool = False
    cost: float | None = None
    tokens_from: str | None = None
    reasoning: str | None = None
    sampling: Sampling | None = None
    sent: Sent | None = None
    cached: bool = False


class ModelProvider(Protocol):
    """Answers prompts, and makes vectors of texts."""

    async def complete(self, prompt: Prompt) -> Completed:
        """The model's turn.

        Raises:
            practicum.errors.ModelProviderError: the server failed, refused, or answered what is no answer.
        """
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completed]:
        """The model's turn in pieces of text, and last the whole of it.

        Raises:
            practicum.errors.ModelProviderError: as for `complete`.
        """
        ...

    async def embed(self, prompt: Prompt, texts: Sequence[str]) -> JsonObject:
        """What the server answers when it is asked for the vectors of texts, in OpenAI's form.

        Args:
            prompt: the model, and nothing said.
            texts: at least one.

        Raises:
            practicum.errors.ModelProviderError: as for `complete`.
        """
        ...
