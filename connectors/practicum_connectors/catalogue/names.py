"""Names: valid for every provider, unique, and the same whatever the order of the document."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from practicum_connectors.document.operations import VARIABLE

MOST_CHARACTERS = 64
"""No provider takes longer tool names or property keys."""

_HASH_CHARACTERS = 8
PLACES = ("path", "query", "querystring", "header", "cookie", "member", "body")
"""Where arguments go, in the order in which they are listed and named."""
_NOT_IN_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_NOT_IN_KEY = re.compile(r"[^A-Za-z0-9_.-]+")
_NOT_IN_ADDRESS = re.compile(r"[^\x21-\x7e]+")
_COMPARISONS = (("<=", "_le"), (">=", "_ge"), ("<", "_lt"), (">", "_gt"))


@dataclass(frozen=True, slots=True)
class Naming:
    """How one operation is called.

    Attributes:
        operation: its own name, which access patterns match.
        tool: the exposed name.
    """

    operation: str
    tool: str


@dataclass(frozen=True, slots=True)
class Nameable:
    """What a name is made of."""

    operation_id: str | None
    method: str
    path: str

    @property
    def digest(self) -> str:
        """Tells operations apart whose names do not."""
        return hashlib.sha256(f"{self.method} {self.path}".encode()).hexdigest()[:_HASH_CHARACTERS]

    @property
    def wish(self) -> str:
        """The name it would like to have: its operation id, or words made of method and path."""
        given = _NOT_IN_ADDRESS.sub("_", _ascii(self.operation_id or "")).strip("_")
        return given or _spelled_out(self.method, self.path)


def name_operations(connector: str, operations: Sequence[Nameable]) -> list[Naming]:
    """Names for all operations of a connector, in the order given.

    A name that is too long or taken twice ends in a hash of method and path, for each of those that share it.
    """
    wishes = [operation.wish for operation in operations]
    shared = Counter(wishes)
    own = [
        f"{wish}_{operation.digest}" if shared[wish] > 1 else wish
        for operation, wish in zip(operations, wishes, strict=True)
    ]
    plain = [f"{connector}_{_NOT_IN_TOOL_NAME.sub('_', name).strip('_')}" for name in own]
    taken = Counter(plain)
    return [
        Naming(name, tool if taken[tool] == 1 and len(tool) <= MOST_CHARACTERS else _hashed(tool, operation.digest))
        for operation, name, tool in zip(operations, own, plain, strict=True)
    ]


@lru_cache(maxsize=4096)
def safe_key(name: str) -> str:
    """A property key that every provider accepts, as close to the wire name as can be."""
    text = _ascii(name)
    for sign, word in _COMPARISONS:
        text = text.replace(sign, word)
    key = _NOT_IN_KEY.sub("_", text.replace("[]", "")).strip("_")[:MOST_CHARACTERS]
    if key and name.strip("_") == key and len(name) <= MOST_CHARACTERS:
        return name  # underscores around it are part of the name and harmless
    return key or "argument"


def distinct_keys(names: Sequence[tuple[str, str]], reserved: Iterable[str] = ()) -> list[str]:
    """Keys that differ from each other, in the order given; which is whose does not depend on that order.

    A name that is a safe key already keeps it. Where two would share one, the place tells the later apart, then a
    number; the earlier is the one that stands in a path, before a query, before a header, and so on.

    Args:
        names: pairs of wire name and place.
        reserved: keys that none of them gets.
    """
    taken, keys = set(reserved), dict[int, str]()
    wishes = [safe_key(name) for name, _ in names]
    for at in sorted(range(len(names)), key=lambda at: (wishes[at] != names[at][0], _rank(names[at]), at)):
        place = names[at][1]
        wish = key = wishes[at]
        number = 1
        while key in taken:
            tail = f"_{place}" if number == 1 else f"_{place}_{number}"
            key, number = wish[: MOST_CHARACTERS - len(tail)] + tail, number + 1
        taken.add(key)
        keys[at] = key
    return [keys[at] for at in range(len(names))]


def _rank(name: tuple[str, str]) -> tuple[int, str]:
    return PLACES.index(name[1]), name[0]


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() if not text.isascii() else text


def _spelled_out(method: str, path: str) -> str:
    words = VARIABLE.sub(lambda match: f"by_{match[1]}", path.partition("?")[0])
    return _NOT_IN_TOOL_NAME.sub("_", f"{method.lower()}/{_ascii(words)}").strip("_")


def _hashed(name: str, digest: str) -> str:
    return f"{name[: MOST_CHARACTERS - len(digest) - 1].rstrip('_')}_{digest}"
