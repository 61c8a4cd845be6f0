"""What came of the episodes of an alias, counted by the version that they drew."""

from practicum.contracts.base import Value


class VersionOutcomes(Value):
    """The live episodes of one version, as counts: estimates are made of them elsewhere.

    Attributes:
        version: the version that the episodes began with.
        running: those that have not ended.
        unscored: those that have ended and have no reward.
        scored: those that have one.
        successes: those with a whole reward, 1 or more.
        rewards: sum of the rewards.
        least: the lowest of them.
        most: the highest.
    """

    version: str
    running: int = 0
    unscored: int = 0
    scored: int = 0
    successes: int = 0
    rewards: float = 0.0
    least: float | None = None
    most: float | None = None
