"""Token ids and logprobs as they are kept: exact, compact, and without what the parent call already holds."""

import struct
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from practicum.contracts.models import Sampled

_IDS = "I"
_LOGPROBS = "d"


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


def pack(sampled: Sampled, parent: Sampled | None) -> PackedTokens:
    """The tokens of a call, less what its prompt shares with its parent's."""
    shared = 0 if parent is None else shared_ids(sampled.prompt_ids, parent)
    return PackedTokens(
        prompt_shared=shared,
        prompt_ids=packed_ids(sampled.prompt_ids[shared:]),
        completion_ids=packed_ids(sampled.completion_ids),
        logprobs=_packed(_LOGPROBS, sampled.logprobs),
    )


def shared_ids(prompt: Sequence[int], parent: Sampled) -> int:
    """How many leading ids a prompt has in common with a call, its prompt and completion."""
    before = parent.prompt_ids + parent.completion_ids
    if tuple(prompt[: len(before)]) == before:
        return len(before)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(prompt, before, strict=False)))


class TokenMemory:
    """The tokens of the calls met last, so that those of a long conversation are not put together at every turn."""

    def __init__(self, most: int = 500_000) -> None:
        """Remember nothing yet.

        Args:
            most: ids that are remembered, of all calls together.
        """
        self._most = most
        self._held = 0
        self._known: OrderedDict[str, Sampled] = OrderedDict()

    def get(self, call: str) -> Sampled | None:
        """The tokens of a call, if it is remembered; they never change."""
        found = self._known.get(call)
        if found is not None:
            self._known.move_to_end(call)
        return found

    def keep(self, call: str, sampled: Sampled | None) -> None:
        """Remember a call that was written down."""
        if sampled is None or call in self._known:
            return
        self._known[call] = sampled
        self._held += _size(sampled)
        while self._held > self._most:
            _, forgotten = self._known.popitem(last=False)
            self._held -= _size(forgotten)


def _size(sampled: Sampled) -> int:
    return len(sampled.prompt_ids) + len(sampled.completion_ids)


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
    return _packed(_IDS, ids)


def _packed(kind: str, values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values)


def _unpacked(kind: str, data: bytes) -> tuple[Any, ...]:
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)
