"""Models: how one is registered, asked, and recorded."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from practicum.contracts.base import JsonObject, Name, Value
from practicum.contracts.checks import ModelCheck
from practicum.contracts.messages import Message

_AT = "@"


def reference(alias: str, version: str | None) -> str:
    """How a model is asked for: `alias@version`, or the alias alone for the version that it names."""
    return alias if version is None else f"{alias}{_AT}{version}"


def parted(name: str) -> tuple[str, str | None]:
    """The alias and, where the name gives one, the version; an alias holds no `@`."""
    alias, at, version = name.partition(_AT)
    return alias, version if at else None


LONGEST_VERSION = 200
"""The most characters of a model's version."""


class Provider(StrEnum):
    """Who answers a model call."""

    LITELLM = "litellm"
    """Any model litellm knows, tools called natively."""
    LLAMA_CPP = "llama_cpp"
    """A llama.cpp server: the gateway renders tools, constrains and parses calls, and keeps token ids."""
    COMPLETIONS = "completions"
    """A server of OpenAI's text completions, such as vLLM's: the gateway renders tools and parses calls with a codec,
    and keeps token ids where the server tokenises and tells them."""

    @property
    def renders(self) -> bool:
        """Whether the gateway renders its prompts, with a codec."""
        return self is not Provider.LITELLM


TOOL_TOKENS = {Provider.LITELLM: 20_000, Provider.LLAMA_CPP: 1_000, Provider.COMPLETIONS: 20_000}
"""Most tokens of tool definitions in one prompt: what is worth paying at each turn of a provider's model, and what
leaves room for a conversation in the context that a llama.cpp server has by default."""


def _tool_tokens(given: dict[str, Any]) -> int | None:
    """The bound that a registration has by default: none for a bundle, which was trained with all tools shown."""
    return TOOL_TOKENS.get(given.get("provider", Provider.LITELLM)) if given.get("bundle") is None else None


