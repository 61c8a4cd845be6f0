"""The port of a codec, and the pieces in which it renders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from practicum.contracts.messages import Message
from practicum.contracts.tools import Tool


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of rendered text that is tokenised on its own.

    Because pieces are tokenised one by one, no token spans two of them, so a conversation that goes on keeps every
    token it had; and because only a control piece may become a control token, nothing that a user or a system wrote
    can pretend to be a turn boundary.

    Attributes:
        text: the text.
        control: whether it is the name of one of the model's control tokens, such as `<|im_end|>`.
    """

    text: str
    control: bool = False


class Codec(Protocol):
    """Renders conversations for one family of models, and reads what they say.

    A rendering is prefix-preserving: for a turn that `parse` reads back as it was written,
    `render(before) + turn(answer) + suffix(after)` is `render(before + answer + after)`.
    """

    @property
    def name(self) -> str:
        """The name by which a model's registration asks for it."""
        ...

    @property
    def template_hash(self) -> str:
        """SHA-256 of everything it renders for a fixed set of conversations: another rendering, another hash."""
        ...

    @property
    def stop(self) -> str:
        """The control token with which the model ends its turn."""
        ...

    def render(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Piece, ...]:
        """The prompt of a conversation, up to where the assistant speaks next."""
        ...

    def suffix(self, messages: Sequence[Message], *, closed: bool) -> tuple[Piece, ...]:
        """What follows a sampled turn, up to where the assistant speaks next.

        Args:
            messages: the messages since that turn.
            closed: whether the turn ended with `stop`; one that was cut off did not.
        """
        ...

    def turn(self, message: Message) -> tuple[Piece, ...]:
        """An assistant's message as the model would have sampled it, `stop` included."""
        ...

    def parse(self, text: str, calls_before: int) -> Message:
        """The assistant's message that a sampled turn says; what cannot be read as a call is kept as malformed.

        Args:
            text: the sampled text without control tokens.
            calls_before: how many calls the conversation already holds, so that identifiers do not repeat.
        """
        ...

    def visible(self, text: str) -> str:
        """The part of a turn sampled so far that is surely text for the reader and no part of a call."""
        ...

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """A GBNF grammar of a text answer or well-formed calls of these tools; None where there is nothing to hold."""
        ...


def text_of(pieces: Sequence[Piece]) -> str:
    """The pieces as one text, for people and hashes."""
    return "".join(piece.text for piece in pieces)
