"""The only code of the worker that touches the world, and it touches it through the gateway's door."""

from collections.abc import Callable
from dataclasses import dataclass, field

from temporalio import activity

from practicum.contracts.episodes import (
    CallReceipt,
    CallReference,
    EpisodeResult,
    InvokeRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.episode import EpisodeDoor
from practicum.episode.failures import Retries
from practicum_workflows.boundary import boundary
from practicum_workflows.payloads import CallInput, CloseInput, TurnInput

_NAME_LENGTH = 64
"""The longest name a tool has."""


@dataclass(frozen=True, slots=True)
class EpisodeActivities:
    """What an episode's workflow has done for it. Each is safe to repeat: the gateway recognises a repetition.

    Attributes:
        door: the gateway, entered with a worker's key. It must not retry: Temporal does.
        retries: how many attempts an error of some hope is worth.
        door_of: the gateway for the episodes of another tenant than the main one; the same door when absent.
    """

    door: EpisodeDoor
    retries: Retries = field(default=Retries())
    door_of: Callable[[str], EpisodeDoor] | None = None

    @activity.defn(name="practicum.take_turn")
    async def take_turn(self, turn: TurnInput) -> TurnReceipt:
        """Have the model take a turn."""
        async with boundary(self.retries):
            request = TurnRequest(step=turn.step, attempt=activity.info().attempt)
            receipt = await self._door(turn.tenant).take_turn(turn.episode, request)
            return receipt.model_copy(update={"calls": tuple(_named(call) for call in receipt.calls)})

    @activity.defn(name="practicum.invoke_call")
    async def invoke_call(self, call: CallInput) -> CallReceipt:
        """Have a call made, once."""
        async with boundary(self.retries):
            return await self._door(call.tenant).invoke(call.episode, InvokeRequest(step=call.step, call=call.call))

    @activity.defn(name="practicum.close_episode")
    async def close_episode(self, close: CloseInput) -> EpisodeResult:
        """End the episode; returns the result that stands, its words left out, for they are not the workflow's.

        A key that the gateway refuses is waited for: an episode must not stay open because a key was changed.
        """
        async with boundary(self.retries, wait_for_access=True):
            closed = await self._door(close.tenant).close(close.episode, close.result)
            standing = closed.result or close.result
            return standing.model_copy(update={"answer": None, "reason": None})

    def _door(self, tenant: str | None) -> EpisodeDoor:
        return self.door if tenant is None or self.door_of is None else self.door_of(tenant)


def _named(call: CallReference) -> CallReference:
    """The call with no more of its tool's name than a name may have: a model may have put anything there."""
    return call.model_copy(update={"tool": call.tool[:_NAME_LENGTH]})
