"""Whom an alias has answer besides the version it names: fallbacks, and shares of an online comparison."""

from typing import Annotated

from pydantic import Field

from practicum.contracts.base import Value
from practicum.contracts.models import LONGEST_VERSION

MOST_FALLBACKS = 4
"""The most models that an alias may have asked in place of its own."""
MOST_SHARES = 8
"""The most versions among which an alias may be split."""

Weight = Annotated[int, Field(ge=1, le=1_000_000)]
_Version = Annotated[str, Field(min_length=1, max_length=LONGEST_VERSION)]


class Fallbacks(Value):
    """Who is asked, in this order, where the model behind an alias cannot answer.

    Attributes:
        fallbacks: models, each an `alias` or `alias@version`; none for no fallback.
    """

    fallbacks: tuple[Annotated[str, Field(min_length=1, max_length=300)], ...] = Field(
        default=(), max_length=MOST_FALLBACKS
    )


class Split(Value):
    """Versions among which the episodes and calls of an alias are shared out.

    Attributes:
        weights: by version, how many of all weights together it gets; the version that the alias names is among them.
    """

    weights: dict[_Version, Weight] = Field(min_length=2, max_length=MOST_SHARES)
