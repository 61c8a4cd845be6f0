"""Which version an alias names, how that changed, and on what evidence."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from practicum.contracts.base import Value
from practicum.contracts.evaluation import Comparison, EvaluationReport


class Change(StrEnum):
    """How an alias came to name another version."""

    REGISTERED = "registered"
    """A model was registered in place of what stood there."""
    PROMOTED = "promoted"
    """A version was shown to be better, or somebody answers for it."""
    SPLIT = "split"
    """Several versions answer, each with its weight."""
    ROLLED_BACK = "rolled_back"
    """What stood before came back: a version, or a split."""
    REMOVED = "removed"
    """The alias was forgotten."""


class PromotionRequest(Value):
    """A wish to make a version the one that the alias names.

    Attributes:
        version: the candidate.
        evaluation: of the candidate, on held-out tasks.
        against: of the alias's current version, on the same tasks; the gateway compares the two itself.
        override: why it shall be promoted without being shown to be better; recorded.
    """

    version: str = Field(min_length=1)
    evaluation: EvaluationReport | None = None
    against: EvaluationReport | None = None
    override: str | None = Field(default=None, min_length=1, max_length=2_000, pattern=r"\S")


class Promotion(Value):
    """One change of what an alias names.

    Attributes:
        id: its number; later changes have higher ones.
        alias: the alias.
        change: what kind of change.
        from_version: what it named before, if anything.
        to_version: what it names since; None once it is forgotten.
        comparison: of the two versions, where reports were given.
        override: the reason given instead of, or besides, a comparison.
        split: by version, the weights since; empty where the version it names alone answers.
        by: who did it.
        at: when.
    """

    id: int
    alias: str
    change: Change
    from_version: str | None = None
    to_version: str | None = None
    comparison: Comparison | None = None
    override: str | None = None
    split: dict[str, int] = Field(default_factory=dict)
    by: str
    at: datetime
