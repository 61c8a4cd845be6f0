"""Trajectories: what the record holds of an episode."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject
from practicum.contracts.trajectory import Trajectory
from practicum_gateway.audit.log import Deed
from practicum_gateway.episodes.episodes import only_of
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.labels import Labels

router = APIRouter(prefix="/v1/trajectories", tags=["trajectories"], route_class=JsonRoute)


@router.get("")
async def list_trajectories(
    house: Services,
    caller: Caller,
    labels: Labels,
    after: Annotated[str | None, Query(description="The last episode of the page before.")] = None,
    limit: Limit = 100,
) -> tuple[Trajectory, ...]:
    """Trajectories, newest first."""
    if caller.episode is not None:
        return (await get_trajectory(caller.episode, house, caller),)
    found = await house.trajectories.list(metadata=labels, principal=only_of(caller), before=after, limit=limit)
    await house.audit.note(_exported(found))
    return found


@router.get("/{episode}")
async def get_trajectory(episode: str, house: Services, caller: Caller) -> Trajectory:
    """The trajectory of one episode, as far as it went."""
    await house.episodes.get(caller, episode)
    await house.audit.note(Deed(Action.TRAJECTORY_READ, episode, episode=episode))
    return await house.trajectories.of(episode)


def _exported(found: Sequence[Trajectory]) -> Deed:
    """The page that was read: which episodes are on it follows from the first and the last."""
    ends = (found[0].episode, found[-1].episode) if found else (None, None)
    details: JsonObject = {"episodes": len(found), "newest": ends[0], "oldest": ends[1]}
    return Deed(Action.TRAJECTORY_EXPORTED, "trajectories", details=details)
