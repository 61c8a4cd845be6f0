"""What workflows and activities hand each other through history: references and numbers, no conversation."""

from pydantic import Field
from temporalio.contrib.pydantic import pydantic_data_converter

from practicum.contracts.base import Value
from practicum.contracts.episodes import EpisodeResult, EpisodeStart
from practicum.episode import EpisodeState

DATA_CONVERTER = pydantic_data_converter
"""How payloads are written; whoever starts or reaches an episode's workflow uses the same."""


class Pace(Value):
    """When an episode's workflow does what no event calls for.

    It is part of the history of the episodes that were started with it, so that their replay does not change with it.

    Attributes:
        roll_after: history events after which the workflow goes on in a new run. Replaying costs about half a
            millisecond an event, and a restarted worker replays all it holds at once.
        recheck: seconds after which a call that waits for an approval is made again unasked: so an approval that
            expired is noticed, and one whose message was lost.
    """

    roll_after: int = Field(default=2_000, ge=10)
    recheck: float = Field(default=3600.0, gt=0)


class EpisodeRun(EpisodeStart):
    """What a run of the workflow begins with: an `EpisodeStart` is one, and so is what a run leaves to the next.

    Temporal types the arguments of a workflow only when all of them are given, hence one value and not two arguments.

    Attributes:
        state: the episode as the run before left it; None begins it.
        pace: the pace it was started with.
    """

    state: EpisodeState | None = None
    pace: Pace = Pace()


class TurnInput(Value):
    """Which turn to take; `tenant` is whose episode it is, None for the main tenant's, here and below."""

    episode: str
    step: int
    tenant: str | None = None


class CallInput(Value):
    """Which call to make."""

    episode: str
    step: int
    call: int
    tenant: str | None = None


class CloseInput(Value):
    """Which episode to end, and how it ended."""

    episode: str
    result: EpisodeResult
    tenant: str | None = None
