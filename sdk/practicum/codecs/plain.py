"""Renderings for a server whose tokeniser reads the names of control tokens in any text: none may stand in it whole."""

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, groupby

from practicum.codecs.codec import Codec, Piece
from practicum.codecs.probe import controls_of

_BREAK = "\u200b"
"""A space without width, which stands where a name is broken in two."""
_COMMON = (
    r"<[|｜][^<>\s]{1,64}[|｜]>|</?s>|<(?:bos|eos|pad|unk|sop)>|<(?:start|end)_of_turn>"  # noqa: RUF001
    r"|\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT|ARGS|CALL_ID|THINK|gMASK)\]"
)
"""What such names look like in the families that are known."""


_BEGINNINGS = frozenset({"<s>", "<bos>", "<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "[gMASK]", "<sop>"})  # noqa: RUF001
"""What tokenisers put before any text by themselves."""


def runs(codec: Codec, pieces: Sequence[Piece]) -> Iterator[str | tuple[str, ...]]:
    """A rendering as its control tokens, and what stands between two of them.

    A control token is a text. What stands between is parts that have to be tokenised one by one: where people or
    systems wrote the name of a control token, it is cut behind its first letter.
    """
    names = "|".join(re.escape(name) for name in sorted(controls_of(codec), key=len, reverse=True))
    pattern = re.compile(f"{names}|{_COMMON}")
    for is_control, group in groupby(pieces, key=lambda piece: piece.control):
        if is_control:
            yield from (piece.text for piece in group)
        else:
            yield tuple(_cut(pattern, "".join(piece.text for piece in group)))


def plain_text(codec: Codec, pieces: Sequence[Piece]) -> str:
    """A rendering as one text, for a tokeniser that puts the token of the beginning before it.

    The name of a control token that people or systems wrote is broken by `U+200B`.
    """
    rest = dropwhile(lambda piece: piece.control and piece.text in _BEGINNINGS, pieces)
    return "".join(run if isinstance(run, str) else _BREAK.join(run) for run in runs(codec, tuple(rest)))


def _cut(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    begin = 0
    while (found := pattern.search(text, begin)) is not None:
        yield text[begin : found.start() + 1]
        begin = found.start() + 1
    if begin < len(text):
        yield text[begin:]