_HELD = ("stop", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort")


class Sampling(Value):
    """How tokens are drawn, and what an answer is held to. None leaves the provider's own default.

    Attributes:
        temperature: 0 takes the likeliest token.
        top_p: nucleus mass; 1 keeps the whole distribution, as training needs.
        max_tokens: the most tokens one turn may have.
        seed: makes a draw repeatable where the provider can.
        stop: texts before which a turn ends.
        tool_choice: `required`, or in OpenAI's form the one tool that has to be called.
        parallel_tool_calls: whether one turn may call several tools.
        response_format: the form of the answer, such as a JSON schema, as OpenAI writes it.
        reasoning_effort: how much is thought before the answer, in the provider's own word.
    """

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    tool_choice: Literal["required"] | JsonObject | None = None
    parallel_tool_calls: bool | None = None
    response_format: JsonObject | None = None
    reasoning_effort: str | None = Field(default=None, max_length=20)

    @property
    def holding(self) -> tuple[str, ...]:
        """The names of what only a provider that calls tools natively can hold an answer to, where it is asked for."""
        return tuple(name for name in _HELD if getattr(self, name) is not None)


class ExampleSet(Value):
    """Solved tasks of which the nearest is shown to the model before its own.

    Attributes:
        episodes: solved conversations, each from its user message to its final answer.
        shown: how many of the nearest are shown.
        embedder: the registered model, `alias` or `alias@version`, whose vectors tell how near two tasks are; their
            words do when None.
    """

    episodes: tuple[tuple[Message, ...], ...]
    shown: int = Field(default=1, ge=0, le=8)
    embedder: str | None = Field(default=None, min_length=1, max_length=300)


class BundleFacts(Value):
    """What a trained model was made of, as its bundle says.

    Attributes:
        digest: identity of the bundle: its weights and what they mean.
        stage: what made it, such as `sft`.
        codec: the dialect it was trained in.
        template_hash: of that codec at the time; whoever serves it must render the same.
        base_hash: of the model below it.
        weights_hash: of what is served: the adapter.
        data_hashes: of what was learned from: data sets, suites.
    """

    digest: str
    stage: str
    codec: str
    template_hash: str
    base_hash: str
    weights_hash: str
    data_hashes: tuple[str, ...] = ()


class ModelSpec(Value):
    """An alias and what answers behind it.

    Attributes:
        alias: the name that episodes and chat calls use.
        provider: who answers.
        target: the provider's own name: `openai/gpt-5-mini`, or the served model's.
        base_url: where a self-hosted server listens.
        api_key: the provider's key; stored encrypted, never returned.
        codec: how tools are rendered and calls parsed for a model whose prompts the gateway renders; a `completions`
            server needs one, and of a llama.cpp server it is `chatml-compact` when absent.
        adapter: LoRA scale per adapter id of a llama.cpp server.
        constrained: whether decoding is held to well-formed calls of the offered tools.
        sampling: defaults for its calls.
        system: text put before the task in an episode's system message.
        examples: solved tasks to show.
        version: what a trajectory records as the model's version, and `alias@version` names; when absent, the target
            with its adapters.
        bundle: what it was trained from; its template must be the gateway's.
        tool_tokens: the most tokens of tool definitions in one prompt, counted as four characters each in the form
            that is sent. An episode whose tools exceed them is offered `search_tools` and `call_tool` instead. None
            sets no bound; when absent, what `TOOL_TOKENS` says, and None for a bundle.
        tool_profile: in which provider's form tools are written for a litellm model; when None, by the target: that of
            OpenAI, Anthropic or Gemini where it begins with their names, else as they are.
        cache_seconds: for how long the answer to the very same question is given again, where temperature is 0 or a
            seed is given; never in training. None asks anew each time.
    """

    alias: Name
    provider: Provider
    target: str = Field(min_length=1)
    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    codec: str | None = None
    adapter: dict[int, float] = Field(
        default_factory=dict[int, float], json_schema_extra={"propertyNames": {"pattern": "^-?[0-9]{1,9}$"}}
    )
    constrained: bool = True
    sampling: Sampling = Sampling()
    system: str | None = None
    examples: ExampleSet | None = None
    version: str | None = Field(default=None, min_length=1, max_length=LONGEST_VERSION)
    bundle: BundleFacts | None = None
    tool_tokens: int | None = Field(default_factory=_tool_tokens, ge=1)
    tool_profile: str | None = None
    cache_seconds: int | None = Field(default=None, ge=1, le=604_800)


class ModelInfo(Value):
    """A registered alias, as it may be shown.

    Attributes:
        alias: the name that episodes and chat calls use.
        provider: who answers.
        target: the provider's own name.
        version: what a trajectory records as the model's version.
        base_url: where a self-hosted server listens.
        codec: how tools are rendered and calls parsed for a model without native tools.
        constrained: whether decoding is held to well-formed calls.
        examples: how many solved tasks it can be shown.
        bundle: what it was trained from.
        tool_tokens: the most tokens of tool definitions in one prompt; None where there is no bound.
        tool_profile: in which provider's form tools are written for it; None where they are written as they are.
        split: by version, the weight with which the alias has it answer; empty where the version it names alone does.
        fallbacks: who is asked, in this order, where the alias's own model cannot answer.
        cache_seconds: for how long the answer to the very same question is given again; None for never.
        advice: what whoever registers a model should know, told in answer to that alone: that another codec suits its
            server's chat template, or that none is known to.
    """

    alias: str
    provider: Provider
    target: str
    version: str
    base_url: str | None = None
    codec: str | None = None
    constrained: bool = True
    examples: int = 0
    bundle: BundleFacts | None = None
    tool_tokens: int | None = None
    tool_profile: str | None = None
    split: dict[str, int] = Field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    cache_seconds: int | None = None
    advice: str | None = None


class ModelVersion(ModelInfo):
    """One of the versions of an alias; it never changes but for where it is reached.

    Attributes:
        created: when it was first registered.
        created_by: by whom.
        current: whether the alias alone, without a version, names it.
        weight: with which weight the alias has it answer while it is split; None where it has no part in a split.
        check: what the latest check found, since it was last registered.
    """

    created: datetime
    created_by: str
    current: bool
    weight: int | None = None
    check: ModelCheck | None = None


class Usage(Value):
    """Tokens of one call."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """The tokens of both."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class Sampled(Value):
    """The tokens of one call exactly as the server gave them; nothing is re-tokenised.

    Attributes:
        prompt_ids: token ids the model was conditioned on; empty where the server told only those that it drew.
        completion_ids: token ids it drew.
        logprobs: natural-log probability of each drawn token, in their order; fewer than `completion_ids` where the
            server did not tell all of them.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]


class Link(StrEnum):
    """By what it is known which call another one continues."""

    TOKENS = "tokens"
    """The tokens of the earlier call, prompt and completion, are the first ones of this call's prompt."""
    MESSAGES = "messages"
    """The conversation of the earlier call, response included, is the first part of this call's."""


class Disagreement(Value):
    """Where tokens and messages say otherwise: a template that renders history anew, a history that was edited.

    Attributes:
        call: the call that is continued by the messages alone; None where they continue none.
        shared: how many leading token ids this call's prompt has in common with it.
        of: how many ids it has, prompt and completion together.
    """

    call: str | None
    shared: int = 0
    of: int = 0


class Sent(Value):
    """How a model was asked, so that it can be asked the same again from the record alone.

    Attributes:
        provider: who was asked.
        target: the provider's own name of the model.
        codec: what rendered the prompt, where the gateway did.
        adapter: LoRA scale per adapter id.
        continued: the call whose token ids the prompt begins with, where only what was added was tokenised.
        request: the request's body, a large part of it replaced by its SHA-256 (`sha256:...`). How the answer was to
            travel is not part of it, and neither are addresses and keys.
        digest: SHA-256 of the whole body as canonical JSON.
    """

    provider: Provider
    target: str
    codec: str | None = None
    adapter: dict[int, float] = Field(default_factory=dict[int, float])
    continued: str | None = None
    request: JsonObject
    digest: str


class Attempt(StrEnum):
    """What became of one model attempt."""

    ACCEPTED = "accepted"
    SUPERSEDED = "superseded"
    FAILED = "failed"


class ModelCall(Value):
    """One model call as it was sampled.

    Attributes:
        id: identifies the call.
        step: the episode's step it belongs to; for a foreign agent, its running number.
        attempt: which try of the step this was, from 1.
        standing: whether the episode went on with this attempt.
        model: alias of the model that answered: the one asked for, or a fallback.
        version: model and adapter version that answered.
        messages: the conversation sent.
        tools: OpenAI-style tool definitions sent.
        sampling: the parameters in force.
        response: what came back.
        finish_reason: `stop`, `tool_calls`, `length` or the provider's own word.
        usage: tokens.
        sampled: token ids and logprobs where the server gives them.
        tokens_from: the fields of the provider's answer that held them.
        reasoning: what the model thought before it answered, where the server or its codec tells; no model is shown it
            again, but where a call goes on from the very tokens of this one.
        template_hash: SHA-256 of the template that rendered the prompt, where the gateway rendered it.
        constrained: whether a grammar held the decoding.
        parent: the call whose conversation this one continues; None for the first of a conversation.
        by: by what that is known; None without a parent, and in records from before it was kept.
        candidates: the calls that this one could continue equally well. There is no parent then: the call is
            quarantined, and nothing is trained on what joins it to another.
        disagreement: where tokens and messages name different calls, or the parent's tokens were rendered anew.
        sent: how the model was asked; None for a failed attempt or a kept answer, and in records from before it was
            kept.
        cached: whether the answer was given before and kept: nobody was asked, and it took no tokens.
        started: when the request was sent.
        seconds: wall seconds it took.
        error: what went wrong, for a failed attempt.
    """

    id: str
    step: int
    attempt: int = 1
    standing: Attempt = Attempt.ACCEPTED
    model: str
    version: str
    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...] = ()
    sampling: Sampling = Sampling()
    response: Message | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    sampled: Sampled | None = None
    tokens_from: str | None = None
    reasoning: str | None = None
    template_hash: str | None = None
    constrained: bool = False
    parent: str | None = None
    by: Link | None = None
    candidates: tuple[str, ...] = ()
    disagreement: Disagreement | None = None
    sent: Sent | None = None
    cached: bool = False
    started: datetime
    seconds: float
    error: str | None = None
