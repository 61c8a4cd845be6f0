"""What a driver makes of an error: who could have caused it, and whether trying again has hope.

Turns, calls and closings are safe to repeat, since the gateway recognises them by episode, step and call. So the only
question is hope.
"""

from dataclasses import dataclass
from enum import StrEnum

from practicum.contracts.episodes import Cause
from practicum.errors import CallError, GatewayUnavailableError, InDoubtError, PracticumError, UpstreamError

_CAUSES = {
    UpstreamError.code: Cause.SYSTEM,
    InDoubtError.code: Cause.SYSTEM,
    CallError.code: Cause.POLICY,
}


class Patience(StrEnum):
    """How often the same request is sent again."""

    NONE = "none"
    """The answer would be the same."""
    SOME = "some"
    """A finite number of times."""
    LONG = "long"
    """As long as a durable driver lives: the gateway comes back, after a deployment or an outage."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, judged.

    Attributes:
        code: the error's stable code.
        cause: who could have caused it.
        reason: what happened, in words that are safe in a workflow's history and a result: the kind of error and
            where the operator finds it, never the detail, in which a provider may quote the conversation.
        patience: how often to try again.
        retry_after: seconds that the other side asked to wait.
    """

    code: str
    cause: Cause
    reason: str
    patience: Patience
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Retries:
    """How a driver tries again.

    Attributes:
        attempts: requests in all before `Patience.SOME` is at its end.
        first_wait: seconds before the second.
        factor: by how much each wait is longer than the one before.
        longest_wait: seconds, the most one waits unasked.
        longest_asked: seconds, the most one waits because the other side asked for it.
    """

    attempts: int = 8
    first_wait: float = 1.0
    factor: float = 2.0
    longest_wait: float = 60.0
    longest_asked: float = 900.0

    def wait(self, failed: int, asked: float | None = None) -> float:
        """Seconds to wait after so many failed requests.

        Args:
            failed: requests that failed so far.
            asked: seconds that the other side asked for; it knows better than any formula.
        """
        if asked is not None:
            return min(asked, self.longest_asked)
        # The exponent is bounded: a float overflows long before an outage has an end.
        return min(self.first_wait * self.factor ** min(failed - 1, 32), self.longest_wait)


def cause_of(code: str) -> Cause:
    """Who could have caused an error with this code: whoever is named, else the house itself."""
    return _CAUSES.get(code, Cause.INFRASTRUCTURE)


def judge(error: PracticumError) -> Failure:
    """What a driver makes of an error."""
    if isinstance(error, GatewayUnavailableError):
        patience = Patience.LONG
    elif error.retry_safe or error.code == PracticumError.code:
        # An internal error is a fault of the gateway's own, of which many pass: a locked database, a restart.
        patience = Patience.SOME
    else:
        patience = Patience.NONE
    trace = f", trace {error.trace}" if error.trace else ""
    return Failure(
        error.code, cause_of(error.code), f"{error.title} ({error.code}{trace}).", patience, error.retry_after
    )
