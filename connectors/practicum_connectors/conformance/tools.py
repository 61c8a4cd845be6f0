"""What every tool must be, whatever the case, and what a case asks of its tools besides."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import Fidelity, OperationReport
from practicum.contracts.tools import Tool
from practicum_connectors.conformance.case import Offered, Reported
from practicum_connectors.conformance.compare import same_json

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_ABSENT = object()


def tool_faults(tools: Mapping[str, Tool]) -> Iterator[str]:
    """What is wrong with tools for any reader: names, keys, schemas, definitions that are missing or not needed.

    Args:
        tools: all tools of a connector, by exposed name.
    """
    judged: set[str] = set()
    for name, tool in tools.items():
        schema = cast("dict[str, Any]", tool.input_schema)
        if tool.name != name or not _NAME.fullmatch(name):
            yield f"the tool name {name!r} is not valid everywhere"
        try:
            _check(schema, judged)
        except SchemaError as error:
            yield f"the schema of {name} is not valid: {error.message}"
            continue
        if schema.get("type") != "object":
            yield f"the schema of {name} is not an object's"
        yield from (
            f"the key {key!r} of {name} is not valid" for key in schema["properties"] if not _KEY.fullmatch(key)
        )
        yield from _definition_faults(name, schema)


def _check(schema: dict[str, Any], judged: set[str]) -> None:
    """Hold a schema against the meta-schema; definitions, which many tools share, once each."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    Draft202012Validator.check_schema({key: value for key, value in schema.items() if key != "$defs"})
    for definition in definitions.values():
        text = json.dumps(definition)
        if text not in judged:
            Draft202012Validator.check_schema(definition)
            judged.add(text)


def _definition_faults(name: str, schema: dict[str, Any]) -> Iterator[str]:
    definitions: dict[str, Any] = schema.get("$defs", {})
    reached = _references({key: value for key, value in schema.items() if key != "$defs"})
    waiting = list(reached)
    while waiting:
        reference = waiting.pop()
        found = definitions.get(reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~"))
        if found is None:
            yield f"the schema of {name} refers to {reference}, which is not there"
            continue
        further = _references(found) - reached
        reached |= further
        waiting.extend(further)
    for key in definitions:
        if f"#/$defs/{key.replace('~', '~0').replace('/', '~1')}" not in reached:
            yield f"the schema of {name} carries {key}, which nothing refers to"


def _references(node: object) -> set[str]:
    """References in a schema; data in it that looks like one is none."""
    if isinstance(node, list):
        return {reference for item in cast("list[Any]", node) for reference in _references(item)}
    if not isinstance(node, dict):
        return set()
    found: set[str] = set()
    for key, value in cast("dict[str, Any]", node).items():
        if key == "$ref" and isinstance(value, str):
            found.add(value)
        elif key in {"properties", "patternProperties", "dependentSchemas", "$defs"} and isinstance(value, dict):
            found |= {reference for each in cast("dict[str, Any]", value).values() for reference in _references(each)}
        elif key not in {"const", "enum", "default", "example", "examples"}:
            found |= _references(value)
    return found


def offer_differences(where: str, expected: Offered, tool: Tool) -> Iterator[str]:
    """How a tool differs from what a case asks of it.

    Args:
        where: method and path of the operation.
        expected: what is asked.
        tool: the tool.
    """
    for what, pattern, given in (
        ("name", expected.name, tool.name),
        ("operation", expected.operation, tool.operation),
    ):
        if pattern is not None and not re.fullmatch(pattern, given):
            yield f"{where}: the {what} is {given!r}, not {pattern}"
    if expected.effect not in {None, tool.effect}:
        yield f"{where}: the effect is {tool.effect}, not {expected.effect}"
    if expected.paged not in {None, tool.paged}:
        yield f"{where}: paged is {tool.paged}"
    for word in expected.described:
        if word.lower() not in tool.description.lower():
            yield f"{where}: the description {tool.description!r} does not say {word!r}"
    for name, value in expected.annotations.items():
        if not same_json(tool.annotations.get(name), value):
            yield f"{where}: the annotation {name} is {tool.annotations.get(name)!r}, not {value!r}"
    yield from _schema_differences(where, expected, tool.input_schema)


def _schema_differences(where: str, expected: Offered, schema: JsonObject) -> Iterator[str]:
    keys = frozenset(cast("JsonObject", schema["properties"]))
    required = frozenset(cast("list[str]", schema.get("required", [])))
    if expected.keys is not None and keys != expected.keys:
        yield f"{where}: the keys are {sorted(keys)}, not {sorted(expected.keys)}"
    if expected.required is not None and required != expected.required:
        yield f"{where}: it asks for {sorted(required)}, not for {sorted(expected.required)}"
    validator = Draft202012Validator(schema)
    for arguments in expected.accepts:
        if not validator.is_valid(arguments):  # pyright: ignore[reportUnknownMemberType]
            yield f"{where}: the schema refuses {json.dumps(arguments)}"
    for arguments in expected.rejects:
        if validator.is_valid(arguments):  # pyright: ignore[reportUnknownMemberType]
            yield f"{where}: the schema accepts {json.dumps(arguments)}"
    for pointer, value in expected.shows.items():
        found = _at(schema, pointer)
        absent = found is _ABSENT
        if absent != (value is None) or not (absent or same_json(found, value)):
            yield f"{where}: {pointer} is {'not there' if absent else json.dumps(found)}"


def _at(schema: JsonValue, pointer: str) -> Any:
    found: Any = schema
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        members: dict[str, Any] = {}
        if isinstance(found, list):
            members = {str(place): item for place, item in enumerate(cast("list[Any]", found))}
        elif isinstance(found, dict):
            members = cast("dict[str, Any]", found)
        if name not in members:
            return _ABSENT
        found = members[name]
    return found


def report_differences(expected: Mapping[str, Fidelity | Reported], report: Iterable[OperationReport]) -> Iterator[str]:
    """How an import report differs from what a case asks of it.

    Args:
        expected: by method and path, all of them.
        report: what was reported.
    """
    given = {f"{entry.method} {entry.path}": entry for entry in report}
    if set(given) != set(expected):
        yield f"the report is about {sorted(given)}, not {sorted(expected)}"
    for where in sorted(set(given) & set(expected)):
        entry, asked = given[where], expected[where]
        asked = asked if isinstance(asked, Reported) else Reported(fidelity=asked)
        notes = " ".join(entry.notes)
        if entry.fidelity is not asked.fidelity:
            yield f"{where} is {entry.fidelity}, not {asked.fidelity}: {notes}"
        if asked.effect not in {None, entry.effect}:
            yield f"{where}: the effect is {entry.effect}, not {asked.effect}"
        yield from (f"{where}: {notes!r} does not say {w!r}" for w in asked.notes if w.lower() not in notes.lower())
        if (entry.tool is None) != (entry.fidelity is Fidelity.REFUSED):
            yield f"{where} is {entry.fidelity} and has the tool {entry.tool}"
