"""The ledger: one side effect per key."""

from practicum.contracts.trajectory import Invocation


class Ledger:
    """Remembers every call before it is sent and its outcome after."""

    async def of_episode(self, episode: str) -> tuple[Invocation, ...]:
        """The settled calls of an episode, in the order in which they were asked for."""
        raise NotImplementedError
