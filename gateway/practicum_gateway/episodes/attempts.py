"""A model call as the record knows it, from its beginning to its answer or its failure. Pure."""

from dataclasses import replace

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.models import Attempt, ModelCall
from practicum_gateway.models.chat_format import definition
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.versions import version_of
from practicum_gateway.record.canonical import digest
from practicum_gateway.record.lineage import Continued
from practicum_gateway.store.engine import new_id


def continuing(prompt: Prompt, before: Continued | None) -> Prompt:
    """The prompt with the tokens of the call it continues, where these still stand for its beginning.

    They do not where another model version sampled them, or where other tools were offered before the conversation.
    """
    if before is None or before.sampled is None or not before.sampled.prompt_ids:
        return prompt
    if (before.model, before.version) != (prompt.spec.alias, version_of(prompt.spec)):
        return prompt
    if before.toolset != digest(list(definitions_of(prompt))):
        return prompt
    return replace(prompt, previous=before.sampled, covered=before.covered, continued=before.call)


def definitions_of(prompt: Prompt) -> tuple[JsonObject, ...]:
    """The tools offered, in OpenAI's form."""
    return tuple(definition(tool) for tool in prompt.tools) if prompt.definitions is None else prompt.definitions


def begun(prompt: Prompt, *, step: int, attempt: int) -> ModelCall:
    """A model call as it stands before its answer."""
    return ModelCall(
        id=new_id("mc"),
        step=step,
        attempt=attempt,
        model=prompt.spec.alias,
        version=version_of(prompt.spec),
        messages=prompt.messages,
        tools=definitions_of(prompt),
        sampling=prompt.sampling,
        started=utc_now(),
        seconds=0.0,
    )


def answered(call: ModelCall, completed: Completed, seconds: float) -> ModelCall:
    """The call with its answer, as the provider gave it."""
    return call.model_copy(
        update={
            "response": completed.message,
            "finish_reason": completed.finish_reason,
            "usage": completed.usage,
            "sampled": completed.sampled,
            "tokens_from": completed.tokens_from,
            "reasoning": completed.reasoning,
            "sampling": completed.sampling or call.sampling,
            "sent": completed.sent,
            "template_hash": completed.template_hash,
            "cached": completed.cached,
            "constrained": completed.constrained,
            "seconds": seconds,
        }
    )


def failed(call: ModelCall, error: str, seconds: float) -> ModelCall:
    """The call with what went wrong."""
    return call.model_copy(update={"standing": Attempt.FAILED, "error": error, "seconds": seconds})
