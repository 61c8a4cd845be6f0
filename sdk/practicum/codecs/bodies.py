"""What a model's server is asked, as the body of a request: by the gateway that asks, and by whoever asks it again.

How the answer is to travel (whole or as a stream) is no part of these, and neither are addresses, keys and patience.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from practicum.codecs.codec import Codec
from practicum.contracts.base import JsonObject
from practicum.contracts.canonical import canonical
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import ModelSpec, Sampling, Sent

DEFAULT_CODEC = "chatml-compact"
"""The dialect of a llama.cpp model that was registered without one."""
MAX_TOKENS = 512
"""Tokens of a turn of a llama.cpp model where nobody says: a turn without a bound could fill the context."""
HASHED = "sha256:"
_VLLM = "hosted_vllm/"
_LONGEST = 64
"""Bytes of JSON up to which a part of a request is kept as it is; of a longer one its hash is."""


def outgoing(message: Message) -> JsonObject:
    """A message as chat completions write it; a malformed call goes out as the model wrote it."""
    wire: JsonObject = {"role": message.role, "content": message.content}
    if message.content is None and not message.tool_calls:
        wire["content"] = ""
    if message.tool_calls:
        wire["tool_calls"] = [outgoing_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def outgoing_call(call: ToolCall) -> JsonObject:
    """A tool call as chat completions write it: the arguments are a string of JSON."""
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call.malformed is None else call.malformed
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def chat_body(
    target: str, messages: Sequence[Message], definitions: Sequence[JsonObject], sampling: Sampling
) -> JsonObject:
    """A chat completion in OpenAI's form; of a vLLM server token ids are asked for too.

    Args:
        target: the model as litellm names it, its provider before the first slash.
        messages: the conversation.
        definitions: the tools, in OpenAI's form.
        sampling: how tokens are to be drawn.
    """
    body: JsonObject = {
        "model": target.partition("/")[2] or target,
        "messages": [outgoing(message) for message in messages],
        **sampling.model_dump(mode="json", exclude_none=True),
    }
    if definitions:
        body["tools"] = list(definitions)
    if target.startswith(_VLLM):
        body |= {"logprobs": True, "return_token_ids": True}
    return body


def in_force(sampling: Sampling) -> Sampling:
    """Sampling as a llama.cpp server is told it: what is not asked for is not narrowed."""
    return Sampling(
        temperature=1.0 if sampling.temperature is None else sampling.temperature,
        top_p=1.0 if sampling.top_p is None else sampling.top_p,
        max_tokens=sampling.max_tokens or MAX_TOKENS,
        seed=sampling.seed,
    )


def completion_body(
    ids: Sequence[int], sampling: Sampling, adapter: Mapping[int, float], grammar: str | None, marks: Sequence[str] = ()
) -> JsonObject:
    """A completion of a llama.cpp server, from tokens.

    Args:
        ids: the prompt.
        sampling: how tokens are to be drawn.
        adapter: LoRA scale per adapter id.
        grammar: what decoding is held to.
        marks: the control tokens that the text of the answer has to show.
    """
    drawn = in_force(sampling)
    body: JsonObject = {
        "prompt": list(ids),
        "n_predict": drawn.max_tokens,
        "n_probs": 1,
        "return_tokens": True,
        "cache_prompt": True,
        "temperature": drawn.temperature,
        "top_p": drawn.top_p,
        "top_k": 0,
        "min_p": 0.0,
        "repeat_penalty": 1.0,
    }
    if drawn.seed is not None:
        body["seed"] = drawn.seed
    if adapter:
        body["lora"] = [{"id": number, "scale": scale} for number, scale in sorted(adapter.items())]
    if grammar is not None:
        body["grammar"] = grammar
    if marks:
        body["preserved_tokens"] = list(marks)
    return body


def text_body(
    target: str, prompt: str | Sequence[int], sampling: Sampling, codec: Codec, stop_ids: Sequence[int] = ()
) -> JsonObject:
    """A completion in OpenAI's form, from a rendered text, or from tokens of a server that takes and tells them.

    Args:
        target: the model as its server names it.
        prompt: the text, or the tokens.
        sampling: how tokens are to be drawn.
        codec: how the model is spoken to.
        stop_ids: the ids of the codec's stops that the model has, where the prompt is tokens.
    """
    drawn = in_force(sampling)
    body: JsonObject = {
        "model": target,
        "prompt": prompt if isinstance(prompt, str) else list(prompt),
        **drawn.model_dump(mode="json", include={"temperature", "top_p", "max_tokens", "seed"}, exclude_none=True),
    }
    if isinstance(prompt, str):
        body["stop"] = list(codec.stops)
    else:
        body |= {
            "stop_token_ids": list(stop_ids),
            "logprobs": 1,
            "return_token_ids": True,
            "add_special_tokens": False,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
        }
    if codec.marks:
        body |= {"skip_special_tokens": False, "spaces_between_special_tokens": False}
    return body


def sent(spec: ModelSpec, body: JsonObject, *, continued: str | None = None) -> Sent:
    """What the record keeps of a request.

    Args:
        spec: the model that was asked.
        body: what it was asked.
        continued: the call whose token ids the prompt begins with.
    """
    got = arriving(body)
    parts = {name: canonical(part) for name, part in got.items()}
    whole = b",".join(b"%b:%b" % (canonical(name), parts[name]) for name in sorted(parts))
    return Sent(
        provider=spec.provider,
        target=spec.target,
        codec=(spec.codec or DEFAULT_CODEC) if spec.provider.renders else None,
        adapter=spec.adapter,
        continued=continued,
        request=_outline(got, parts),
        digest=hashlib.sha256(b"{%b}" % whole).hexdigest(),
    )


def outline(body: JsonObject) -> JsonObject:
    """A request with each large part of it replaced by its hash: small, and still says which part is another."""
    return _outline(body, {name: canonical(part) for name, part in body.items()})


def _outline(body: JsonObject, parts: Mapping[str, bytes]) -> JsonObject:
    return {
        name: body[name] if len(text) <= _LONGEST else HASHED + hashlib.sha256(text).hexdigest()
        for name, text in parts.items()
    }


def arriving(body: JsonObject) -> JsonObject:
    """The body as it arrives: the content of a message that has none is left out on the way."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    kept: list[JsonValue] = [
        {name: part for name, part in message.items() if part is not None} if isinstance(message, dict) else message
        for message in messages
    ]
    return {**body, "messages": kept}
