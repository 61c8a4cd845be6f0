"""Property keys inside arguments that some providers refuse: shown under others, and restored.

A tool's own keys are safe already; these are the names of members within them, which stay as the system calls them
everywhere but in the profiles of such providers.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.names import safe_key
from practicum_connectors.catalogue.walking import rebuilt, subschemas
from practicum_connectors.document.pointers import as_list, as_node, reference_of

_SAFE = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_MOST_CHARACTERS = 64
_DEFINITION = "#/$defs/"
_IN_PLACE = ("allOf", "anyOf", "oneOf", "then", "else", "if", "not")


def is_safe(key: str) -> bool:
    """Whether every provider takes a key."""
    return _SAFE.fullmatch(key) is not None


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Safe keys for some names, by name; one that is safe keeps itself, whatever the order."""
    listed = sorted(set(names))
    taken = {name for name in listed if is_safe(name)}
    found = {name: name for name in taken}
    for name in listed:
        if name not in found:
            wish, number = safe_key(name), 1
            key = wish
            while key in taken:
                number += 1
                key = f"{wish[: _MOST_CHARACTERS - len(str(number)) - 1]}_{number}"
            taken.add(key)
            found[name] = key
    return found


def with_safe_keys(schema: JsonObject) -> "tuple[JsonObject, KeyRestorer | None]":
    """The schema with safe keys throughout, and the way back; the schema itself where all are safe.

    Args:
        schema: a tool's input schema, with its definitions.
    """
    names = {name for inner in subschemas(schema) for name in as_node(inner.get("properties"))}
    if all(map(is_safe, names)):
        return schema, None
    changed = {name: key for name, key in aliases(names).items() if key != name}
    shown = rebuilt(schema, lambda inner: _with_keys(inner, changed))
    return shown, KeyRestorer(shown, {key: name for name, key in changed.items()})


@dataclass(frozen=True, slots=True)
class KeyRestorer:
    """Gives members their own names, wherever the schema describes them: the keys of a free map are data.

    Attributes:
        schema: the schema that was shown.
        names: own names by shown key.
    """

    schema: JsonObject
    names: Mapping[str, str]

    def restore(self, value: JsonValue) -> JsonValue:
        """The value with its own names."""
        return self._restore(value, [self.schema])

    def _restore(self, value: JsonValue, schemas: list[JsonObject]) -> JsonValue:
        applied = self._applied(schemas)
        if isinstance(value, dict):
            out: JsonObject = {}
            for key, inner in value.items():
                described = any(key in as_node(schema.get("properties")) for schema in applied)
                out[self.names.get(key, key) if described else key] = self._restore(inner, _of_member(applied, key))
            return out
        if isinstance(value, list):
            return [self._restore(inner, _of_item(applied, number)) for number, inner in enumerate(value)]
        return value

    def _applied(self, schemas: list[JsonObject]) -> list[JsonObject]:
        """All schemas that may say something of a value, through references and combinations."""
        definitions = as_node(self.schema.get("$defs"))
        found: dict[int, JsonObject] = {}
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop()
            if id(schema) in found:
                continue
            found[id(schema)] = schema
            reference = reference_of(schema)
            inner: list[object] = [] if reference is None else [definitions.get(reference.removeprefix(_DEFINITION))]
            for keyword in _IN_PLACE:
                inner.extend(as_list(schema.get(keyword)) or [schema.get(keyword)])
            inner.extend(as_node(schema.get("dependentSchemas")).values())
            waiting.extend(cast("JsonObject", one) for one in inner if isinstance(one, dict))
        return list(found.values())


def _of_member(schemas: list[JsonObject], key: str) -> list[JsonObject]:
    found: list[object] = []
    for schema in schemas:
        properties = as_node(schema.get("properties"))
        found.extend([properties[key]] if key in properties else [schema.get("additionalProperties")])
        found.extend(as_node(schema.get("patternProperties")).values())
    return [cast("JsonObject", one) for one in found if isinstance(one, dict)]


def _of_item(schemas: list[JsonObject], number: int) -> list[JsonObject]:
    found: list[object] = []
    for schema in schemas:
        first = as_list(schema.get("prefixItems"))
        found.append(first[number] if number < len(first) else schema.get("items"))
    return [cast("JsonObject", one) for one in found if isinstance(one, dict)]


def _with_keys(schema: JsonObject, changed: Mapping[str, str]) -> JsonObject:
    for keyword in ("properties", "dependentSchemas"):
        if keyword in schema:
            schema[keyword] = {changed.get(name, name): inner for name, inner in as_node(schema[keyword]).items()}
    if "required" in schema:
        schema["required"] = _names(schema["required"], changed)
    if "dependentRequired" in schema:
        needs = as_node(schema["dependentRequired"]).items()
        schema["dependentRequired"] = {changed.get(name, name): _names(needed, changed) for name, needed in needs}
    return schema


def _names(names: object, changed: Mapping[str, str]) -> list[JsonValue]:
    return [changed.get(name, name) for name in as_list(names) if isinstance(name, str)]
