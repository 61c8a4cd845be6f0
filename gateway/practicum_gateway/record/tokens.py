"""Token ids and logprobs as they are kept: exact, compact, and without what the parent call already holds."""

import struct
import sys
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from practicum.contracts.models import Sampled

_IDS = "I"
_LOGPROBS = "d"
_BYTES = 4


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a call, as they were given and as they are compared and kept.

    Attributes:
        sampled: as they were given.
        whole: the ids of prompt and completion, 32-bit little-endian.
    """

    sampled: Sampled
    whole: bytes

    @classmethod
    def of(cls, sampled: Sampled) -> "Tokens":
        """Those of a call."""
        return cls(sampled, packed_ids(sampled.prompt_ids + sampled.completion_ids))

    @property
    def length(self) -> int:
        """How many ids prompt and completion have together."""
        return len(self.whole) // _BYTES

    @property
    def prompt(self) -> bytes:
        """The ids of the prompt."""
        return self.whole[: _BYTES * len(self.sampled.prompt_ids)]


@dataclass(frozen=True, slots=True)
class PackedTokens:
    """The tokens of one call beside those of its parent.

    Attributes:
        prompt_shared: how many leading prompt ids are the parent's prompt and completion ids.
        prompt_ids: the rest of the prompt, 32-bit little-endian.
        completion_ids: likewise.
        logprobs: 64-bit little-endian floats, so that nothing is rounded.
    """

    prompt_shared: int
    prompt_ids: bytes
    completion_ids: bytes
    logprobs: bytes


def pack(tokens: Tokens, parent: Tokens | None) -> PackedTokens:
    """The tokens of a call, less what its prompt shares with its parent's."""
    shared = 0 if parent is None else shared_ids(tokens, parent)
    prompt, logprobs = tokens.prompt, tokens.sampled.logprobs
    return PackedTokens(
        prompt_shared=shared,
        prompt_ids=prompt[_BYTES * shared :],
        completion_ids=tokens.whole[len(prompt) :],
        logprobs=struct.pack(f"<{len(logprobs)}{_LOGPROBS}", *logprobs),
    )


def shared_ids(tokens: Tokens, parent: Tokens) -> int:
    """How many leading ids a call's prompt has in common with its parent, prompt and completion."""
    prompt, before = tokens.prompt, parent.whole
    if prompt.startswith(before):
        return parent.length
    least, most = 0, min(len(prompt), len(before)) // _BYTES
    while least < most:
        middle = (least + most + 1) // 2
        part = slice(_BYTES * least, _BYTES * middle)
        if prompt[part] == before[part]:
            least = middle
        else:
            most = middle - 1
    return least


class TokenMemory:
    """The tokens of the calls met last, so that those of a long conversation are not put together at every turn."""

    def __init__(self, most: int = 500_000) -> None:
        """Remember nothing yet.

        Args:
            most: ids that are remembered, of all calls together.
        """
        self._most = most
        self._held = 0
        self._known: OrderedDict[str, Tokens] = OrderedDict()

    def get(self, call: str) -> Tokens | None:
        """The tokens of a call, if it is remembered; they never change."""
        found = self._known.get(call)
        if found is not None:
            self._known.move_to_end(call)
        return found

    def keep(self, call: str, tokens: Tokens | None) -> None:
        """Remember a call that was written down."""
        if tokens is None or call in self._known:
            return
        self._known[call] = tokens
        self._held += tokens.length
        while self._held > self._most:
            _, forgotten = self._known.popitem(last=False)
            self._held -= forgotten.length


def unpack(packed: PackedTokens, parent: Sampled | None) -> Sampled:
    """The tokens of a call, whole again.

    Raises:
        ValueError: the parent does not hold as many ids as the call shares with it.
    """
    before = () if parent is None else parent.prompt_ids + parent.completion_ids
    if packed.prompt_shared > len(before):
        raise ValueError(f"The call shares {packed.prompt_shared} ids with a parent that has {len(before)}.")
    return Sampled(
        prompt_ids=(*before[: packed.prompt_shared], *_unpacked(_IDS, packed.prompt_ids)),
        completion_ids=_unpacked(_IDS, packed.completion_ids),
        logprobs=_unpacked(_LOGPROBS, packed.logprobs),
    )


def packed_ids(ids: Sequence[int]) -> bytes:
    """Token ids, 32-bit little-endian."""
    packed = array(_IDS, ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpacked(kind: str, data: bytes) -> tuple[Any, ...]:
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)
