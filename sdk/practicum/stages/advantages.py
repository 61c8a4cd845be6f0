"""What an attempt was worth against the other attempts at the same task. Pure."""

import math
from collections.abc import Sequence

_EPSILON = 1e-4
"""Added to the spread, as TRL does, so that a group of nearly equal rewards does not explode."""


def advantages(rewards: Sequence[float | None], *, normalise: bool = True) -> tuple[float | None, ...]:
    """The advantage of each attempt of one group.

    An attempt without a reward (None: the policy could not have caused its failure) is no part of the baseline and
    has no advantage. Nor has any attempt of a group whose rewards are all the same, or of which only one is left:
    such a group says nothing about what to do otherwise.

    Args:
        rewards: of one task's attempts.
        normalise: whether to divide by the rewards' sample standard deviation, as GRPO does; without, the
            advantage is the distance from the mean alone.

    Returns:
        For each attempt its advantage; None where it leaves the loss altogether.
    """
    scored = [reward for reward in rewards if reward is not None]
    if len(scored) < 2 or max(scored) == min(scored):  # noqa: PLR2004  a spread needs two
        return (None,) * len(rewards)
    mean = math.fsum(scored) / len(scored)
    spread = math.sqrt(math.fsum((reward - mean) ** 2 for reward in scored) / (len(scored) - 1))
    scale = 1 / (spread + _EPSILON) if normalise else 1.0
    return tuple(None if reward is None else (reward - mean) * scale for reward in rewards)
