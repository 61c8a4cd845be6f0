"""Episodes: begun, followed, driven, ended."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from practicum.contracts.access import IssuedKey
from practicum.contracts.audit import LARGEST
from practicum.contracts.episodes import (
    CallReceipt,
    Episode,
    EpisodeEvent,
    EpisodeRequest,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    RewardRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.tasks import States
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.labels import Labels
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/episodes", tags=["episodes"], route_class=JsonRoute)

_HEARTBEAT_SECONDS = 15.0
_EVENT_STREAM = "text/event-stream"
_AGAIN: dict[int | str, dict[str, Any]] = {200: {"description": "It was begun before.", "model": Episode}}
_FOLLOWED: dict[int | str, dict[str, Any]] = {200: {"description": "An event each.", "content": {_EVENT_STREAM: {}}}}


@router.post("", status_code=201, responses=_AGAIN | documented(409, 502, 503))
async def start_episode(request: EpisodeRequest, response: Response, house: Services, caller: Caller) -> Episode:
    """Begin an episode; a repeated idempotency key returns the first one, with status 200."""
    episode, is_new = await house.episodes.start(caller, request)
    if not is_new:
        response.status_code = 200
    return episode


@router.get("")
async def list_episodes(
    house: Services,
    caller: Caller,
    labels: Labels,
    status: Annotated[list[EpisodeStatus] | None, Query()] = None,
    limit: Limit = 100,
) -> tuple[Episode, ...]:
    """Episodes, newest first."""
    return await house.episodes.list(caller, statuses=status or (), metadata=labels, limit=limit)


@router.get("/{episode}")
async def get_episode(episode: str, house: Services, caller: Caller) -> Episode:
    """One episode."""
    return await house.episodes.get(caller, episode)


@router.post("/{episode}/cancel", responses=documented(409, 503))
async def cancel_episode(episode: str, house: Services, caller: Caller) -> Episode:
    """End an episode before it is done; calls already made are not undone."""
    return await house.episodes.cancel(caller, episode)


@router.get("/{episode}/events", response_class=StreamingResponse, responses=_FOLLOWED)
async def follow_episode(
    episode: str,
    house: Services,
    caller: Caller,
    after: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    last_event_id: Annotated[int, Header(ge=0, le=LARGEST)] = 0,
) -> StreamingResponse:
    """The episode's events as server-sent events, all of them or those after the last one known, until it has ended."""
    await house.episodes.get(caller, episode)
    events = house.record.events.follow(
        episode, after=max(after, last_event_id), closing=house.closing, heartbeat_seconds=_HEARTBEAT_SECONDS
    )
    return StreamingResponse(_written(events), media_type=_EVENT_STREAM, headers={"Cache-Control": "no-store"})


@router.post("/{episode}/keys", status_code=201, responses=documented(409))
async def issue_episode_key(episode: str, house: Services, caller: Caller) -> IssuedKey:
    """A key with which an agent of any framework works within this episode, and nowhere else."""
    return await house.episodes.issue_key(caller, episode)


@router.post("/{episode}/turns", responses=documented(409, 429, 502))
async def take_turn(episode: str, request: TurnRequest, house: Services, caller: Caller) -> TurnReceipt:
    """Have the model take the turn of a step; a repeated step returns the turn that was accepted."""
    return await house.episodes.take_turn(caller, episode, request)


@router.post("/{episode}/calls", responses=documented(409, 502))
async def make_call(episode: str, request: InvokeRequest, house: Services, caller: Caller) -> CallReceipt:
    """Have one call of an accepted turn made, once; a repeated one returns what was recorded."""
    return await house.episodes.make_call(caller, episode, request)


@router.post("/{episode}/close", responses=documented(409))
async def close_episode(episode: str, result: EpisodeResult, house: Services, caller: Caller) -> Episode:
    """Say how an episode ended, as its driver; the first result stands."""
    return await house.episodes.close(caller, episode, result)


@router.post("/{episode}/reward", responses=documented(409))
async def reward_episode(episode: str, request: RewardRequest, house: Services, caller: Caller) -> Episode:
    """Give a verdict on an episode; the latest counts."""
    return await house.episodes.reward(caller, episode, request)


@router.get("/{episode}/states", responses=documented(409, 502))
async def practice_states(episode: str, house: Services, caller: Caller) -> States:
    """What the practice copies of a training episode hold, now or at its end, until they are released."""
    return await house.episodes.states(caller, episode)


@router.delete("/{episode}/practice", status_code=204, responses=documented(409, 502))
async def release_practice(episode: str, house: Services, caller: Caller) -> None:
    """End the practice copies of a training episode; once they are read, their places are for others."""
    await house.episodes.release(caller, episode)


async def _written(events: AsyncGenerator[EpisodeEvent | None]) -> AsyncGenerator[str]:
    async for event in events:
        if event is None:
            yield ": still here\n\n"
        else:
            yield f"id: {event.sequence}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n"
