"""What can go wrong between a client and the gateway, as typed errors: the one place that knows httpx's exceptions."""

from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from practicum.client.address import URL_VARIABLE, Address
from practicum.client.call import Call, T, faults_of
from practicum.contracts.base import JsonObject
from practicum.contracts.problems import Problem
from practicum.errors import (
    ConfigurationError,
    ForbiddenError,
    GatewayUnavailableError,
    InDoubtError,
    PracticumError,
    UnauthenticatedError,
    error_from_problem,
)

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_SAME_VERSION = f"Check {URL_VARIABLE}, and that the SDK and the gateway are of the same version."
_START = f"Is it running? `practicum up` starts one; {URL_VARIABLE} says where to look."
_PROXY_FAULTS = (502, 503, 504)


class Kind(Enum):
    """What an exception of httpx means for the request."""

    UNREACHABLE = "nothing was sent"
    SLOW = "sent, and no answer in time"
    CUT = "sent, perhaps, and no whole answer"
    UNUSABLE = "it could not be written as a request"
    MISUSED = "a fault of this SDK"


KINDS: dict[type[Exception], Kind] = {
    httpx.ConnectError: Kind.UNREACHABLE,
    httpx.ConnectTimeout: Kind.UNREACHABLE,
    httpx.PoolTimeout: Kind.UNREACHABLE,
    httpx.ProxyError: Kind.UNREACHABLE,
    httpx.ReadTimeout: Kind.SLOW,
    httpx.WriteTimeout: Kind.SLOW,
    httpx.TimeoutException: Kind.SLOW,
    httpx.HTTPError: Kind.CUT,
    httpx.RequestError: Kind.CUT,
    httpx.TransportError: Kind.CUT,
    httpx.NetworkError: Kind.CUT,
    httpx.ReadError: Kind.CUT,
    httpx.WriteError: Kind.CUT,
    httpx.CloseError: Kind.CUT,
    httpx.ProtocolError: Kind.CUT,
    httpx.RemoteProtocolError: Kind.CUT,
    httpx.DecodingError: Kind.CUT,
    httpx.TooManyRedirects: Kind.CUT,
    httpx.HTTPStatusError: Kind.CUT,
    httpx.UnsupportedProtocol: Kind.UNUSABLE,
    httpx.InvalidURL: Kind.UNUSABLE,
    httpx.LocalProtocolError: Kind.UNUSABLE,
    httpx.CookieConflict: Kind.MISUSED,
    httpx.StreamError: Kind.MISUSED,
    httpx.StreamConsumed: Kind.MISUSED,
    httpx.StreamClosed: Kind.MISUSED,
    httpx.ResponseNotRead: Kind.MISUSED,
    httpx.RequestNotRead: Kind.MISUSED,
}
"""Every exception httpx exports; a test fails when it gains one that is not here."""


@contextmanager
def typed_faults(address: Address, call: Call[Any]) -> Generator[None]:
    """Turn httpx's exceptions into ours.

    The foreign message is repeated only where nothing was sent: elsewhere it may quote a header.

    Raises:
        GatewayUnavailableError: the gateway could not be reached or did not answer.
        InDoubtError: it did not answer, and the request is not harmless to repeat.
        ConfigurationError: the URL or key cannot be used.
    """
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError) as error:
        raise _typed(error, address, call) from None


def _typed(error: Exception, address: Address, call: Call[Any]) -> PracticumError:
    kind = next(KINDS[base] for base in type(error).__mro__ if base in KINDS)
    what = f"{call.method} {call.path}"
    if kind is Kind.UNREACHABLE:
        return GatewayUnavailableError(
            f"The gateway at {address.url} cannot be reached: {str(error) or type(error).__name__}.", mend=_START
        )
    if kind is Kind.UNUSABLE:
        return ConfigurationError(f"{address.url} cannot be asked ({type(error).__name__}).", mend=_SAME_VERSION)
    if kind is Kind.MISUSED:
        return PracticumError(f"{what} was sent wrongly ({type(error).__name__}); this is a fault of the SDK.")
    happened = "did not answer in time" if kind is Kind.SLOW else "broke the connection off"
    return _lost(f"The gateway at {address.url} {happened}: {what}.", call)


def _lost(detail: str, call: Call[Any]) -> PracticumError:
    if call.if_lost is not None:
        return InDoubtError(f"{detail} What was asked for may have been done.", mend=call.if_lost)
    return GatewayUnavailableError(detail, mend=_START)


def parsed(address: Address, call: Call[T], raw: bytes) -> T:
    """What a successful answer says.

    Raises:
        ConfigurationError: it is not what a gateway answers.
    """
    try:
        return call.parse(raw)
    except ValidationError as error:
        faults = faults_of(error)
    raise ConfigurationError(
        f"{address.url} answered {call.method} {call.path} with something else than a gateway of this version does.",
        mend=_SAME_VERSION,
        errors=faults[:5],
    )


def refusal(address: Address, call: Call[Any], status: int, raw: bytes) -> PracticumError:
    """The error that an unsuccessful answer stands for.

    Args:
        address: who answered.
        call: what was asked.
        status: HTTP status of the answer.
        raw: its body.
    """
    try:
        body = _OBJECT.validate_json(raw)
        # A newer gateway may say more than this SDK knows; what it knows is enough for the error.
        known = {name: value for name, value in body.items() if name in Problem.model_fields}
        return error_from_problem(Problem.model_validate(known))
    except ValidationError:
        return _stranger(address, call, status)


def _stranger(address: Address, call: Call[Any], status: int) -> PracticumError:
    """An error for an answer that no gateway wrote: a proxy's, or another program's."""
    detail = f"{address.url} answered {call.method} {call.path} with HTTP {status}"
    if status in _PROXY_FAULTS:
        return _lost(f"{detail}: the gateway behind it did not answer.", call)
    typed: dict[int, type[PracticumError]] = {401: UnauthenticatedError, 403: ForbiddenError}
    error = typed.get(status, ConfigurationError)
    return error(f"{detail}, and not as a gateway does.", mend=_SAME_VERSION)
