"""What is wrong in a declaration: every fault with its file, line and place, and never with what was written there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from practicum.contracts.problems import FieldProblem
from practicum.errors import ConfigurationError

Path = tuple[str | int, ...]
_NEAR = 0.75
"""How like a key that is known one has to be, from 0 to 1, to be taken for it mistyped."""
_FOLLOWS = "default_factory_not_called"
"""Says only that something else is wrong too, which is told already."""
_KINDS = {
    "missing": "it is missing.",
    "model_type": "it has to be a map of keys and values.",
    "model_attributes_type": "it has to be a map of keys and values.",
    "dict_type": "it has to be a map of keys and values.",
    "list_type": "it has to be a list.",
    "tuple_type": "it has to be a list.",
}
V = TypeVar("V", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read.

    Attributes:
        name: its name, as it is told.
        value: what it holds.
        line_of: the line of a value by the way that leads to it.
    """

    name: str
    value: JsonValue = field(repr=False)
    line_of: Callable[[Sequence[str | int]], int] = field(repr=False)


class Faults:
    """Gathers everything that is wrong, so that it is told at once."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Begin without a fault.

        Args:
            keys: every key that is known somewhere, for who mistyped one.
        """
        self._keys = sorted(set(keys))
        self._found: list[tuple[str, int, FieldProblem]] = []

    def add(self, source: Source, path: Path, what: str) -> None:
        """Note that something is wrong at a place."""
        line = source.line_of(path)
        where = f"{source.name}:{line} {'.'.join(map(str, path))}".rstrip()
        self._found.append((source.name, line, FieldProblem(where=where, what=what)))

    def made(self, form: type[V], fields: object, source: Source, path: Path) -> V | None:
        """A value from what a file says; where it does not fit, None, and the faults are noted.

        Args:
            form: its class.
            fields: what the file says, references already followed.
            source: the file.
            path: where in it.
        """
        try:
            return form.model_validate(fields)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_context=False, include_input=False):
                if fault["type"] == _FOLLOWS:
                    continue
                place = (*path, *_shown(fault["loc"], fields))
                self.add(source, place, self._words(fault["type"], fault["msg"], place))
            return None

    def unknown(self, source: Source, path: Path) -> None:
        """Note a key that nothing is known of."""
        self.add(source, path, self._words("extra_forbidden", "", path))

    def raise_if_any(self, name: str) -> None:
        """Tell what was noted.

        Raises:
            ConfigurationError: something was.
        """
        if self._found:
            many = "a fault" if len(self._found) == 1 else f"{len(self._found)} faults"
            raise ConfigurationError(
                f"{name} cannot be used as it stands: it has {many}. Nothing was changed.",
                errors=tuple(fault for *_, fault in sorted(self._found, key=lambda found: found[:2])),
                mend="Mend these places; docs/declaration.md shows every key.",
            )

    def _words(self, kind: str, message: str, path: Path) -> str:
        if kind != "extra_forbidden":
            return _KINDS.get(kind) or message.removeprefix("Value error, ")
        near = get_close_matches(str(path[-1]), self._keys, n=1, cutoff=_NEAR)
        return f"there is no such key; is `{near[0]}` meant?" if near and near[0] != path[-1] else "no such key here."


def _shown(location: Sequence[str | int], fields: object) -> Path:
    """The way to a fault as it stands in the file, without the names of forms that a value was tried as."""
    way: list[str | int] = []
    here: Any = fields
    for number, part in enumerate(location):
        there, below = _below(here, part)
        if there:
            here = below
        elif number < len(location) - 1 or not isinstance(here, dict):
            continue
        way.append(part)
    return tuple(way)


def _below(value: Any, part: str | int) -> tuple[bool, Any]:
    """Whether a part of a value is there, and the part; texts have none."""
    try:
        return (False, None) if isinstance(value, str) else (True, value[part])
    except (KeyError, IndexError, TypeError):
        return False, None
