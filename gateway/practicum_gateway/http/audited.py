"""What the audit log learns from requests: who acts, and who was turned away.

`Watched` stands around the boundary and sees what was answered in the end; `Acting` stands behind the door and knows
who came in.
"""

from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from practicum_gateway.access.principals import Principal
from practicum_gateway.audit.refusals import Refused
from practicum_gateway.audit.who import NOBODY, acting_as
from practicum_gateway.house import House
from practicum_gateway.http.middleware import GUARDED

_LONGEST_METHOD = 10
_MCP = "/mcp"


class Watched:
    """Counts the requests that are turned away: those whose answer says that they were the caller's fault.

    A conflict is none: it says how things stand. Who shows no valid key is counted in the main tenant's log.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return

        async def send_noting_refusal(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_refusal(scope, message["status"]):
                _house(scope).audit.refused(_refused(scope, message["status"]))
            await send(message)

        await self._app(scope, receive, send_noting_refusal)


class Acting:
    """Lets the principal act whom the door has let in."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        principal = _principal(scope)
        if principal is None:
            await self._app(scope, receive, send)
            return
        with acting_as(principal.who):
            await self._app(scope, receive, send)


def _is_refusal(scope: Scope, status: int) -> bool:
    if status == HTTPStatus.METHOD_NOT_ALLOWED and getattr(scope.get("route"), "path", None) == _MCP:
        return False  # older clients ask in this way whether there is a stream
    return HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.CONFLICT


def _refused(scope: Scope, status: int) -> Refused:
    principal, client = _principal(scope), scope.get("client")
    begins = next(path for path in GUARDED if scope["path"].startswith(path))
    template = getattr(scope.get("route"), "path", f"{begins}...")
    return Refused(
        who=NOBODY if principal is None else principal.who,
        subject=f"{scope['method'][:_LONGEST_METHOD]} {template}",
        status=status,
        client=None if client is None else client[0],
    )


def _principal(scope: Scope) -> Principal | None:
    return scope.get("state", {}).get("principal")


def _house(scope: Scope) -> House:
    house: House | None = scope.get("state", {}).get("house")
    return scope["app"].state.estate.main if house is None else house
