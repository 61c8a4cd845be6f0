"""How the gateway leaves: first it is not ready any more, then it refuses what is new, then it ends.

    serving --begin--> leaving --refuse--> refusing

Who sends it requests learns in the first step that it should stop; in the second, what comes all the same is refused
before anything is done about it, so that it can be sent again elsewhere or later without harm.
"""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from practicum.errors import GatewayUnavailableError
from practicum_gateway.http.problems import of_error, rendered

ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are answered to the end: they say how the gateway stands."""
_RETRY_SECONDS = 5.0


class Drain:
    """Where the gateway stands in leaving.

    Attributes:
        leaving: whether it has begun to leave.
        refusing: whether it refuses what is new.
        under_way: how many requests it is answering.
    """

    def __init__(self) -> None:
        """Serve."""
        self.leaving = False
        self.refusing = False
        self.under_way = 0

    def begin(self) -> None:
        """Be ready no more; requests are still taken."""
        self.leaving = True

    def refuse(self) -> None:
        """Take no more requests."""
        self.leaving = self.refusing = True


class Drained:
    """Counts requests under way, and refuses new ones once the gateway leaves."""

    def __init__(self, app: ASGIApp, *, drain: Drain) -> None:
        """Wrap an app."""
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self._app(scope, receive, send)
            return
        if self._drain.refusing:
            answer = rendered(of_error(_leaving()), scope["path"])
            answer.headers["Connection"] = "close"  # the next request is not to come this way again
            await answer(scope, receive, send)
            return
        self._drain.under_way += 1
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._drain.refusing:
                raise
            # Broken off with the process: its connection is closed already, and there is nobody left to tell.
        finally:
            self._drain.under_way -= 1


def _leaving() -> GatewayUnavailableError:
    return GatewayUnavailableError(
        "The gateway is shutting down and takes nothing new. Nothing was done.",
        mend="Send the same again in a moment.",
        retry_after=_RETRY_SECONDS,
    )
