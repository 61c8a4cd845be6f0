"""What every request passes before a router sees it: a trace, the boundary, the door, the scales.

From the outside in: `Traced` opens a span, `Boundary` turns whatever goes wrong into a problem, `Door` authenticates
before a byte of the body is read, `Scales` bounds the body.
"""

import asyncio
import logging
import re
import traceback
from http import HTTPStatus

from opentelemetry.trace import SpanKind, StatusCode, Tracer
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from practicum.contracts.access import Role
from practicum.contracts.problems import Problem
from practicum.contracts.tenants import TENANT_HEADER
from practicum.errors import (
    ForbiddenError,
    GatewayUnavailableError,
    NotFoundError,
    PracticumError,
    RequestError,
    UnauthenticatedError,
)
from practicum_gateway.access.keys import invalid_key, tenant_of
from practicum_gateway.access.principals import Principal
from practicum_gateway.access.tokens import LONGEST_TOKEN, looks_like_token, token_of
from practicum_gateway.estate import Estate
from practicum_gateway.house import House
from practicum_gateway.http.problems import of_error, of_unexpected, rendered
from practicum_gateway.http.tokens import principal_by, ways_of
from practicum_gateway.store.outage import outage_of
from practicum_gateway.telemetry import current_trace_id, parent_of

logger = logging.getLogger("practicum_gateway")

GUARDED = ("/v1/", "/mcp")
"""Every path that begins so needs a key."""
_SIGNED = re.compile(r"/v1/approvals/[^/]+/callback")
"""But for answers through webhooks (POST): those are known by their signature, for which the body is needed."""
_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"})
"""The methods that there are; any other is a word of the caller's."""
_CARRIERS = frozenset({b"traceparent", b"tracestate"})
"""The headers that say which trace a request belongs to."""
_BODY_SECONDS = 30.0
_LONGEST_KEY = 512
_SHOWN = 40
_TOO_LARGE = 413  # its name in http.HTTPStatus changed with Python 3.13


