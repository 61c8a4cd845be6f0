"""YAML files as the JSON that they stand for; needs PyYAML, which the extra `connectors` brings."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from pydantic import JsonValue

from practicum.errors import ConfigurationError, MissingExtraError

_WORDS: dict[str, JsonValue] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,400}")
_OTHER_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_MERGE = "<<"
_MOST_VALUES = 8_000_000
"""Values of a file, those of an alias counted as often as it is used."""


def parse_yaml(text: str, source: str) -> JsonValue:
    """The value of a YAML text by the rules of YAML 1.2, in which `on` and dates are text; keys are always text.

    Of older versions the merge key `<<` is understood, which many documents use.

    Args:
        text: the YAML.
        source: where it came from, for the error.

    Raises:
        ConfigurationError: it is no YAML, or its aliases unfold too far.
        MissingExtraError: PyYAML is not installed.
    """
    return _read(text, source)[0]


Lines = Callable[[Sequence[str | int]], int]
"""The line in which a value stands, from 1, by the keys and places that lead to it; as far as they lead."""


def parse_yaml_with_lines(text: str, source: str) -> tuple[JsonValue, Lines]:
    """As `parse_yaml`, with the line of each value; here a key that is given twice is a fault.

    Raises:
        ConfigurationError: it is no YAML, gives a key twice, or its aliases unfold too far.
        MissingExtraError: PyYAML is not installed.
    """
    value, root = _read(text, source)
    _refuse_twins(root, source)
    return value, lambda path: _line(root, path)


def _read(text: str, source: str) -> tuple[JsonValue, Any]:
    """The value of a text and the node that it was read from."""
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise MissingExtraError("connectors", f"Reading YAML ({source})") from None
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is not in every build, and far faster
        root = yaml.compose(text, Loader=loader)
        return _Reading().value(root), root
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source} is no YAML: {_fault(error)}.", mend="Mend the text there.") from None
    except RecursionError:
        raise ConfigurationError(f"{source} nests too deep to be read.", mend="Flatten it.") from None


def _line(node: Any, path: Sequence[str | int]) -> int:
    line = 0 if node is None else node.start_mark.line
    for part in path:
        place, node = _below(node, part)
        if place is None:
            break
        line = place.start_mark.line
    return line + 1


def _below(node: Any, part: str | int) -> tuple[Any, Any]:
    """Where a part of a value begins, and the part; nothing where it is not there."""
    kind = getattr(node, "id", None)
    if kind == "mapping":
        return next(((key, value) for key, value in node.value if str(key.value) == str(part)), (None, None))
    if kind == "sequence" and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None, None


def _refuse_twins(root: Any, source: str) -> None:
    """See that no mapping gives a key twice, of which only the last would count."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or getattr(node, "id", None) not in ("mapping", "sequence"):
            continue
        seen.add(id(node))
        if node.id == "sequence":
            waiting.extend(node.value)
            continue
        known = set[str]()
        for key, value in node.value:
            if str(key.value) in known and key.value != _MERGE:
                raise ConfigurationError(
                    f"{source}:{key.start_mark.line + 1} gives the key `{key.value}` a second time.",
                    mend="Keep one of the two.",
                )
            known.add(str(key.value))
            waiting.append(value)


def _fault(error: Any) -> str:
    """What is wrong and where, in the words of PyYAML."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split())
    begun = error.context_mark
    context = f" {error.context} that begins in line {begun.line + 1}" if begun and begun.line < mark.line else ""
    return f"{error.problem}{context} (line {mark.line + 1}, column {mark.column + 1})"


@dataclass(slots=True)
class _Reading:
    """The values of a text's nodes as far as they are known; an alias is a second place of the same node."""

    known: dict[Any, tuple[JsonValue, int]] = field(default_factory=dict[Any, tuple[JsonValue, int]])
    under_way: set[Any] = field(default_factory=set[Any])
    values: int = 0

    def value(self, node: Any) -> JsonValue:
        """The value of a PyYAML node, counted as often as it is used."""
        if node in self.under_way:
            raise ConfigurationError("A YAML alias stands inside what it names.", mend="Write recursion with `$ref`.")
        if node not in self.known:
            before = self.values
            self.values += 1
            self.under_way.add(node)
            made = self._made(node)
            self.under_way.remove(node)
            self.known[node] = made, self.values - before
        else:
            self.values += self.known[node][1]
        if self.values > _MOST_VALUES:
            raise ConfigurationError(
                f"The YAML unfolds to more than {_MOST_VALUES} values.",
                mend="Use fewer aliases, or none inside others.",
            )
        return self.known[node][0]

    def _made(self, node: Any) -> JsonValue:
        match getattr(node, "id", None):
            case "mapping":
                return self._mapping(node)
            case "sequence":
                return [self.value(item) for item in node.value]
            case "scalar":
                return _scalar(node)
            case _:
                return None  # an empty text has no node

    def _mapping(self, node: Any) -> JsonValue:
        """A mapping; what it merges in gives way to what it says itself."""
        said = {str(key.value): self.value(value) for key, value in node.value if key.value != _MERGE}
        for key, value in node.value:
            if key.value == _MERGE:
                merged = self.value(value)
                for one in merged if isinstance(merged, list) else [merged]:
                    said |= {name: said.get(name, item) for name, item in one.items()} if isinstance(one, dict) else {}
        return said


def _scalar(node: Any) -> JsonValue:
    text: str = node.value
    if node.style:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OTHER_INTEGER.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text
