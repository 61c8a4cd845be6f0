"""What was counted in one place against what was counted in another."""

from collections.abc import Generator
from typing import Any


def plain(asked: str) -> str:
    """What a system was asked, whichever way its JSON was written."""
    return asked.replace('": "', '":"')


def different(what: str, found: Any, wanted: Any) -> Generator[str]:
    """A complaint, where two counts differ.

    Args:
        what: of which the first count is, as the words before it.
        found: how often each was there.
        wanted: how often each should be.
    """
    if dict(found) != dict(wanted):
        more = {name: found[name] for name in found if found[name] != wanted.get(name)}
        missing = {name: wanted[name] for name in wanted if name not in found}
        yield f"{what} {str(more)[:500]}; missing is {str(missing)[:500]}"
