"""Hashes over canonical JSON: of values, and of conversations message by message. Pure."""

import hashlib
from collections.abc import Iterable, Iterator
from json.encoder import JSONEncoder, encode_basestring

from practicum.contracts.canonical import digest
from practicum.contracts.messages import Message, ToolCall

__all__ = ["digest", "fingerprints"]

_ENCODE = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def fingerprints(messages: Iterable[Message], after: str = "") -> Iterator[str]:
    """A fingerprint of each leading part of a conversation, from its first message to the whole.

    Two conversations have a fingerprint in common exactly as far as they are the same. Each is the digest of the one
    before it and the message, as a list.

    Args:
        messages: the conversation, or what was added to it.
        after: the fingerprint of what was said before.
    """
    chain = after
    for message in messages:
        chain = hashlib.sha256(b'["%b",%b]' % (chain.encode(), _canonical(message))).hexdigest()
        yield chain


def _canonical(message: Message) -> bytes:
    """A message as canonical JSON, put together by hand: those of a conversation are hashed anew at every call."""
    wishes = ",".join(map(_wish, message.tool_calls))
    content, answers = _text(message.content), _text(message.tool_call_id)
    text = f'{{"content":{content},"role":"{message.role}","tool_call_id":{answers},"tool_calls":[{wishes}]}}'
    return text.encode("utf-8", "surrogatepass")


def _wish(wish: ToolCall) -> str:
    arguments, malformed = _ENCODE(wish.arguments), _text(wish.malformed)
    named = f'"id":{encode_basestring(wish.id)},"malformed":{malformed},"name":{encode_basestring(wish.name)}'
    return f'{{"arguments":{arguments},{named}}}'


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)
