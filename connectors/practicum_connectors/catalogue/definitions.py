"""The definitions that schemas refer to: held once for a connector, given out to whoever needs some of them."""

from collections.abc import Iterable
from typing import Protocol

from practicum.contracts.base import JsonObject


class Definitions(Protocol):
    """What `#/$defs/...` in the schemas of one connector leads to."""

    def closure(self, needs: Iterable[str]) -> JsonObject:
        """Every definition that is reachable from some names, by name; its values are shared and never changed."""
        ...
