"""Who acts: noted at the door, read wherever a deed is written down."""

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Who:
    """An actor as the log names it.

    Attributes:
        name: the principal.
        role: in which role.
        key: id of the key that was shown, never the key.
    """

    name: str
    role: str
    key: str


GATEWAY = Who("gateway", "gateway", "")
"""The gateway itself, where nobody asked."""
NOBODY = Who("nobody", "none", "")
"""Somebody without a valid key."""

_acting: ContextVar[Who] = ContextVar("practicum_acting", default=GATEWAY)


def acting() -> Who:
    """Who acts at present; the gateway itself outside of a request."""
    return _acting.get()


@contextlib.contextmanager
def acting_as(who: Who) -> Generator[None]:
    """Let somebody act for as long as the block lasts, with every task that it starts."""
    token = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(token)
