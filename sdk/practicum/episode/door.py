"""The gateway as an episode's driver sees it."""

from typing import Protocol

from practicum.contracts.episodes import (
    CallReceipt,
    Episode,
    EpisodeResult,
    InvokeRequest,
    TurnReceipt,
    TurnRequest,
)


class EpisodeDoor(Protocol):
    """Three requests, each safe to repeat; `practicum.agent.GatewayDoor` is the real one.

    Every one of them raises `practicum.errors.PracticumError`: `GatewayUnavailableError` when nobody answered,
    `EpisodeError` when the episode has ended meanwhile, others as the gateway names them.
    """

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        """Have the model take the turn of a step; a repeated step returns the turn that was accepted.

        Raises:
            practicum.errors.ModelProviderError: the model could not be had.
        """
        ...

    async def invoke(self, episode: str, request: InvokeRequest) -> CallReceipt:
        """Have one call of an accepted turn made, once; a repeated one returns what was recorded."""
        ...

    async def close(self, episode: str, result: EpisodeResult) -> Episode:
        """End the episode; the first result stands, and the episode with it is returned."""
        ...
