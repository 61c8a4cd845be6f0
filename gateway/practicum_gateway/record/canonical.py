"""Hashes over canonical JSON: of values, and of conversations message by message. Pure."""

import hashlib
import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from practicum.contracts.messages import Message


def digest(value: JsonValue) -> str:
    """SHA-256 of a JSON value in its canonical form: keys sorted, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprints(messages: Iterable[Message]) -> Iterator[str]:
    """A fingerprint of each leading part of a conversation, from its first message to the whole.

    Two conversations have a fingerprint in common exactly as far as they are the same.
    """
    chain = ""
    for message in messages:
        chain = digest([chain, message.model_dump(mode="json")])
        yield chain
