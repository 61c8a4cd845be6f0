"""Hashes over canonical JSON: of values, and of conversations message by message. Pure."""

from collections.abc import Iterable, Iterator

from practicum.contracts.canonical import digest
from practicum.contracts.messages import Message

__all__ = ["digest", "fingerprints"]


def fingerprints(messages: Iterable[Message], after: str = "") -> Iterator[str]:
    """A fingerprint of each leading part of a conversation, from its first message to the whole.

    Two conversations have a fingerprint in common exactly as far as they are the same.

    Args:
        messages: the conversation, or what was added to it.
        after: the fingerprint of what was said before.
    """
    chain = after
    for message in messages:
        chain = digest([chain, message.model_dump(mode="json")])
        yield chain
