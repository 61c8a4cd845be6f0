"""A site: one place where a system listens, with the credentials that go there and to no other place.

A call is tried there as often as it may be, within the limits that the system sets, and not at all while it is down.
"""

import asyncio
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from practicum.contracts.connectors import ConnectorLimits
from practicum.errors import PracticumError
from practicum_connectors.auth import Credentials, Keyring, NoCredentials, Security, redact, redact_bytes
from practicum_connectors.exchange import Delivery, Exchange, HttpRequest, HttpResponse, Watch, origin_of
from practicum_connectors.resilience import (
    Breaker,
    BusyError,
    Clock,
    Limits,
    Repeat,
    retried,
    retry_after,
    shows_trouble,
)
from practicum_connectors.sender import Sender

_ASKS_TO_WAIT = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_NOTHING = NoCredentials()


@dataclass(frozen=True, slots=True)
class Site:
    """One place and its credentials.

    Attributes:
        base_url: where calls go, without a slash at its end.
        keyring: its credentials, sent to its origin alone.
        sender: the connections, which several sites may share.
        limits: how hard it may be leant on.
        clock: the time.
    """

    base_url: str
    keyring: Keyring
    sender: Sender
    limits: ConnectorLimits = field(default_factory=ConnectorLimits)
    clock: Clock = field(default_factory=Clock)
    _gates: dict[str, "_Gate"] = field(default_factory=dict[str, "_Gate"], repr=False)

    async def send(
        self,
        request: HttpRequest,
        timeout_seconds: float,
        *,
        security: Security | None = None,
        repeat: Repeat = Repeat.NEVER,
        watch: Watch | None = None,
    ) -> Exchange:
        """Put in the credential and send; again where that is harmless, and once more after a 401 with a fresh token.

        What comes back does not repeat a credential: some systems echo headers and links.

        Args:
            request: the request without its credential.
            timeout_seconds: bound on the whole, waiting included.
            security: the alternatives of credentials that it asks for; None where nothing is said.
            repeat: how far it may be repeated.
            watch: says of an answer whether and how far it is read as a stream.
        """
        credentials = self.keyring.for_operation(security)
        if credentials is None:
            return self._without(self.keyring.lacking(security))
        if request.origin != origin_of(self.base_url):
            credentials = _NOTHING
        exchange = await retried(
            lambda seconds: self._try(request, credentials, seconds, watch),
            repeat,
            attempts=self.limits.attempts,
            seconds=timeout_seconds,
            clock=self.clock,
        )
        response = exchange.response
        wait = exchange.retry_after
        if response is not None and response.status in _ASKS_TO_WAIT:
            wait = retry_after(response)
        reason = self.redact(exchange.reason) if exchange.reason else None
        return replace(exchange, response=self.cleaned(response), reason=reason, retry_after=wait)

    def shows_credential(self, request: HttpRequest, security: Security | None) -> bool:
        """Whether a request goes out with a credential in it, or over a connection that shows one."""
        return request.origin == origin_of(self.base_url) and self.keyring.shows(security)

    def redact(self, text: str) -> str:
        """The text without the credentials' values."""
        return redact(text, self.keyring.secrets())

    async def _try(
        self, request: HttpRequest, credentials: Credentials, seconds: float, watch: Watch | None
    ) -> Exchange:
        """One try, and one more where the token was refused and another can be had."""
        end = self.clock.now() + seconds
        exchange, dressed = await self._once(request, credentials, seconds, watch)
        refused = exchange.response is not None and exchange.response.status == HTTPStatus.UNAUTHORIZED
        left = end - self.clock.now()
        if refused and left > 0 and credentials.renew(dressed):
            again, _ = await self._once(request, credentials, left, watch)
            return again if again.tried else exchange
        return exchange

    async def _once(
        self, request: HttpRequest, credentials: Credentials, seconds: float, watch: Watch | None
    ) -> tuple[Exchange, HttpRequest]:
        """Send once, as soon as it may be; gives the request back as it was sent."""
        gate = self._gate(request.origin)
        end = self.clock.now() + seconds
        try:
            gate.require_open()
            async with asyncio.timeout(seconds):
                dressed = await credentials.apply(request)
            async with gate.limits.slot(end - self.clock.now()):
                gate.require_open()
                with gate.breaker.turn() as turn:
                    exchange = await self.sender.send(
                        dressed, timeout_seconds=end - self.clock.now(), tls=credentials.tls(), watch=watch
                    )
                    turn.failed = shows_trouble(exchange)
                    return exchange, dressed
        except _DownError as error:
            reason = f"The system at {request.origin} has failed again and again and is left alone for a while."
            mend = "Check that it runs; calls go through again as soon as one of them is answered."
            return _kept(reason, mend, error.seconds), request
        except BusyError as error:
            reason = f"Too many calls to {request.origin} at once: this one found no place within its time."
            return _kept(reason, "Make fewer calls at once, or raise the connector's `limits`.", error.seconds), request
        except PracticumError as error:
            return _kept(error.detail, error.mend, error.retry_after), request
        except TimeoutError:
            return _kept(f"No credential could be had within {round(seconds, 1):g} s.", None, None), request

    def _gate(self, origin: str) -> "_Gate":
        gate = self._gates.get(origin)
        if gate is None:
            limits = Limits(self.limits.concurrent, self.limits.per_second, self.clock)
            breaker = Breaker(self.limits.breaker_failures, self.limits.breaker_seconds, self.clock)
            gate = self._gates[origin] = _Gate(limits, breaker)
        return gate

    def _without(self, lacking: tuple[str, ...]) -> Exchange:
        names = ", ".join(f"`{name}`" for name in lacking)
        return _kept(
            f"The operation asks for {names}, for which the connector has no credential.",
            "Register the connector with a credential for it (`schemes` holds several).",
            None,
        )

    def cleaned(self, response: HttpResponse | None) -> HttpResponse | None:
        """The answer without the credentials' values: some systems echo headers and links."""
        secrets = tuple(self.keyring.secrets())
        if response is None or not secrets:
            return response
        headers = tuple((name, redact(value, secrets)) for name, value in response.headers)
        return replace(response, headers=headers, body=redact_bytes(response.body, secrets))


class _DownError(Exception):
    """A system is left alone for now."""

    def __init__(self, seconds: float) -> None:
        super().__init__("The system is down.")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class _Gate:
    """What stands before one origin."""

    limits: Limits
    breaker: Breaker

    def require_open(self) -> None:
        wait = self.breaker.wait()
        if wait > 0:
            raise _DownError(wait)


def _kept(reason: str, mend: str | None, wait: float | None) -> Exchange:
    """A request that did not leave."""
    return Exchange(Delivery.NOT_SENT, reason=reason, mend=mend, retry_after=wait, tried=False)
