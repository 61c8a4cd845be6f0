"""Calls about episodes."""

from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack
from uuid import uuid4

from practicum.client.call import Call, build, labels, nothing, path, patterns, query, read
from practicum.contracts.access import IssuedKey
from practicum.contracts.episodes import (
    CallReceipt,
    Driver,
    Episode,
    EpisodeEvent,
    EpisodeMode,
    EpisodeRequest,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    Limits,
    RewardRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.models import Sampling
from practicum.contracts.tasks import States


class EpisodeOptions(TypedDict, total=False):
    """What may be said of an episode beyond its task and model; see `EpisodeRequest` for each."""

    tools: str | Iterable[str]
    limits: Limits
    sampling: Sampling
    driver: Driver
    mode: EpisodeMode
    idempotency_key: str
    metadata: Mapping[str, str]
    start: States
    fallback: bool


def start(task: str, *, model: str, **options: Unpack[EpisodeOptions]) -> Call[Episode]:
    """Begin an episode.

    Args:
        task: what to do, in words.
        model: alias of the model.
        options: tools, limits, sampling, driver, mode, idempotency key, metadata, start state and
            whether fallbacks may answer.

    Raises:
        RequestError: an option does not fit, or the gateway knows no such model.
        InDoubtError: the gateway's answer was lost; the error says how to find the episode.
    """
    fields: dict[str, object] = {"idempotency_key": uuid4().hex, **options, "task": task, "model": model}
    fields["tools"] = patterns(options.get("tools", ()))
    request = build(EpisodeRequest, "episode", **fields)
    return Call(
        "POST",
        "/v1/episodes",
        read(Episode),
        body=request,
        if_lost=f"Start it again with idempotency_key='{request.idempotency_key}': that returns the same episode.",
    )


def get(episode: str) -> Call[Episode]:
    """One episode.

    Raises:
        NotFoundError: there is none of this id, or not for this caller.
    """
    return Call("GET", path("/v1/episodes/{}", episode), read(Episode))


def fetch_all(
    *,
    status: EpisodeStatus | None = None,
    metadata: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Call[list[Episode]]:
    """Episodes, newest first.

    Args:
        status: only those that stand so.
        metadata: only those with all these labels.
        limit: the most to return; the gateway's own bound when absent.
    """
    return Call(
        "GET", "/v1/episodes", read(list[Episode]), query=(*query(status=status, limit=limit), *labels(metadata))
    )


def cancel(episode: str) -> Call[Episode]:
    """End an episode before it is done; calls already made are not undone.

    Raises:
        NotFoundError: there is none of this id.
    """
    return Call("POST", path("/v1/episodes/{}/cancel", episode), read(Episode))


def events(episode: str, after: int) -> Call[EpisodeEvent]:
    """The stream of an episode's events past a sequence number; `parse` reads one event's data."""
    return Call("GET", path("/v1/episodes/{}/events", episode), read(EpisodeEvent), query=query(after=after))


def close(episode: str, result: EpisodeResult) -> Call[Episode]:
    """Say how an episode ended, as its driver; the first result wins."""
    return Call("POST", path("/v1/episodes/{}/close", episode), read(Episode), body=result)


def take_turn(episode: str, request: TurnRequest) -> Call[TurnReceipt]:
    """Have the model take the turn of a step, as the episode's driver; a repeated step returns the accepted turn.

    Raises:
        ModelProviderError: the model could not answer.
        EpisodeError: the episode has ended.
    """
    return Call("POST", path("/v1/episodes/{}/turns", episode), read(TurnReceipt), body=request)


def invoke(episode: str, request: InvokeRequest) -> Call[CallReceipt]:
    """Have a call of an accepted turn made, as the episode's driver; a repeated call returns its recorded outcome.

    Raises:
        EpisodeError: the episode has ended, or the step holds no such call.
    """
    return Call("POST", path("/v1/episodes/{}/calls", episode), read(CallReceipt), body=request)


def states(episode: str) -> Call[States]:
    """What the practice systems of a training episode hold, now or at its end.

    Raises:
        NotFoundError: there is no such episode, or it has no practice systems.
        UpstreamError: a system's state cannot be read.
    """
    return Call("GET", path("/v1/episodes/{}/states", episode), read(States))


def release(episode: str) -> Call[None]:
    """End the practice copies of a training episode, once nobody needs to read them any more.

    Raises:
        NotFoundError: there is no such episode.
        UpstreamError: a copy could not be told; releasing again tells it.
    """
    return Call("DELETE", path("/v1/episodes/{}/practice", episode), nothing)


def issue_key(episode: str) -> Call[IssuedKey]:
    """A key with which an agent of any framework works on behalf of this episode, and of nothing else."""
    return Call("POST", path("/v1/episodes/{}/keys", episode), read(IssuedKey))


def reward(episode: str, reward: float | None, *, source: str, reason: str | None = None) -> Call[Episode]:
    """Give a verdict on an episode; the latest counts.

    Args:
        episode: the episode's id.
        reward: the reward; None when the agent could not have caused the failure.
        source: which verifier or person gives it.
        reason: why.
    """
    body = build(RewardRequest, "reward", reward=reward, source=source, reason=reason)
    return Call("POST", path("/v1/episodes/{}/reward", episode), read(Episode), body=body)
