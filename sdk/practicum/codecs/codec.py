"""The port of a codec, and the pieces in which it renders."""

from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model said in one turn.

    Attributes:
        message: the assistant's message.
        thought: what it thought before, without the marks around it; None where it did not think aloud.
    """

    message: Message
    thought: str | None = None


class Codec(Protocol):
    """Renders conversations for one family of models, and reads what they say.

    A rendering is prefix-preserving: for a turn without thought that `parse` reads back as it was written,
    `render(before) + turn(answer) + suffix(answer, after)` is `render(before + answer + after)`. A thought is part of
    the turn that was sampled and of no other rendering.
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
    def stops(self) -> tuple[str, ...]:
        """The control tokens with which the model ends its turn, the usual one first."""
        ...

    @property
    def marks(self) -> tuple[str, ...]:
        """The control tokens that a turn may hold and that `parse` has to see, such as `[TOOL_CALLS]`."""
        ...

    def render(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Piece, ...]:
        """The prompt of a conversation, up to where the assistant speaks next."""
        ...

    def suffix(self, answer: Message, messages: Sequence[Message], *, ended: str | None) -> tuple[Piece, ...]:
        """What follows a sampled turn, up to where the assistant speaks next.

        Args:
            answer: what the turn said.
            messages: the messages since that turn.
            ended: which of `stops` ended the turn; None for one that was cut off.
        """
        ...

    def turn(self, message: Message, thought: str | None = None) -> tuple[Piece, ...]:
        """An assistant's message as the model would have sampled it, the end of the turn included."""
        ...

    def parse(self, text: str, tools: Sequence[Tool], calls_before: int) -> Turn:
        """What a sampled turn says; what cannot be read as a call is kept as malformed.

        Args:
            text: the sampled text, without control tokens other than `marks`.
            tools: the tools that were on offer: where a dialect does not say of which type an argument is, they do.
            calls_before: how many calls the conversation already holds, so that identifiers do not repeat.
        """
        ...

    def visible(self, text: str) -> str:
        """The part of a turn sampled so far that is surely text for the reader and no part of a thought or a call."""
        ...

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """A GBNF grammar of a text answer or well-formed calls of these tools; None where there is nothing to hold."""
        ...


def text_of(pieces: Sequence[Piece]) -> str:
    """The pieces as one text, for people and hashes."""
    return "".join(piece.text for piece in pieces)


def ended_by(codec: Codec, last: int, tokenise: Callable[[Sequence[Piece]], tuple[int, ...]]) -> str | None:
    """Which of a codec's stops a turn ended with; None where it was cut off.

    Args:
        codec: of the model.
        last: id of the turn's last token.
        tokenise: gives the ids of pieces, as the model has them.
    """
    return next((stop for stop in codec.stops if tokenise((Piece(stop, control=True),)) == (last,)), None)
