"""The way that is taken most, a call of a tool, without the framework's detours; whatever does not fit takes them.

The route itself, with what the gateway's document says of it, is in `tools.py`.
"""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from practicum.contracts.tools import CallRequest
from practicum_gateway.http.bodies import StrictRequest
from practicum_gateway.http.tools import call

_PATH = re.compile(r"/v1/tools/([^/]+)/call")
_JSON = b"application/json"


@dataclass(frozen=True, slots=True)
class _Taken:
    """Stands where the router would say which route it took."""

    path: str = "/v1/tools/{name}/call"


_TAKEN = _Taken()


class Shortcut:
    """Answers calls whose bodies fit; refusals are left to the app, which words them as everywhere."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None or (b"content-type", _JSON) not in scope["headers"]:
            await self._app(scope, receive, send)
            return
        asked = StrictRequest(scope, receive)
        try:
            body = await asked.body()
        except HTTPException as error:
            await self._app(scope, _Again(receive, error=error), send)
            return
        try:
            wanted = CallRequest.model_validate(await asked.json())
        except (HTTPException, ValidationError):
            await self._app(scope, _Again(receive, body), send)
            return
        scope["route"] = _TAKEN
        state: dict[str, Any] = scope["state"]
        seen = await call(found[1], wanted, state["house"], state["principal"])
        content = seen.model_dump_json().encode()
        headers = [(b"content-length", str(len(content)).encode()), (b"content-type", _JSON)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


class _Again:
    """Gives what was read of a request once more: its body, or why there is none."""

    def __init__(self, receive: Receive, body: bytes = b"", *, error: HTTPException | None = None) -> None:
        self._receive = receive
        self._body: bytes | None = body
        self._error = error

    async def __call__(self) -> Message:
        if self._error is not None:
            raise self._error
        body, self._body = self._body, None
        if body is None:
            return await self._receive()
        return {"type": "http.request", "body": body, "more_body": False}
