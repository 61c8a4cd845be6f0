"""Counters and histograms for one thread: adding to one is a look into a dictionary, with no lock and no text.

Names and attributes are OpenTelemetry's (`practicum.tool.calls`); `exposition` writes them as Prometheus has them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

At = tuple[str, ...]
"""The values of an instrument's attributes, in the order of their names."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
SHORT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
OTHER = "other"
"""Stands for all values above the most that an attribute may have."""


class Kind(StrEnum):
    """What a number means."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a histogram holds for one set of attributes.

    Attributes:
        counts: how many values lie in each bucket; the last has no upper bound.
        total: the sum of the values.
    """

    counts: tuple[int, ...]
    total: float

    def __add__(self, other: "Measured") -> "Measured":
        """Both together."""
        counts = tuple(mine + its for mine, its in zip(self.counts, other.counts, strict=True))
        return Measured(counts, self.total + other.total)


@dataclass(slots=True)
class Family:
    """One metric as it stands at a moment.

    Attributes:
        name: its name, in OpenTelemetry's form.
        kind: what its numbers mean.
        unit: `s`, `By`, or in braces what is counted.
        help: a sentence.
        attributes: names of its attributes.
        points: its numbers by the values of these; for a histogram what was measured.
        bounds: upper bounds of a histogram's buckets.
    """

    name: str
    kind: Kind
    unit: str
    help: str
    attributes: At = ()
    points: dict[At, float] = field(default_factory=dict[At, float])
    measured: dict[At, Measured] = field(default_factory=dict[At, Measured])
    bounds: tuple[float, ...] = ()


class Counter:
    """A number for each set of attributes, which only grows."""

    def __init__(self, name: str, unit: str, text: str, *attributes: str) -> None:
        """Begin at nothing.

        Args:
            name: in OpenTelemetry's form.
            unit: as for `Family`.
            text: what is counted, a sentence.
            attributes: their names.
        """
        self._family = Family(name, Kind.COUNTER, unit, text, attributes)

    def add(self, *at: str, by: float = 1.0) -> None:
        """Count.

        Args:
            at: the values of the attributes.
            by: how much.
        """
        points = self._family.points
        points[at] = points.get(at, 0.0) + by

    def families(self) -> tuple[Family, ...]:
        """What it stands at."""
        return (self._family,)


class Histogram:
    """Values by their size, for each set of attributes."""

    def __init__(self, name: str, unit: str, text: str, *attributes: str, bounds: tuple[float, ...] = SECONDS) -> None:
        """Begin with none; `bounds` are the upper ones of the buckets, else as for `Counter`."""
        self._name, self._unit, self._text, self._attributes = name, unit, text, attributes
        self._bounds = bounds
        self._counts: dict[At, list[int]] = {}
        self._totals: dict[At, float] = {}

    def observe(self, value: float, *at: str) -> None:
        """Take a value in.

        Args:
            value: in the unit.
            at: the values of the attributes.
        """
        counts = self._counts.get(at)
        if counts is None:
            counts = self._counts[at] = [0] * (len(self._bounds) + 1)
        counts[bisect_left(self._bounds, value)] += 1
        self._totals[at] = self._totals.get(at, 0.0) + value

    def families(self) -> tuple[Family, ...]:
        """What it stands at."""
        measured = {at: Measured(tuple(counts), self._totals[at]) for at, counts in self._counts.items()}
        family = Family(self._name, Kind.HISTOGRAM, self._unit, self._text, self._attributes, measured=measured)
        family.bounds = self._bounds
        return (family,)


class Capped:
    """Lets so many values of an attribute through, the first that come; the others are `other`."""

    def __init__(self, most: int) -> None:
        """Begin with none."""
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """The value, or `other`."""
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value


def gauge(name: str, unit: str, text: str, points: Mapping[At, float] | float, *attributes: str) -> Family:
    """A number that was looked up, or one for each set of attributes."""
    family = Family(name, Kind.GAUGE, unit, text, attributes)
    family.points = {(): points} if isinstance(points, int | float) else dict(points)
    return family


def of_tenants(told: Iterable[tuple[str, Iterable[Family]]], attribute: str = "tenant") -> list[Family]:
    """The same metrics of several tenants as one each, with the tenant as the first attribute.

    Args:
        told: tenants, some of which may have the same name: their numbers are added up.
        attribute: how it is called.
    """
    joined: dict[str, Family] = {}
    for tenant, families in told:
        for family in families:
            whole = joined.get(family.name)
            if whole is None:
                named = (attribute, *family.attributes)
                whole = Family(family.name, family.kind, family.unit, family.help, named, bounds=family.bounds)
                joined[family.name] = whole
            for at, point in family.points.items():
                place = (tenant, *at)
                whole.points[place] = whole.points.get(place, 0.0) + point
            for at, measured in family.measured.items():
                place = (tenant, *at)
                before = whole.measured.get(place)
                whole.measured[place] = measured if before is None else before + measured
    return list(joined.values())
