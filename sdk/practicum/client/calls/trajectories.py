"""Calls about trajectories."""

from collections.abc import Mapping

from practicum.client.call import Call, labels, path, query, read
from practicum.contracts.trajectory import Trajectory


def get(episode: str) -> Call[Trajectory]:
    """The record of one episode.

    Raises:
        NotFoundError: there is no such episode.
    """
    return Call("GET", path("/v1/trajectories/{}", episode), read(Trajectory))


def fetch_all(
    *, metadata: Mapping[str, str] | None = None, after: str | None = None, limit: int | None = None
) -> Call[list[Trajectory]]:
    """One page of trajectories, newest first.

    Args:
        metadata: only those with all these labels.
        after: the episode id after which the page begins.
        limit: the most to return; the gateway's own bound when absent.
    """
    return Call(
        "GET", "/v1/trajectories", read(list[Trajectory]), query=(*query(after=after, limit=limit), *labels(metadata))
    )
