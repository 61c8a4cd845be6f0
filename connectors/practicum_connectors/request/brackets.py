"""Nested values as names with brackets, the convention that OpenAPI's `deepObject` leaves open.

`filter[a][b]=1` for objects everywhere. A list of single values is `filter[ids][]=1` (PHP, Rails, Stripe and `qs` read
it), or as the connector's `arrays` says; a list that holds lists or objects always names its places
(`items[0][price]=1`), since empty brackets cannot tell where one item ends and the next begins.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from practicum.contracts.connectors import ArrayStyle
from practicum_connectors.request.texts import UnwritableError, filled, text_of_scalar


def bracketed(name: str, value: JsonValue, arrays: ArrayStyle) -> Iterator[tuple[str, str]]:
    """The names and texts of a nested value, not yet encoded.

    Args:
        name: the name so far.
        value: what stands under it.
        arrays: how lists of single values are written.

    Raises:
        UnwritableError: it holds what brackets cannot say.
    """
    if isinstance(value, dict):
        for key, item in filled(list(value.items())):
            if not key or "[" in key or "]" in key:
                raise UnwritableError(f"the key {key!r} cannot be written in brackets")
            yield from bracketed(f"{name}[{key}]", item, arrays)
    elif isinstance(value, list):
        nested = any(isinstance(item, dict | list) for item in value)
        for number, item in enumerate(filled(value)):
            yield from bracketed(f"{name}{_place(number, arrays, nested=nested)}", item, arrays)
    else:
        yield name, text_of_scalar(value)


def _place(number: int, arrays: ArrayStyle, *, nested: bool) -> str:
    if nested or arrays is ArrayStyle.INDICES:
        return f"[{number}]"
    return "[]" if arrays is ArrayStyle.BRACKETS else ""
