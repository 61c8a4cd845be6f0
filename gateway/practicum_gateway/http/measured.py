"""Counts every request once it has been answered, and notes the code of an error from the problem that was sent."""

import time
from http import HTTPStatus

from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from practicum.contracts.problems import Problem
from practicum_gateway.http.problems import MEDIA_TYPE
from practicum_gateway.metrics.instruments import Capped
from practicum_gateway.metrics.requests import RequestMeter

_ELSEWHERE = "elsewhere"
"""Stands for every path that the gateway does not know."""
_MOST_CODES = 50
_MEDIA_TYPE = MEDIA_TYPE.encode()


class Measured:
    """Measures requests; by the template of their path, for the path itself may hold anything."""

    def __init__(self, app: ASGIApp, *, meter: RequestMeter) -> None:
        """Wrap an app."""
        self._app = app
        self._meter = meter
        self._code = Capped(_MOST_CODES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, code = 0, ""

        async def send_noting(message: Message) -> None:
            nonlocal status, code
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= HTTPStatus.BAD_REQUEST and not code:
                code = self._code(_code_of(message.get("body", b"")))
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, send_noting)
        finally:
            route = getattr(scope.get("route"), "path", _ELSEWHERE)
            self._meter.requests.add(route, _outcome(status), code)
            self._meter.seconds.observe(time.perf_counter() - began, route)


def _outcome(status: int) -> str:
    if status == 0:
        return "unanswered"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "error"
    return "refused" if status >= HTTPStatus.BAD_REQUEST else "success"


def _code_of(body: bytes) -> str:
    try:
        return Problem.model_validate_json(body).code
    except ValidationError:
        return "none"
