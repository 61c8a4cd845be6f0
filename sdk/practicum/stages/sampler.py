"""The port of a policy: what draws the tokens of many turns at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from practicum.codecs.codec import Codec, Piece


@dataclass(frozen=True, slots=True)
class Drawn:
    """One sampled turn, as token ids; nothing is re-tokenised afterwards.

    Attributes:
        ids: the tokens, the end of turn included where it was drawn.
        logprobs: natural-log probability of each under the model's whole distribution at temperature 1.
        closed: whether the last token is the end of turn; without, the turn was cut off.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    closed: bool


class Sampler(Protocol):
    """A policy as rollouts see it; `practicum.stages.policies` opens real ones."""

    @property
    def codec(self) -> Codec:
        """How its conversations are rendered and read."""
        ...

    @property
    def version(self) -> str:
        """What a trajectory records as the model's version."""
        ...

    @property
    def temperature(self) -> float:
        """At which it draws; 0 takes the likeliest token."""
        ...

    @property
    def context(self) -> int:
        """The most tokens that a prompt and its turn may have together."""
        ...

    def tokenise(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The ids of rendered pieces, each tokenised on its own, only control pieces as control tokens."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """What sampled tokens say, without control tokens other than the marks that its codec reads."""
        ...

    def sample(self, prompts: Sequence[tuple[int, ...]]) -> tuple[Drawn, ...]:
        """The next turn of each conversation, at least one token each.

        Args:
            prompts: token ids up to where the model speaks; one that goes on from an earlier call of this sampler
                costs only what is new in it.
        """
        ...
