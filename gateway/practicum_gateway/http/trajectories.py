"""Trajectories: what the record holds of an episode."""

from typing import Annotated

from fastapi import APIRouter, Query

from practicum.contracts.trajectory import Trajectory
from practicum_gateway.episodes.episodes import only_of
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.labels import Labels

router = APIRouter(prefix="/v1/trajectories", tags=["trajectories"])


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
    return await house.trajectories.list(metadata=labels, principal=only_of(caller), before=after, limit=limit)


@router.get("/{episode}")
async def get_trajectory(episode: str, house: Services, caller: Caller) -> Trajectory:
    """The trajectory of one episode, as far as it went."""
    await house.episodes.get(caller, episode)
    return await house.trajectories.of(episode)
