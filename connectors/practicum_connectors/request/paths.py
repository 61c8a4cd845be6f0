"""A value in a path stays in its segment: whatever a server decodes, the call goes where its template says."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from urllib.parse import unquote

from practicum_connectors.document.operations import VARIABLE

_MOST_DECODINGS = 5


def leaves_its_segment(segment: str) -> bool:
    """Whether an encoded path segment could climb: `..`, also encoded more than once, after a backslash, before `;`."""
    return any(part.partition(";")[0].strip() in {".", ".."} for part in _parts(segment))


def _parts(segment: str) -> list[str]:
    text = segment
    for _ in range(_MOST_DECODINGS):
        decoded = unquote(text)
        if decoded == text:
            break
        text = decoded
    return text.replace("\\", "/").split("/")


def has_control_characters(segment: str) -> bool:
    """Whether a decoded segment holds characters that no address should."""
    return any(ord(character) < 0x20 or ord(character) == 0x7F for character in unquote(segment))  # noqa: PLR2004 (ASCII)


class Routes:
    """The routes of a document: tells whether a path would reach another operation than the one meant."""

    def __init__(self, routes: Iterable[tuple[str, str]]) -> None:
        """Sort the routes.

        Args:
            routes: method and path template of each operation.
        """
        self._by_slashes: dict[tuple[str, int], list[str]] = {}
        for method, template in dict.fromkeys((method, template.partition("?")[0]) for method, template in routes):
            self._by_slashes.setdefault((method, template.count("/")), []).append(template)
        self._nearer: dict[tuple[str, str], dict[tuple[int, str], list[str]]] = {}

    def other(self, method: str, own: str, path: str) -> str | None:
        """The template of another operation that a server would take the path for.

        That happens where a value equals a fixed part of a sibling (`/users/{id}` and `/users/export`), or holds a
        slash and the server decodes before it routes.

        Args:
            method: the call's method.
            own: the template the path was built from.
            path: the built path below the base, encoded.
        """
        own = own.partition("?")[0]
        decoded = unquote(path)
        slashes = decoded.count("/")
        if slashes == own.count("/"):
            nearer = self._more_fixed(method, own, slashes)
            rivals = chain.from_iterable(nearer.get(place, ()) for place in enumerate(decoded.split("/")))
        else:
            rivals = iter(self._by_slashes.get((method, slashes), ()))
        return next((rival for rival in rivals if rival != own and _matches(rival, decoded)), None)

    def _more_fixed(self, method: str, own: str, slashes: int) -> dict[tuple[int, str], list[str]]:
        """The templates as long as the own one that fix more than it, by the first segment that they fix instead."""
        found = self._nearer.get((method, own))
        if found is None:
            found = self._nearer[method, own] = {}
            for rival in self._by_slashes.get((method, slashes), ()):
                place = _fixed_instead(rival, own)
                if place is not None:
                    found.setdefault(place, []).append(rival)
        return found


def _matches(template: str, path: str) -> bool:
    return _pattern(template).fullmatch(path) is not None


def _fixed_instead(template: str, own: str) -> tuple[int, str] | None:
    """The first segment that a template of the same length fixes and the own one leaves open; None if it opens one."""
    segments = list(zip(template.split("/"), own.split("/"), strict=True))
    opened = [(_is_open(theirs), _is_open(mine)) for theirs, mine in segments]
    if any(theirs and not mine for theirs, mine in opened):
        return None
    fixed = (number for number, (theirs, mine) in enumerate(opened) if mine and not theirs)
    return next(((number, segments[number][0]) for number in fixed), None)


def _is_open(segment: str) -> bool:
    return VARIABLE.search(segment) is not None


@lru_cache(maxsize=65536)
def _pattern(template: str) -> re.Pattern[str]:
    literal = [re.escape(part) for part in VARIABLE.split(template)[::2]]
    return re.compile("[^/]+".join(literal))
