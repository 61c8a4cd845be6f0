"""How the versions of an alias do in earnest, by the rewards of their episodes: what a split is looked at for.

Each episode is one observation, taken to be independent of the others: a split draws each one's version by chance, so
its sides are alike in all but that. Versions that answered at other times, or that somebody asked for by name, are not.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from practicum.contracts.base import Value
from practicum.contracts.evaluation import Estimate
from practicum.contracts.outcomes import VersionOutcomes
from practicum.contracts.promotion import Promotion
from practicum.evaluation.estimators import unpaired_interval, wilson


class Side(Value):
    """How one version does.

    Attributes:
        version: the version.
        success: share of its scored episodes with a whole reward.
        reward: their mean reward; with no interval, and so None, where rewards lie outside of 0 to 1.
        unscored: episodes that ended and have no reward; they are in neither.
        running: episodes that have not ended.
    """

    version: str
    success: Estimate
    reward: Estimate | None = None
    unscored: int = 0
    running: int = 0


class Gap(Value):
    """By how much one version succeeds more often than another.

    Attributes:
        version: the one.
        against: the other.
        n: scored episodes of both.
        difference: of the two shares.
        low: lower bound of its 95% interval.
        high: upper bound.
    """

    version: str
    against: str
    n: int
    difference: float
    low: float
    high: float


class SplitReport(Value):
    """How the sides of a split do.

    Attributes:
        alias: the model.
        split: by version, the weights; empty where it is not split.
        since: episodes that began then or later are counted; all where it is not split.
        sides: each version with episodes, those of the split first.
        gaps: each of them against the first.
    """

    alias: str
    split: dict[str, int]
    since: datetime | None
    sides: tuple[Side, ...]
    gaps: tuple[Gap, ...]


def split_report(change: Promotion, outcomes: Iterable[VersionOutcomes]) -> SplitReport:
    """How the sides of a split do.

    Args:
        change: the latest change of the alias.
        outcomes: of its versions since then, or of all time where the change was no split.
    """
    sides = sides_of(sorted(outcomes, key=lambda each: each.version not in change.split))
    since = change.at if change.split else None
    return SplitReport(alias=change.alias, split=change.split, since=since, sides=sides, gaps=gaps_of(sides))


def sides_of(outcomes: Iterable[VersionOutcomes]) -> tuple[Side, ...]:
    """How each version does, from the counts of its episodes."""
    return tuple(
        Side(
            version=each.version,
            success=_share(each.successes, each.scored),
            reward=_share(each.rewards, each.scored) if _bounded(each) else None,
            unscored=each.unscored,
            running=each.running,
        )
        for each in outcomes
    )


def gaps_of(sides: Sequence[Side]) -> tuple[Gap, ...]:
    """Each version against the first, as far as both have scored episodes."""
    scored = [side for side in sides if side.success.n]
    return tuple(_gap(side, scored[0]) for side in scored[1:])


def _gap(side: Side, other: Side) -> Gap:
    low, high = unpaired_interval(side.success, other.success)
    difference = (side.success.value or 0.0) - (other.success.value or 0.0)
    n = side.success.n + other.success.n
    return Gap(version=side.version, against=other.version, n=n, difference=difference, low=low, high=high)


def _share(total: float, n: int) -> Estimate:
    if not n:
        return Estimate(n=0)
    value = total / n
    low, high = wilson(value, n)
    return Estimate(n=n, value=value, low=low, high=high)


def _bounded(each: VersionOutcomes) -> bool:
    return (each.least is None or each.least >= 0) and (each.most is None or each.most <= 1)
