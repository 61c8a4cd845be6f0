"""Reading a built request back: each style's inverse, written on its own so that it can contradict the writer.

openapi-core brings readers too; these replace them because those lose exploded objects, nested `deepObject`, labels
and the difference between an encoded and a separating comma.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote, unquote_plus

from practicum_connectors.request.parse_brackets import read_brackets
from practicum_connectors.request.views import SchemaView

Shape = Literal["single", "list", "object"]
"""What kind of value a parameter holds in this request."""


@dataclass(frozen=True, slots=True)
class Described:
    """What the document says of the values of one location, for readers that text alone does not tell enough.

    Attributes:
        schemas: by name.
        view: looks into them.
        owners: of members that stand in a request under their own names: the object they belong to.
        lifted: names of those objects.
        open_ended: names of those among them that are meant to have members which nothing describes.
    """

    schemas: Mapping[str, object] = field(default_factory=dict[str, object])
    view: SchemaView = field(default_factory=lambda: SchemaView({}))
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    lifted: frozenset[str] = frozenset()
    open_ended: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RawValues(Mapping[str, str]):
    """The raw values of one location of a request, as openapi-core's readers are handed them.

    Attributes:
        pairs: decoded name and raw value, in order.
        shapes: shape of each parameter, where it is not single.
        described: what the document says of them.
        encoded: whether values are percent-encoded.
        plus: whether a plus sign means a space, as it does in queries and forms.
    """

    pairs: tuple[tuple[str, str], ...]
    shapes: Mapping[str, Shape]
    described: Described = field(default_factory=Described)
    encoded: bool = True
    plus: bool = False

    def all(self, name: str) -> list[str]:
        """Every raw value under a name.

        Raises:
            KeyError: there is none.
        """
        found = [value for key, value in self.pairs if key == name]
        if not found:
            raise KeyError(name)
        return found

    def decode(self, raw: str) -> str:
        """A raw value as text."""
        if not self.encoded:
            return raw.strip()
        return unquote_plus(raw) if self.plus else unquote(raw)

    def owner(self, key: str) -> str | None:
        """The parameter that a name in the request belongs to: by its own name, else as a member of an object."""
        if key in self.shapes:
            return key
        head = key.partition("[")[0]
        if head != key and head in self.shapes:
            return head
        declared = self.described.owners.get(key)
        if declared is not None:
            return declared
        lifted = [name for name in self.described.lifted if self.shapes.get(name) == "object"]
        meant = [name for name in lifted if name in self.described.open_ended] or lifted
        return meant[0] if len(meant) == 1 else None

    def __getitem__(self, name: str) -> str:
        return self.decode(self.all(name)[0])

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(dict(self.pairs))


def query_pairs(query: str) -> tuple[tuple[str, str], ...]:
    """Decoded names and raw values of a query string."""
    split = (pair.partition("=") for pair in query.split("&") if pair)
    return tuple((unquote_plus(name), value) for name, _, value in split)


def cookie_pairs(header: str) -> tuple[tuple[str, str], ...]:
    """Names and raw values of a Cookie header."""
    split = (pair.strip().partition("=") for pair in header.split(";") if pair.strip())
    return tuple((name, value) for name, _, value in split)


def _form(explode: bool, name: str, _: str, values: RawValues) -> Any:
    return _delimited(",", explode, name, values)


def _space(explode: bool, name: str, _: str, values: RawValues) -> Any:
    return _delimited("%20", explode, name, values)


def _pipe(explode: bool, name: str, _: str, values: RawValues) -> Any:
    return _delimited("%7C", explode, name, values)


def _delimited(delimiter: str, explode: bool, name: str, values: RawValues) -> Any:
    shape = values.shapes.get(name, "single")
    if shape == "object" and explode:
        own = {key: values.decode(raw) for key, raw in values.pairs if values.owner(key) == name}
        if not own:
            raise KeyError(name)
        return own
    raws = values.all(name)
    if shape == "list":
        return [values.decode(raw) for raw in (raws if explode else raws[0].split(delimiter))]
    return _paired(raws[0].split(delimiter), values) if shape == "object" else values.decode(raws[0])


def _cookie(explode: bool, name: str, _: str, values: RawValues) -> Any:
    return _delimited(",", explode, name, replace(values, encoded=False))


def _simple(explode: bool, name: str, _: str, values: RawValues) -> Any:
    return _listed(values.all(name)[0], ",", explode, name, values)


def _label(explode: bool, name: str, _: str, values: RawValues) -> Any:
    raw = values.all(name)[0].removeprefix(".")
    return _listed(raw, "." if explode else ",", explode, name, values)


def _matrix(explode: bool, name: str, _: str, values: RawValues) -> Any:
    raw, shape = values.all(name)[0].removeprefix(";"), values.shapes.get(name, "single")
    if explode and shape == "object":
        return _listed(raw, ";", explode, name, values)
    pieces = [piece.partition("=")[2] for piece in raw.split(";")]
    if explode and shape == "list":
        return [values.decode(piece) for piece in pieces]
    return _listed(pieces[0], ",", explode, name, values)


def _listed(raw: str, delimiter: str, explode: bool, name: str, values: RawValues) -> Any:
    shape = values.shapes.get(name, "single")
    if shape == "list":
        return [values.decode(piece) for piece in raw.split(delimiter)]
    if shape == "single":
        return values.decode(raw)
    pieces = raw.split(delimiter)
    if explode:
        pieces = [part for piece in pieces for part in piece.partition("=")[::2]]
    return _paired(pieces, values)


def _paired(pieces: list[str], values: RawValues) -> dict[str, str]:
    decoded = [values.decode(piece) for piece in pieces]
    return dict(zip(decoded[::2], decoded[1::2], strict=True))


def _deep_object(_explode: bool, name: str, _: str, values: RawValues) -> Any:
    if values.shapes.get(name, "single") == "single":
        return values[name]
    described = values.described
    pairs = [(key, values.decode(raw)) for key, raw in values.pairs]
    return read_brackets(name, pairs, described.schemas.get(name), described.view)


READERS: dict[str, Callable[[bool, str, str, RawValues], Any]] = {
    "form": _form,
    "spaceDelimited": _space,
    "pipeDelimited": _pipe,
    "simple": _simple,
    "label": _label,
    "matrix": _matrix,
    "deepObject": _deep_object,
    "cookie": _cookie,
}
"""A reader for each style, in the shape that openapi-core calls."""
