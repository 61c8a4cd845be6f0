"""Single values as text: what every style, field and element is made of."""

from typing import TypeVar
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

_KEPT_RESERVED = ":/?@!$'()*,;"
"""Reserved characters that mean nothing inside a query; `#[]&=+` stay encoded even where reserved is allowed."""
_T = TypeVar("_T")


class UnwritableError(Exception):
    """A value has no form on the wire.

    Attributes:
        what: why, for the model.
        where: names on the way to it inside of the body; empty for the body itself and for parameters.
    """

    def __init__(self, what: str, where: tuple[str, ...] = ()) -> None:
        """Say what is wrong.

        Args:
            what: why the value cannot be written.
            where: names on the way to it.
        """
        super().__init__(what)
        self.what = what
        self.where = where

    def inside(self, name: str) -> "UnwritableError":
        """The same, seen from one level further out."""
        return UnwritableError(self.what, (name, *self.where))


def text_of_scalar(value: JsonValue) -> str:
    """A single value as text.

    Raises:
        UnwritableError: it is null, a list or an object.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case None:
            raise UnwritableError("null cannot be written here; leave it out")
        case _:
            raise UnwritableError("only single values can be written at this depth")


def filled(items: list[_T]) -> list[_T]:
    """The items of a list or an object.

    Raises:
        UnwritableError: there are none, so that nothing would be sent.
    """
    if not items:
        raise UnwritableError("an empty list or object cannot be written here; leave it out")
    return items


def encoded(text: str, *, allow_reserved: bool = False) -> str:
    """Text percent-encoded for a query or a path.

    Args:
        text: the text.
        allow_reserved: whether reserved characters that mean nothing there stay as they are.
    """
    return quote(text, safe=_KEPT_RESERVED if allow_reserved else "")


def encoded_field(text: str, *, allow_reserved: bool = False) -> str:
    """Text encoded for a form, where a space is a plus sign.

    Args:
        text: the text.
        allow_reserved: whether reserved characters that mean nothing there stay as they are.
    """
    return quote_plus(text, safe=_KEPT_RESERVED if allow_reserved else "")
