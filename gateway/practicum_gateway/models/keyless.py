"""The provider's key taken out of what the provider answers: a server that echoes its request must not have it kept."""

from dataclasses import dataclass, replace

from practicum.contracts.messages import Message
from practicum_connectors.auth import REDACTED, redact
from practicum_gateway.models.provider import Completed

_SHORTEST_KEY = 8  # shorter ones, such as EMPTY, are no secrets and occur in any text


def without_key(completed: Completed, key: str | None) -> Completed:
    """The turn and its thoughts without the key; without its tokens too, if these spell the key."""
    if key is None or len(key) < _SHORTEST_KEY:
        return completed
    completed = _reason_without(completed, key)
    said, thought = completed.message.model_dump_json(), completed.reasoning or ""
    kept, kept_thought = redact(said, [key]), redact(thought, [key])
    if (kept, kept_thought) == (said, thought):
        return completed
    message = Message.model_validate_json(kept)
    return replace(completed, message=message, reasoning=kept_thought or None, sampled=None, tokens_from=None)


def _reason_without(completed: Completed, key: str) -> Completed:
    reason = redact(completed.finish_reason, [key])
    return completed if reason == completed.finish_reason else replace(completed, finish_reason=reason)


@dataclass(slots=True)
class KeylessText:
    """A text that comes in pieces, given on without the key; what may be the beginning of one is held back.

    Attributes:
        key: the provider's key, if it has one.
    """

    key: str | None
    _held: str = ""

    def add(self, piece: str) -> str:
        """Take a piece in; the text that can be given on."""
        key = self.key
        if key is None or len(key) < _SHORTEST_KEY:
            return piece
        text = (self._held + piece).replace(key, REDACTED)
        begun = next((size for size in range(min(len(key) - 1, len(text)), 0, -1) if text.endswith(key[:size])), 0)
        cut = len(text) - begun
        self._held = text[cut:]
        return text[:cut]

    def rest(self) -> str:
        """What was held back and turned out to be no key."""
        held, self._held = self._held, ""
        return held
