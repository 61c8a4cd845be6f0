"""The OAuth 2 grants: as the client itself, and for a person who has signed in once."""

import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

Rotated: TypeAlias = Callable[[str], Awaitable[None]]
"""Stores the refresh token that replaces the one before; raises PracticumError where it cannot."""


Turn: TypeAlias = Callable[[], AbstractAsyncContextManager[str]]
"""Gives the refresh token in force; while it lasts nobody else exchanges it. It raises PracticumError if it cannot."""


class ClientGrant:
    """The client asks for itself; its secret is all that is needed."""

    mend = "Check the connector's client id, client secret, scopes and token URL."

    def form(self) -> dict[str, str]:
        """The grant's name."""
        return {"grant_type": "client_credentials"}

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Nobody has to wait for another."""
        return contextlib.nullcontext()

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

    def __init__(self, refresh_token: str, on_rotated: Rotated | None = None, turn: Turn | None = None) -> None:
        """Begin with the token of the sign-in.

        Args:
            refresh_token: what the sign-in gave.
            on_rotated: stores each token that replaces it; without it a replaced token lives as long as the process.
            turn: where others hold the same token, such as the connector of before a refresh of its document.
        """
        self._current = refresh_token
        self._stored = refresh_token
        self._on_rotated = on_rotated
        self._turn = turn
        self._known: deque[str] = deque([refresh_token], maxlen=8)

    def form(self) -> dict[str, str]:
        """The grant's name and the token."""
        return {"grant_type": "refresh_token", "refresh_token": self._current}

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Exchange the token that is in force: another holder may have replaced the one that is known here.

        Raises:
            PracticumError: it cannot be read, or the one that replaces it could not be stored.
        """
        if self._turn is None:
            yield
            return
        async with self._turn() as current:
            if self._current == self._stored:  # else there is a newer one here, which is still to be stored
                self.taken({"refresh_token": current})
                self._stored = self._current
            yield
            await self.keep()

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
