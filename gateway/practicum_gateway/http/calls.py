"""Calls that were made: what is recorded of one, and undoing it."""

from typing import Annotated

from fastapi import APIRouter, Query

from practicum.contracts.access import Role
from practicum.contracts.audit import Action
from practicum.contracts.episodes import EpisodeMode
from practicum.contracts.tools import CallStatus, Observation
from practicum.contracts.trajectory import CallRecord, UndoRequest
from practicum.errors import ForbiddenError
from practicum_gateway.access.principals import CALLERS, Principal
from practicum_gateway.audit.log import Deed
from practicum_gateway.house import House
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented
from practicum_gateway.invocation.intent import scope_of

router = APIRouter(prefix="/v1/calls", tags=["tools"], route_class=JsonRoute)


@router.get("")
async def record(
    house: Services,
    caller: Caller,
    key: Annotated[str, Query(min_length=1, max_length=200, description="The call's idempotency key.")],
    episode: Annotated[str | None, Query(description="The episode it belongs to, if it does.")] = None,
) -> CallRecord:
    """What is recorded of a call of yours, or of an episode that you may see, and how it can be undone."""
    caller.require(*CALLERS, Role.APPROVER, to="look at calls")
    found = await house.compensations.of(await _scope(house, caller, episode), key)
    if found.episode is not None:  # a part of its trajectory
        await house.audit.note(
            Deed(Action.TRAJECTORY_READ, found.episode, episode=found.episode, details={"invocation": found.id})
        )
    return found


@router.post("/undo", responses=documented(409, 429, 502))
async def undo(request: UndoRequest, house: Services, caller: Caller) -> Observation:
    """Make the call that undoes another, once, on your own behalf and through the rules like any other call."""
    caller.require(*CALLERS, to="undo calls")
    if caller.episode is not None:
        raise ForbiddenError(
            "An episode key may not undo calls.", mend="Call the tool that the observation's `compensation` names."
        )
    scope = await _scope(house, caller, request.episode)
    if request.episode is not None:
        stored = await house.episodes.stored(caller, request.episode)
        if stored.episode.mode is EpisodeMode.TRAINING:
            raise ForbiddenError("Calls of training are made on practice copies; there is nothing to undo.")
    intent = await house.compensations.intent(scope, request.key, caller, request.idempotency_key)
    observation = await house.pipeline.invoke(intent)
    if observation.approval is None or observation.status not in {CallStatus.WAITING, CallStatus.DENIED}:
        return observation
    if observation.status is CallStatus.DENIED:
        said = f"{observation.content} To ask anew, give the undoing an idempotency key of its own."
    else:
        said = f"Undoing it waits for a person to approve it ({observation.approval}). Nothing was sent."
        said = f"{said} Once it is answered, undo it again."
    return observation.model_copy(update={"content": said})


async def _scope(house: House, caller: Principal, episode: str | None) -> str:
    within = episode or caller.episode
    if within is not None:
        await house.episodes.get(caller, within)
    return scope_of(caller, within)
