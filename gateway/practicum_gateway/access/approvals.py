"""Approvals: a question to a person about exactly one call, answered once."""

from collections.abc import Awaitable, Callable

from practicum.contracts.access import Approval, ApprovalAnswer, ApprovalStatus
from practicum_gateway.access.principals import Principal
from practicum_gateway.store.engine import Store

OnAnswer = Callable[[Approval], Awaitable[None]]
"""Told of every approval that was answered, after the answer is stored; the composition root sets it."""


class Approvals:
    """Keeps the questions and takes the answers."""

    on_answer: OnAnswer

    def __init__(self, store: Store) -> None:
        """Keep approvals in a store."""
        self._store = store

    async def get(self, approval: str) -> Approval:
        """One approval; a pending one past its time reads as expired.

        Raises:
            NotFoundError: there is none of that id.
        """
        raise NotImplementedError

    async def list(
        self, *, status: ApprovalStatus | None = None, episode: str | None = None, limit: int = 100
    ) -> tuple[Approval, ...]:
        """Approvals, newest first."""
        raise NotImplementedError

    async def answer(self, approval: str, principal: Principal, answer: ApprovalAnswer) -> Approval:
        """Take a person's answer, store it, then tell `on_answer`."""
        raise NotImplementedError

    async def cancel_of_episode(self, episode: str) -> None:
        """Nobody waits for these answers any more: the pending approvals of an ended episode."""
        raise NotImplementedError
