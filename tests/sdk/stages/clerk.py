"""Samplers that are no model: one that follows a script, and one that does what tasks ask, now and then wrongly."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import Codec, Piece
from practicum.contracts.messages import Message, ToolCall
from practicum.stages.sampler import Drawn
from tests.sdk.stages.house import DONE, WISHES

_CONTROL = {"<|im_start|>": 1_200_000, "<|im_end|>": 1_200_001}


class Speller(Protocol):
    """What turns text into tokens and back."""

    @property
    def codec(self) -> Codec: ...

    def tokenise(self, pieces: Sequence[Piece]) -> tuple[int, ...]: ...

    def text(self, ids: Sequence[int]) -> str: ...


class Letters:
    """A token for each character."""

    codec = ChatMLCompact()

    def tokenise(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        return tuple(
            token for piece in pieces for token in ((_CONTROL[piece.text],) if piece.control else map(ord, piece.text))
        )

    def text(self, ids: Sequence[int]) -> str:
        return "".join(chr(token) for token in ids if token not in _CONTROL.values())

    def whole(self, ids: Sequence[int]) -> str:
        """The text with the names of the control tokens in it."""
        names = {token: name for name, token in _CONTROL.items()}
        return "".join(names.get(token) or chr(token) for token in ids)


class Scripted:
    """Says what a function makes of the conversation so far; a `Sampler`."""

    version = "scripted"
    temperature = 1.0
    context = 4096

    def __init__(self, say: Callable[[str], Message | str], speller: Speller | None = None) -> None:
        """Take what speaks.

        Args:
            say: from the conversation as text, control tokens left out, to the turn; a text is a turn that is cut off.
            speller: makes tokens of it; a token for each character when absent.
        """
        self._say = say
        self._speller = speller or Letters()

    @property
    def codec(self) -> Codec:
        return self._speller.codec

    def tokenise(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        return self._speller.tokenise(pieces)

    def text(self, ids: Sequence[int]) -> str:
        return self._speller.text(ids)

    def sample(self, prompts: Sequence[tuple[int, ...]]) -> tuple[Drawn, ...]:
        return tuple(self._turn(self._say(self.text(prompt))) for prompt in prompts)

    def _turn(self, said: Message | str) -> Drawn:
        closed = isinstance(said, Message)
        pieces = self.codec.turn(said) if isinstance(said, Message) else (Piece(said),)
        ids = self.tokenise(pieces)
        return Drawn(ids, tuple(-0.5 for _ in ids), closed)


def calls(tool: str, room: int) -> Message:
    """A turn with one call."""
    return Message(role="assistant", tool_calls=(ToolCall(id="c", name=tool, arguments={"room": room}),))


def says(text: str) -> Message:
    """A turn in words."""
    return Message(role="assistant", content=text)


def clerk(wrong: dict[str, str], share: float, seed: int) -> Callable[[str], Message]:
    """Does every wish; some kinds of it, in a share of the cases, with a wrong tool.

    Args:
        wrong: the wrong tool for kinds of wishes.
        share: how often it is taken.
        seed: of the draws.
    """
    draw = random.Random(seed)  # noqa: S311  repeatable, not secret

    def say(conversation: str) -> Message:
        wish, room = re.findall(r"user\n(\w+) (\d+)", conversation)[-1]
        if seen := re.findall(r"tool\n(.*)", conversation):
            lamp = re.search(r'"lamp":"(\w+)"', seen[-1])
            return says(lamp[1] if wish == "check" and lamp else DONE)
        astray = wish in wrong and draw.random() < share
        return calls(wrong[wish] if astray else WISHES[wish], int(room))

    return say
