"""From attempts to what a policy gradient takes: rows of tokens, which of them count, and by how much. Pure.

The tokens come from `token_rows`, the function that exports use: what is trained is what would be exported. Everything
that could silently train the wrong tokens is checked here, before a gradient sees it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from practicum.contracts.trajectory import Trajectory
from practicum.errors import EpisodeError
from practicum.stages.advantages import advantages
from practicum.stages.lockstep import Played
from practicum.trajectories import TokenRow, token_rows
from practicum.trajectories.tokens import IGNORED


@dataclass(frozen=True, slots=True)
class Scored:
    """One attempt as a trainer takes it. The three sequences have the same length.

    Attributes:
        ids: all tokens of the episode.
        trained: whether the policy drew the token and the attempt takes part in the loss.
        logprobs: of drawn tokens, as they were sampled; 0 elsewhere.
        advantage: what it was worth against its group; 0 where it takes no part.
    """

    ids: tuple[int, ...]
    trained: tuple[bool, ...]
    logprobs: tuple[float, ...]
    advantage: float


@dataclass(frozen=True, slots=True)
class Batch:
    """The attempts of one step.

    Attributes:
        rows: one for each attempt, in order, those that take no part included.
        figures: what the attempts came to, by name.
        outcomes: rewards by family.
    """

    rows: tuple[Scored, ...]
    figures: Mapping[str, float]
    outcomes: Mapping[str, tuple[float, ...]]

    @property
    def trained(self) -> int:
        """Tokens that take part in the loss."""
        return sum(sum(row.trained) for row in self.rows)


def batch_of(played: Sequence[Played], group_size: int, *, normalise: bool = True) -> Batch:
    """Score groups of attempts.

    Args:
        played: attempts, those at the same task side by side.
        group_size: how many attempts each task had.
        normalise: whether advantages are divided by the spread of their group.

    Raises:
        EpisodeError: attempts of different tasks are in one group, or tokens and marks do not fit each other.
    """
    rows: list[Scored] = []
    silent = lost = 0
    for group in _groups(played, group_size):
        worth = advantages([attempt.verdict.reward for attempt in group], normalise=normalise)
        silent += all(advantage is None for advantage in worth)
        lost += sum(attempt.verdict.reward is None for attempt in group)
        rows += [_scored(attempt.trajectory, advantage) for attempt, advantage in zip(group, worth, strict=True)]
    outcomes: dict[str, list[float]] = {}
    for attempt in played:
        if attempt.verdict.reward is not None:
            outcomes.setdefault(attempt.task.family, []).append(attempt.verdict.reward)
    return Batch(
        rows=tuple(rows),
        figures=_figures(played, outcomes, lost=lost, silent=silent * group_size / len(played)),
        outcomes={family: tuple(rewards) for family, rewards in outcomes.items()},
    )


def _groups(played: Sequence[Played], size: int) -> list[Sequence[Played]]:
    if not played or len(played) % size:
        raise EpisodeError(f"{len(played)} attempts make no groups of {size}.")
    groups = [played[begin : begin + size] for begin in range(0, len(played), size)]
    for group in groups:
        tasks = {attempt.task.id for attempt in group}
        if len(tasks) > 1:
            raise EpisodeError(f"Attempts at different tasks are in one group: {', '.join(sorted(tasks))}.")
        openings = {call.sampled.prompt_ids for call in _first_calls(group) if call.sampled is not None}
        if len(openings) > 1:
            raise EpisodeError(f"The attempts at {group[0].task.id} began with different tokens.")
    return groups


def _first_calls(group: Sequence[Played]):  # noqa: ANN202  private, its type is plain
    return (attempt.trajectory.model_calls[0] for attempt in group if attempt.trajectory.model_calls)


def _scored(trajectory: Trajectory, advantage: float | None) -> Scored:
    if not trajectory.model_calls:
        # It was lost before it began. Its row keeps the batch in shape and has nothing to learn from.
        return Scored(ids=(0, 0), trained=(False, False), logprobs=(0.0, 0.0), advantage=0.0)
    row = _row(trajectory)
    takes_part = advantage is not None
    return Scored(
        ids=row.input_ids,
        trained=tuple(takes_part and label != IGNORED for label in row.labels),
        logprobs=row.logprobs,
        advantage=advantage or 0.0,
    )


def _row(trajectory: Trajectory) -> TokenRow:
    """The episode's one row, checked against the turns that were drawn."""
    rows = token_rows(trajectory)
    if len(rows) != 1:
        raise EpisodeError(f"The tokens of {trajectory.episode} make {len(rows)} rows: its prompts do not continue.")
    (row,) = rows
    lengths = {len(row.input_ids), len(row.labels), len(row.logprobs)}
    if len(lengths) != 1:
        raise EpisodeError(f"Tokens, labels and logprobs of {trajectory.episode} differ in length.")
    drawn = [token for call in trajectory.model_calls if call.sampled for token in call.sampled.completion_ids]
    marked = [label for label in row.labels if label != IGNORED]
    if marked != drawn or row.labels[0] != IGNORED:
        raise EpisodeError(f"The marks of {trajectory.episode} are not on the tokens that the policy drew.")
    return row


def _figures(
    played: Sequence[Played], outcomes: Mapping[str, Sequence[float]], *, lost: int, silent: float
) -> dict[str, float]:
    rewards = [reward for family in outcomes.values() for reward in family]
    calls = [call for attempt in played for call in attempt.trajectory.model_calls]
    figures = {
        "lost": float(lost),
        "groups_without_signal": silent,
        "turns": len(calls) / len(played),
        "cut_off": sum(call.finish_reason == "length" for call in calls) / max(1, len(calls)),
    }
    if rewards:
        figures["reward"] = sum(rewards) / len(rewards)
    return figures | {f"success/{family}": sum(found) / len(found) for family, found in sorted(outcomes.items())}
