"""Checks of models: is one there, and what can it do? Only when somebody asks, with three tiny prompts."""

import asyncio
from collections.abc import Sequence

from sqlalchemy import update

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.checks import Capability, Finding, ModelCheck
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.contracts.tools import Effect, Tool
from practicum.errors import PracticumError
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.models.dialects import dialect
from practicum_gateway.models.lengths import Told, told_by
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.router import Models
from practicum_gateway.models.tool_forms import function, profile_of
from practicum_gateway.models.versions import version_of
from practicum_gateway.store.engine import Store
from practicum_gateway.store.model_tables import ModelVersionRow

_SECONDS = 60.0
"""How long one of its prompts may take: a model that loads first is given the time."""
_WORDS, _CALL = 16, 64
"""The most tokens of an answer in words, and of one that calls a tool."""
_VLLM = "hosted_vllm/"
_ADD = Tool(
    name="add_numbers",
    connector="check",
    operation="add_numbers",
    description="Add two whole numbers.",
    input_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
    effect=Effect.READ,
    method="GET",
    path="/sum",
)


class Checks:
    """Tries models and keeps what was found with the version."""

    def __init__(self, store: Store, models: Models) -> None:
        """Ask these models, and keep findings in a store."""
        self._store = store
        self._models = models

    async def check(self, name: str) -> ModelCheck:
        """What `alias` or `alias@version` can do; a model that does not answer is a finding, no error.

        Raises:
            NotFoundError: there is no such alias or version.
            ConfigurationError: it cannot be asked in the way it was trained for.
        """
        said = await self._prompt(name, "Say OK.", _WORDS)
        spec = said.spec
        answered = await self._completed(said)
        if isinstance(answered, str):
            findings, tokens, told = [Finding(capability=Capability.ANSWERS, able=False, said=answered)], 0, Told()
            if spec.provider.renders:
                # In the dialect of other models it may have no answer; that its template is of another says why.
                told = await told_by(spec, said.api_key)
                findings += [found for found in (dialect(spec, told.template),) if found is not None and told.template]
        else:
            told = await told_by(spec, said.api_key)
            called = await self._completed(await self._prompt(name, "Call add_numbers with a=2 and b=3.", _CALL, _ADD))
            findings = [
                Finding(capability=Capability.ANSWERS, able=True, said="it answers"),
                await self._streams(said),
                _tools(called),
                *_tokens(spec, answered, told),
                _length(told),
                *(found for found in (dialect(spec, told.template),) if found is not None),
            ]
            tokens = sum(one.usage.total for one in (answered, called) if isinstance(one, Completed))
        found = ModelCheck(
            version=version_of(spec),
            at=utc_now(),
            healthy=isinstance(answered, Completed),
            findings=tuple(findings),
            longest=told.longest,
            tokens=tokens,
        )
        await self._keep(spec.alias, found)
        return found

    async def _prompt(self, name: str, words: str, most: int, *tools: Tool) -> Prompt:
        prompt = await self._models.prompt(
            name, (Message(role="user", content=words),), tools=tools, sampling=Sampling(max_tokens=most), anew=True
        )
        if not tools or prompt.spec.provider is not Provider.LITELLM:
            return prompt
        form = [function(tool, profile_of(prompt.spec)) for tool in tools]
        return await self._models.prompt(
            name, prompt.messages, tools=tools, sampling=prompt.sampling, definitions=form, anew=True
        )

    async def _completed(self, prompt: Prompt) -> Completed | str:
        """The answer, or why there is none."""
        try:
            async with asyncio.timeout(_SECONDS):
                return await self._models.complete(prompt)
        except TimeoutError:
            return f"it did not answer within {_SECONDS:g} s"
        except PracticumError as error:
            return " ".join(part for part in (error.detail, error.mend) if part)

    async def _streams(self, prompt: Prompt) -> Finding:
        why = "it sent no piece of text"
        try:
            async with asyncio.timeout(_SECONDS):
                pieces = [piece async for piece in self._models.stream(prompt)]
            if any(isinstance(piece, str) for piece in pieces):
                return Finding(capability=Capability.STREAMS, able=True, said="its answers can be streamed")
        except TimeoutError:
            why = f"it was silent for {_SECONDS:g} s"
        except PracticumError as error:
            why = error.detail
        return Finding(capability=Capability.STREAMS, able=False, said=f"its answers cannot be streamed: {why}")

    async def _keep(self, alias: str, found: ModelCheck) -> None:
        kept = found.model_dump(mode="json")
        async with self._store.write() as session:
            await session.execute(
                update(ModelVersionRow)
                .where(ModelVersionRow.alias == alias, ModelVersionRow.version == found.version)
                .values(checked=kept)
            )
            details: JsonObject = {"version": found.version, "healthy": found.healthy}
            await append(session, Deed(Action.MODEL_CHECKED, alias, details=details))


def _tools(called: Completed | str) -> Finding:
    if isinstance(called, str):
        return Finding(capability=Capability.TOOLS, able=False, said=f"it takes no tools: {called}")
    wishes = called.message.tool_calls
    if any(wish.name == _ADD.name and wish.malformed is None for wish in wishes):
        return Finding(capability=Capability.TOOLS, able=True, said="it calls tools")
    how = "called it wrongly" if wishes else "called none"
    return Finding(
        capability=Capability.TOOLS,
        able=False,
        said=f"told to call a tool it {how}: an episode that needs tools fails, or is answered from memory",
    )


def _tokens(spec: ModelSpec, answered: Completed, told: Told) -> Sequence[Finding]:
    sampled = answered.sampled
    ids = sampled is not None and bool(sampled.prompt_ids) and bool(sampled.completion_ids)
    probable = sampled is not None and bool(sampled.logprobs)
    missing = "trajectories are not usable for rl"
    mend = ""
    if not ids and told.vllm and not spec.target.startswith(_VLLM):
        mend = f"; it is vLLM, which tells them if its target is '{_VLLM}{spec.target.partition('/')[2]}'"
    return (
        Finding(
            capability=Capability.TOKEN_IDS,
            able=ids,
            said="token ids are recorded" if ids else f"no token ids: {missing}{mend}",
        ),
        Finding(
            capability=Capability.LOGPROBS,
            able=probable,
            said="logprobs are recorded" if probable else f"no logprobs: {missing}{mend}",
        ),
    )


def _length(told: Told) -> Finding:
    if told.longest is None:
        said = "its server does not tell how much it takes: what is too long is refused when it is sent"
        return Finding(capability=Capability.LENGTH, able=None, said=said)
    said = f"a prompt and its answer may have {told.longest:,} tokens together"
    return Finding(capability=Capability.LENGTH, able=True, said=said)
