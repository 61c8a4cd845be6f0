"""The OAuth 2 grants: as the client itself, and for a person who has signed in once."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

Rotated: TypeAlias = Callable[[str], Awaitable[None]]
"""Stores the refresh token that replaces the one before; raises PracticumError where it cannot."""


class ClientGrant:
    """The client asks for itself; its secret is all that is needed."""

    mend = "Check the connector's client id, client secret, scopes and token URL."

    def form(self) -> dict[str, str]:
        """The grant's name."""
        return {"grant_type": "client_credentials"}

    def taken(self, answer: Mapping[str, Any]) -> None:
        """There is nothing to take over."""

    async def keep(self) -> None:
        """There is nothing to keep."""

    def secrets(self) -> Iterable[str]:
        """There are none but the client's."""
        return ()


class RefreshGrant:
    """A refresh token, which the server may replace each time it is used.

    A server that replaces it forgets the one before, so the new one is stored before anything else is done with it:
    no call is made as long as it is known to this process alone.
    """

    mend = "Sign in again, and register the connector with the new refresh token."

    def __init__(self, refresh_token: str, on_rotated: Rotated | None = None) -> None:
        """Begin with the token of the sign-in.

        Args:
            refresh_token: what the sign-in gave.
            on_rotated: stores each token that replaces it; without it a replaced token lives as long as the process.
        """
        self._current = refresh_token
        self._stored = refresh_token
        self._on_rotated = on_rotated
        self._known: deque[str] = deque([refresh_token], maxlen=8)

    def form(self) -> dict[str, str]:
        """The grant's name and the token."""
        return {"grant_type": "refresh_token", "refresh_token": self._current}

    def taken(self, answer: Mapping[str, Any]) -> None:
        """Take over the token that replaces this one, if there is one."""
        value = answer.get("refresh_token")
        if isinstance(value, str) and value and value != self._current:
            self._current = value
            self._known.append(value)

    async def keep(self) -> None:
        """Store a token that was replaced.

        Raises:
            PracticumError: it could not be stored.
        """
        current = self._current
        if current == self._stored:
            return
        if self._on_rotated is not None:
            await self._on_rotated(current)
        self._stored = current

    def secrets(self) -> Iterable[str]:
        """The tokens of late."""
        return tuple(self._known)
