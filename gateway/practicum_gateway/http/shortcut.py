"""The ways that are taken most, a call of a tool and a chat completion, without the framework's detours.

Whatever does not fit takes these. The routes themselves, with what the gateway's document says of them, are in
`tools.py` and `chat.py`.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from practicum.contracts.tools import CallRequest
from practicum_gateway.http.bodies import StrictRequest
from practicum_gateway.http.chat import CHAT_PATH, complete_chat
from practicum_gateway.http.chat_request import ChatRequest
from practicum_gateway.http.tools import call

_CALL = re.compile(r"/v1/tools/([^/]+)/call")
_JSON = b"application/json"


@dataclass(frozen=True, slots=True)
class _Way:
    """Stands where the router would say which route it took.

    Attributes:
        path: the template of its paths.
        form: what its bodies hold.
        answer: answers a body that fits.
    """

    path: str
    form: type[BaseModel]
    answer: Callable[[Any, Scope, Receive, Send], Awaitable[None]]


class Shortcut:
    """Answers requests whose bodies fit; the others are left to the app, which words refusals as everywhere."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        way = _way(scope)
        if way is None:
            await self._app(scope, receive, send)
            return
        asked = StrictRequest(scope, receive)
        try:
            body = await asked.body()
        except HTTPException as error:
            await self._app(scope, _Again(receive, error=error), send)
            return
        try:
            wanted = way.form.model_validate(await asked.json())
        except (HTTPException, ValidationError):
            await self._app(scope, _Again(receive, body), send)
            return
        scope["route"] = way
        await way.answer(wanted, scope, receive, send)


def _way(scope: Scope) -> _Way | None:
    """The way that a request takes, if there is a shorter one."""
    if scope["type"] != "http" or scope["method"] != "POST" or (b"content-type", _JSON) not in scope["headers"]:
        return None
    path: str = scope["path"]
    if path == CHAT_PATH:
        return _CHAT
    found = _CALL.fullmatch(path)
    return None if found is None else _Way("/v1/tools/{name}/call", CallRequest, partial(_call, found[1]))


async def _call(tool: str, wanted: CallRequest, scope: Scope, receive: Receive, send: Send) -> None:
    del receive
    state: dict[str, Any] = scope["state"]
    seen = await call(tool, wanted, state["house"], state["principal"])
    content = seen.model_dump_json().encode()
    headers = [(b"content-length", str(len(content)).encode()), (b"content-type", _JSON)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _chat(wanted: ChatRequest, scope: Scope, receive: Receive, send: Send) -> None:
    state: dict[str, Any] = scope["state"]
    answer = await complete_chat(wanted, state["house"], state["principal"], Request(scope, receive))
    await answer(scope, receive, send)


_CHAT = _Way(CHAT_PATH, ChatRequest, _chat)


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
