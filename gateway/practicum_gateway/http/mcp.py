"""The MCP endpoint: what a request meets before the SDK reads it."""

import asyncio
import importlib
from collections.abc import Collection
from http import HTTPStatus
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from practicum.errors import ForbiddenError, MissingExtraError
from practicum_gateway.access.principals import CALLERS, Principal
from practicum_gateway.house import House
from practicum_gateway.http.bodies import read_json
from practicum_gateway.http.middleware import told
from practicum_gateway.mcp.sessions import OLDER, belongs_to, new_session
from practicum_gateway.telemetry import current_trace_id

if TYPE_CHECKING:
    from practicum_gateway.mcp.server import McpServer

PATH = "/mcp"
_SESSION = "mcp-session-id"
_REVISION = "mcp-protocol-version"
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class McpEndpoint:
    """The endpoint as an ASGI app behind the door."""

    def __init__(self, *, origins: Collection[str], most: int) -> None:
        """Prepare it; the SDK is imported with the first request.

        Args:
            origins: origins of web pages that may use it.
            most: the largest body in bytes.
        """
        self._origins = frozenset(origins)
        self._most = most
        self._server: McpServer | None = None
        self._loading = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            ForbiddenError: it comes from a web page that may not, or its key calls no tools.
        """
        scope["route"] = SimpleNamespace(path=PATH)  # by which traces and the audit log name it
        self._check_origin(Headers(scope=scope).get("origin"))
        caller: Principal = scope["state"]["principal"]
        caller.require(*CALLERS, to="use tools over MCP")
        answer = await self._answer(scope, receive)
        if isinstance(answer, Response):
            await answer(scope, receive, send)
            return
        server = self._server or await self._load()
        await server(scope, _again(answer, receive), _naming_session(scope, send))

    def _check_origin(self, origin: str | None) -> None:
        # Only browsers send one, and with every POST: so no page of another site reaches a gateway on this machine.
        if origin is not None and origin.lower() not in self._origins:
            raise ForbiddenError(
                "Web pages of this origin may not use the MCP endpoint.",
                mend="Name the origin in PRACTICUM_MCP_ORIGINS if it should.",
            )

    async def _answer(self, scope: Scope, receive: Receive) -> bytes | Response:
        """The body to serve, or what to say instead; notes the session in the request's state."""
        request = Request(scope, receive)
        if request.method != "POST":
            return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            detail = "A body is taken as it is: send it without Content-Encoding."
            return _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _INVALID_REQUEST, detail)
        try:
            body = await request.body()
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody reads it
        return _fault_of(request, body) or body

    async def _load(self) -> "McpServer":
        """Import the SDK beside the requests of others.

        Raises:
            MissingExtraError: it is not installed.
        """
        async with self._loading:
            server = self._server
            if server is None:
                module: Any = await asyncio.to_thread(_imported)
                server = self._server = module.McpServer(told, most=self._most)
            return cast("McpServer", server)


def _imported() -> ModuleType:
    try:
        return importlib.import_module("practicum_gateway.mcp.server")
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise MissingExtraError("gateway", "The MCP endpoint") from None


def _fault_of(request: Request, body: bytes) -> Response | None:
    """What to say to a body that cannot be served; else the session that it names or begins is noted."""
    try:
        message = read_json(body)
    except HTTPException as error:
        return _refused(HTTPStatus.BAD_REQUEST, _PARSE_ERROR, error.detail)
    if not _is_message(message):
        return _refused(HTTPStatus.BAD_REQUEST, _INVALID_REQUEST, "The body is one JSON-RPC message and no batch.")
    if not _note_session(request, message):
        detail = "There is no such session of this key. Begin one with `initialize`."
        return _refused(HTTPStatus.NOT_FOUND, _INVALID_REQUEST, detail)
    return None


def _is_message(message: Any) -> bool:
    """Whether it is one message whose id, if it has one, can be told from others."""
    if not isinstance(message, dict):
        return False
    named = cast("dict[str, object]", message)
    return "id" not in named or (isinstance(named["id"], str | int) and not isinstance(named["id"], bool))


def _note_session(request: Request, message: dict[str, object]) -> bool:
    """Put the session that a request names or begins into its state; False where it names one that is not the caller's.

    The present revision of the protocol has no sessions.
    """
    house: House = request.state.house
    caller: Principal = request.state.principal
    named = request.headers.get(_SESSION)
    if message.get("method") == "initialize":
        request.state.mcp_new_session = new_session(house.tenant, caller)
    elif named is not None and request.headers.get(_REVISION) in {None, *OLDER}:
        if not belongs_to(named, house.tenant, caller):
            return False
        request.state.mcp_session = named
    return True


def _naming_session(scope: Scope, send: Send) -> Send:
    """Names the session in the answer that begins one."""
    session: str | None = scope["state"].get("mcp_new_session")
    if session is None:
        return send

    async def send_naming(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
            MutableHeaders(scope=message)[_SESSION] = session
        await send(message)

    return send_naming


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read once more, and then what comes after it."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def _refused(status: int, code: int, message: str) -> Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": _traced()}}
    return JSONResponse(body, status_code=status)


def _traced() -> dict[str, str]:
    trace = current_trace_id()
    return {} if trace is None else {"trace": trace}
