"""Which version of an alias that is split answers: drawn from whom it is for, the same whoever draws. Pure."""

import hashlib
from collections.abc import Mapping

from pydantic import JsonValue, TypeAdapter

_WEIGHTS: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])
_NAMES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


def weights_of(kept: Mapping[str, JsonValue] | None) -> dict[str, int]:
    """The weights that a row holds, by version in order; none where it holds none."""
    return dict(sorted(_WEIGHTS.validate_python(kept or {}).items()))


def names_of(kept: list[JsonValue] | None) -> tuple[str, ...]:
    """The models that a row names, in its order."""
    return _NAMES.validate_python(kept or ())


def drawn(alias: str, weights: Mapping[str, int], unit: str) -> str:
    """The version that a unit gets: a user, a principal, an episode.

    The same unit gets the same version for as long as the same versions are split. Where a weight changes, as few units
    as can be change sides.

    Args:
        alias: the alias.
        weights: by version, at least one.
        unit: whom it is for.
    """
    shares = sorted(weights.items())
    experiment = "\n".join((alias, *(version for version, _ in shares), unit))
    place = int.from_bytes(hashlib.sha256(experiment.encode()).digest()[:8]) / 2**64 * sum(weights.values())
    for version, weight in shares:
        place -= weight
        if place < 0:
            return version
    return shares[-1][0]
