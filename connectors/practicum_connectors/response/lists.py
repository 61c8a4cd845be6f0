"""The list in an answer: what its pages are pages of."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

_MOST_LEVELS = 2  # {"data": {"items": [...]}}; deeper ones belong to an item
_USUAL = frozenset(
    """items data results result records rows entries values value hits list content elements objects collection docs
    nodes edges members resources""".split()  # noqa: SIM905
)
"""What the list of an answer is mostly called, beside others such as `links`, `errors` or `columns`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list and where it is.

    Attributes:
        at: the members that lead to it; none where the answer is the list.
        items: what it holds.
    """

    at: tuple[str, ...]
    items: list[JsonValue]


def find_list(value: JsonValue) -> Listing | None:
    """The list that an answer is about: one with a usual name, then of objects, then the longest, then the outermost.

    Args:
        value: an answer.
    """
    return max(_lists(value, ()), key=_rank, default=None)


def list_at(value: JsonValue, at: tuple[str, ...]) -> list[JsonValue] | None:
    """The list at a place; None where there is none.

    Args:
        value: an answer.
        at: the members that lead to it.
    """
    for name in at:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, list) else None


def put_list(value: JsonValue, at: tuple[str, ...], items: list[JsonValue]) -> JsonValue:
    """The answer with another list at a place.

    Args:
        value: an answer that has a list there.
        at: the members that lead to it.
        items: what stands there instead.
    """
    if not at or not isinstance(value, dict):
        return items
    return {**value, at[0]: put_list(value[at[0]], at[1:], items)}


def _lists(value: JsonValue, at: tuple[str, ...]) -> Iterator[Listing]:
    if isinstance(value, list):
        yield Listing(at, value)
    elif isinstance(value, dict) and len(at) < _MOST_LEVELS:
        for name, member in value.items():
            yield from _lists(member, (*at, name))


def _rank(listing: Listing) -> tuple[bool, bool, int, int]:
    usual = not listing.at or listing.at[-1].lower() in _USUAL
    of_objects = bool(listing.items) and isinstance(listing.items[0], dict)
    return usual, of_objects, len(listing.items), -len(listing.at)
