"""A site: one place where a system listens, with the credential that goes there and to no other place."""

from dataclasses import dataclass, replace

from practicum.errors import UpstreamError
from practicum_connectors.auth import Credentials, redact, redact_bytes
from practicum_connectors.exchange import Delivery, Exchange, HttpRequest, HttpResponse, origin_of
from practicum_connectors.sender import Sender

_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class Site:
    """One place and its credential.

    Attributes:
        base_url: where calls go, without a slash at its end.
        credentials: sent to its origin alone.
        sender: the connections, which several sites may share.
    """

    base_url: str
    credentials: Credentials
    sender: Sender

    async def send(self, request: HttpRequest, timeout_seconds: float) -> Exchange:
        """Put in the credential and send, once; a 401 that a fresh token may mend is answered by one more try.

        What comes back does not repeat the credential: some systems echo headers and links.
        """
        exchange = await self._send(request, timeout_seconds)
        reason = self.redact(exchange.reason) if exchange.reason else None
        return replace(exchange, response=self._cleaned(exchange.response), reason=reason)

    def redact(self, text: str) -> str:
        """The text without the credential's values."""
        return redact(text, self.credentials.secrets())

    async def _send(self, request: HttpRequest, timeout_seconds: float) -> Exchange:
        """Send with the credential, but only to the origin that it is bound to."""
        if request.origin != origin_of(self.base_url):
            return await self.sender.send(request, timeout_seconds=timeout_seconds)
        try:
            dressed = await self.credentials.apply(request)
            exchange = await self.sender.send(dressed, timeout_seconds=timeout_seconds)
            refused = exchange.response is not None and exchange.response.status == _UNAUTHORIZED
            if refused and self.credentials.renew(dressed):
                dressed = await self.credentials.apply(request)
                exchange = await self.sender.send(dressed, timeout_seconds=timeout_seconds)
        except UpstreamError as error:
            return Exchange(Delivery.NOT_SENT, reason=error.detail, mend=error.mend)
        return exchange

    def _cleaned(self, response: HttpResponse | None) -> HttpResponse | None:
        if response is None:
            return None
        headers = tuple((name, self.redact(value)) for name, value in response.headers)
        return replace(response, headers=headers, body=redact_bytes(response.body, self.credentials.secrets()))
