"""A database that is away for a moment, in words: no defect of the gateway, and nobody's request is at fault."""

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from practicum.errors import GatewayUnavailableError

_PASSING = frozenset({"25P03", "40001", "40P01", "53300", "57P01", "57P02", "57P03"})
"""How PostgreSQL says that it ended what was under way and may do it the next time: a restart, too many connections,
two that waited for each other."""
_BROKEN = "08"
"""How its codes of broken connections begin."""
_LOST = "InternalClientError"
"""What its driver raises where a connection closes in the middle of something; SQLAlchemy lets it pass as it is."""
_CLOSED = frozenset({"InterfaceError", _LOST})
"""What its driver calls the use of a connection that is closed."""


def outage_of(error: BaseException) -> GatewayUnavailableError | None:
    """What is said of an error that comes of the database being away; None for any other error."""
    if isinstance(error, DBAPIError):
        passing = error.connection_invalidated or _is_passing(error.orig)
    else:
        passing = isinstance(error, ConnectionError | NoConnectionError) or type(error).__name__ == _LOST
    if not passing:
        return None
    return GatewayUnavailableError(
        "The gateway's database is away for a moment; whether this was written before it went is not known.",
        mend="Send the same again, under the same key if it has one; else look first whether it was done.",
    )


def _is_passing(error: BaseException | None) -> bool:
    """Whether it is one of the driver's, itself or as SQLAlchemy wraps it."""
    causes = [each for each in (error, getattr(error, "__cause__", None)) if each is not None]
    codes = {str(getattr(each, "sqlstate", None)) for each in causes}
    if not codes.isdisjoint(_PASSING) or any(code.startswith(_BROKEN) for code in codes):
        return True
    return any(type(each).__name__ in _CLOSED for each in causes)
