"""A call on its way: prepared, then sent."""

from dataclasses import dataclass

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect, Tool
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.exchange import Delivery, HttpRequest, HttpResponse, Payload

_NOTHING_DONE = frozenset({501, 503, 505, 511})
_SERVER_ERRORS = 500


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that fits its tool and its document, not yet sent and without credentials.

    Attributes:
        plan: the tool and how it is called.
        arguments: what was asked for.
        request: the HTTP request without credentials and without idempotency key; safe to record.
        query: the query of the link that leads to this page, where a system gave one.
        skip: how many items of the page were told before.
        at: where in the answer they are.
        methodless: whether it is of a protocol whose calls have no methods, so that its effect alone says what it does.
    """

    plan: ToolPlan
    arguments: JsonObject
    request: HttpRequest
    query: str | None = None
    skip: int = 0
    at: tuple[str, ...] = ()
    methodless: bool = False

    @property
    def tool(self) -> Tool:
        """The tool."""
        return self.plan.tool

    @property
    def safe(self) -> bool:
        """Whether it only reads, and by a safe method: it may be sent again at will."""
        return self.tool.effect is Effect.READ and (self.methodless or self.request.safe)

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again with the same idempotency key: safe, or the system recognises the key."""
        return self.safe or self.tool.idempotency_header is not None


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of sending a prepared call.

    Attributes:
        prepared: the call.
        delivery: how far it came.
        response: the answer, only when answered.
        reason: why there is none, in words, secrets redacted.
        mend: what can be done about it.
        seconds: wall seconds it took.
        attempts: how many tries it took.
        retry_after: seconds to wait before the next call, where that is known.
        payloads: bytes that came beside the answer.
    """

    prepared: PreparedCall
    delivery: Delivery
    response: HttpResponse | None
    reason: str | None
    mend: str | None
    seconds: float
    attempts: int = 1
    retry_after: float | None = None
    payloads: tuple[Payload, ...] = ()

    @property
    def in_doubt(self) -> bool:
        """Whether a call that does more than read may have taken effect although no answer says so.

        Its answer was lost, or the system broke down over it (5xx other than those by which it declines the work).
        """
        if self.prepared.tool.effect is Effect.READ:
            return False
        if self.delivery is Delivery.LOST:
            return True
        status = self.response.status if self.response else 0
        return status >= _SERVER_ERRORS and status not in _NOTHING_DONE
