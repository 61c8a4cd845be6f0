"""Requests that were turned away, counted together: a flood of them fills a counter and not the disk."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from practicum.contracts.audit import Action
from practicum.contracts.base import utc_now
from practicum_gateway.audit.log import Deed
from practicum_gateway.audit.who import Who

MOST_KINDS = 16
"""How many kinds are told apart at a time; what comes beyond is counted together."""
_OTHERS = "(others)"


@dataclass(frozen=True, slots=True)
class Refused:
    """One kind of request that was turned away.

    Attributes:
        who: who asked.
        subject: the method and the template of the path, never the path: that may hold anything.
        status: what was answered.
        client: the address it came from.
    """

    who: Who
    subject: str
    status: int
    client: str | None


@dataclass(slots=True)
class _Seen:
    first: datetime
    last: datetime
    trace: str | None
    times: int = 1


class Refusals:
    """Counts what was turned away until it is taken to be written down."""

    def __init__(self) -> None:
        self._seen: dict[Refused, _Seen] = {}

    def count(self, refused: Refused, trace: str | None) -> None:
        """Count one.

        Args:
            refused: what was turned away.
            trace: its trace id; of several together the first is kept.
        """
        if refused not in self._seen and len(self._seen) >= MOST_KINDS:
            refused = Refused(Who(_OTHERS, "none", ""), _OTHERS, refused.status, None)
        now = utc_now()
        seen = self._seen.get(refused)
        if seen is None:
            self._seen[refused] = _Seen(now, now, trace)
        else:
            seen.times, seen.last = seen.times + 1, now

    def take(self) -> Iterable[Deed]:
        """What was counted, as entries; from here on it is counted anew."""
        seen, self._seen = self._seen, {}
        return [_deed(refused, times) for refused, times in seen.items()]


def _deed(refused: Refused, seen: _Seen) -> Deed:
    return Deed(
        Action.ACCESS_REFUSED,
        refused.subject,
        str(refused.status),
        details={
            "times": seen.times,
            "first": seen.first.isoformat(),
            "last": seen.last.isoformat(),
            "client": refused.client,
        },
        who=refused.who,
        trace=seen.trace,
    )