class Traced:
    """Puts each request into the trace that its W3C headers name, or begins one."""

    def __init__(self, app: ASGIApp, *, tracer: Tracer) -> None:
        """Wrap an app."""
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method: str = scope["method"]
        parent = parent_of({k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"] if k in _CARRIERS})
        known = method if method in _METHODS else "_OTHER"
        with self._tracer.start_as_current_span(
            known, context=parent, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            span.set_attribute("http.request.method", known)

            async def send_noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status: int = message["status"]
                    span.set_attribute("http.response.status_code", status)
                    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                        span.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, send_noting_status)
            finally:
                # The template of the path, never the path: that one may hold what people put into it.
                route = getattr(scope.get("route"), "path", None)
                if isinstance(route, str):
                    span.set_attribute("http.route", route)
                    span.update_name(f"{known} {route}")


class Boundary:
    """Turns whatever goes wrong inside into a problem: the only place where any exception is caught."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_noting_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, send_noting_start)
        except asyncio.CancelledError:  # the gateway ends, and waits no longer for what is under way
            await self._answer(of_error(_ended()), scope, receive, send, started=started)
        except Exception as error:  # noqa: BLE001  # the boundary: classify, log once, tell nothing
            await self._answer(told(error), scope, receive, send, started=started)

    async def _answer(self, problem: Problem, scope: Scope, receive: Receive, send: Send, *, started: bool) -> None:
        if not started:  # else nothing can be taken back; the server closes the connection
            await rendered(problem, scope["path"])(scope, receive, send)


class Door:
    """Lets in who shows a valid key or token, into the house of the tenant that it opens.

    The principal is then at `request.state.principal`, the house at `request.state.house`.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and scope["path"].startswith(GUARDED) and not _is_signed(scope):
            scheme, _, key = (Headers(scope=scope).get("authorization") or "").partition(" ")
            key = key.strip()
            if scheme.lower() != "bearer" or not key:
                raise UnauthenticatedError(
                    "No key came with the request.", mend="Send it as a header: Authorization: Bearer prk_..."
                )
            if len(key) > (LONGEST_TOKEN if looks_like_token(key) else _LONGEST_KEY):
                raise invalid_key()
            house, principal = await self._let_in_with_token(scope, key) or await self._let_in(scope, key)
            scope.setdefault("state", {}).update(principal=principal, house=house)
        await self._app(scope, receive, send)

    async def _let_in_with_token(self, scope: Scope, key: str) -> tuple[House, Principal] | None:
        """The house that a token of an identity provider opens, and who shows it; None where nobody trusts its issuer.

        Raises:
            UnauthenticatedError: the token is not valid.
            ForbiddenError: it is worth nothing here, or would open several houses.
        """
        token = token_of(key)
        if token is None:
            return None
        ways = ways_of(scope["app"].state.estate, token, Headers(scope=scope).get(TENANT_HEADER))
        if not ways:
            return None
        if len(ways) == 1:  # in whose audit log a refusal is counted
            scope.setdefault("state", {}).update(house=ways[0].house)
        return ways[0].house, await principal_by(token, ways)

    async def _let_in(self, scope: Scope, key: str) -> tuple[House, Principal]:
        """The house that a key opens, and who shows it.

        A worker of the main tenant drives the episodes of all: it says for which tenant it asks, and no other may.

        Raises:
            UnauthenticatedError: the key is not valid.
            ForbiddenError: another tenant is asked for.
            NotFoundError: the worker asks for a tenant that is not there (any more).
        """
        estate: Estate = scope["app"].state.estate
        # A tenant that is not there is answered as a key that is not there, and takes as long.
        house = estate.house(tenant_of(key)) or estate.main
        principal = await house.keys.authenticate(key)
        asked = Headers(scope=scope).get(TENANT_HEADER, house.tenant)
        if asked == house.tenant:
            return house, principal
        if principal.role is not Role.WORKER or house is not estate.main:
            raise ForbiddenError("A key opens its own tenant only.", mend=f"Leave {TENANT_HEADER} out.")
        other = estate.house(asked)
        if other is None:
            raise NotFoundError(f"There is no tenant '{asked[:_SHOWN]}'.")
        return other, principal


class Scales:
    """Refuses bodies that are too large, or that dribble in too slowly."""

    def __init__(self, app: ASGIApp, *, most: int, most_at: dict[str, int], seconds: float = _BODY_SECONDS) -> None:
        """Wrap an app.

        Args:
            app: the app.
            most: the largest body in bytes.
            most_at: another limit for some paths and what lies below them.
            seconds: how long each piece of a body may take to arrive.
        """
        self._app = app
        self._most = most
        self._most_at = most_at
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        at = f"{scope['path']}/"
        most = next((most for path, most in self._most_at.items() if at.startswith(f"{path}/")), self._most)
        announced = Headers(scope=scope).get("content-length", "0")
        if not (announced.isascii() and announced.isdigit() and int(announced) <= most):
            await rendered(_too_large(most), scope["path"])(scope, receive, send)
            return
        weighed, complete = 0, False

        async def receive_weighing() -> Message:
            nonlocal weighed, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout(self._seconds):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "The body did not arrive in time.") from None
            if message["type"] == "http.request":
                weighed += len(message.get("body", b""))
                complete = not message.get("more_body", False)
                if weighed > most:
                    raise HTTPException(_TOO_LARGE, _too_large(most).detail)
            return message

        await self._app(scope, receive_weighing, send)


def _is_signed(scope: Scope) -> bool:
    return scope["method"] == "POST" and _SIGNED.fullmatch(scope["path"]) is not None


def _too_large(most: int) -> Problem:
    return Problem(
        title="Body too large",
        status=_TOO_LARGE,
        detail=f"The body is larger than the {most} bytes that are taken here.",
        code=RequestError.code,
        trace=current_trace_id(),
    )


def _ended() -> GatewayUnavailableError:
    return GatewayUnavailableError(
        "The gateway ended before this was done.",
        mend="Send the same again, under the same key if it has one; else look first whether it was done.",
    )


def told(error: Exception) -> Problem:
    """What an error is to the outside; what is the gateway's or a system's fault is logged."""
    known = error if isinstance(error, PracticumError) else outage_of(error)
    if known is None:
        _log_unexpected(error)
        return of_unexpected()
    if known.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("%s: %s (trace %s)", known.code, known.logged, current_trace_id())
    return of_error(known)


def _log_unexpected(error: BaseException) -> None:
    """Log a defect: its kind and where it happened. Its own words are left out, they may quote a secret."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("unexpected %s (trace %s)\n%s", type(error).__name__, current_trace_id(), frames)
