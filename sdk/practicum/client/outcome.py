"""What the end of an episode means to whoever waited for it."""

from practicum.contracts.episodes import Episode, EpisodeResult, EpisodeStatus
from practicum.errors import EpisodeError


def result_of(episode: Episode) -> EpisodeResult:
    """The result of an ended episode.

    Raises:
        EpisodeError: it ended and nothing says how.
    """
    if episode.result is None:
        raise EpisodeError(
            f"Episode {episode.id} is {episode.status} and has no result.",
            mend=f"Read what happened: `practicum episodes show {episode.id}`.",
        )
    return episode.result


def completed(episode: str, result: EpisodeResult) -> EpisodeResult:
    """The result, if the agent gave its final answer.

    Raises:
        EpisodeError: the episode ended in any other way.
    """
    if result.status is not EpisodeStatus.COMPLETED:
        raise EpisodeError(
            f"Episode {episode} ended as {result.status}: {result.reason or f'caused by {result.cause}'}.",
            mend=f"Read what happened: `practicum episodes show {episode}`.",
        )
    return result


def late(episode: str, timeout: float) -> TimeoutError:
    """The error for a caller that did not want to wait longer."""
    return TimeoutError(f"Episode {episode} has not ended within {timeout:g} s; it goes on.")
