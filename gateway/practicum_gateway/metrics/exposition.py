"""Prometheus' text format (0.0.4), written from families."""

from collections.abc import Iterable, Iterator, Sequence

from practicum_gateway.metrics.instruments import At, Family, Kind, Measured

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_UNITS = {"s": "_seconds", "By": "_bytes"}


def name_of(family: Family) -> str:
    """A metric's name as Prometheus has it: underscores, the unit behind it, `_total` for what only grows."""
    name = family.name.replace(".", "_") + _UNITS.get(family.unit, "")
    return f"{name}_total" if family.kind is Kind.COUNTER else name


def written(families: Iterable[Family]) -> str:
    """The families as text."""
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    name = name_of(family)
    yield f"# HELP {name} {_escaped(family.help)}"
    yield f"# TYPE {name} {family.kind}"
    names = tuple(attribute.replace(".", "_") for attribute in family.attributes)
    for at, point in family.points.items():
        yield f"{name}{_labels(names, at)} {_number(point)}"
    for at, measured in family.measured.items():
        yield from _buckets(name, names, at, family.bounds, measured)


def _buckets(name: str, names: At, at: At, bounds: Sequence[float], measured: Measured) -> Iterator[str]:
    below = 0
    for bound, count in zip((*bounds, float("inf")), measured.counts, strict=True):
        below += count
        yield f"{name}_bucket{_labels((*names, 'le'), (*at, _number(bound)))} {below}"
    yield f"{name}_sum{_labels(names, at)} {_number(measured.total)}"
    yield f"{name}_count{_labels(names, at)} {below}"


def _labels(names: At, at: At) -> str:
    inside = ",".join(f'{name}="{_quoted(value)}"' for name, value in zip(names, at, strict=True))
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    return "+Inf" if value == float("inf") else repr(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
