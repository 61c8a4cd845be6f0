"""From an operation to its plan."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum.errors import DocumentError
from practicum_connectors.catalogue.bodies import json_media_type, members_of
from practicum_connectors.catalogue.effects import classify
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.names import Naming, distinct_keys, safe_key
from practicum_connectors.catalogue.plan import Argument, BodyPlan, ToolPlan
from practicum_connectors.catalogue.schemas import Converted, Schema, SchemaConverter
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import Location, Operation, Parameter

_MOST_TOOL_DESCRIPTION_CHARACTERS = 1000
_IDEMPOTENCY_HEADERS = frozenset({"idempotency-key", "x-idempotency-key", "x-idempotence-key", "idempotence-key"})
_ORDER: dict[Location, int] = {"path": 0, "query": 1, "header": 2, "cookie": 3}


@dataclass(slots=True)
class _Draft:
    """What is gathered while an operation is compiled."""

    arguments: list[Argument]
    needs: set[str]
    behind: set[str]
    """What the body as a whole needs, which the model need not see where its members stand on their own."""
    notes: list[str]

    def take(self, converted: Converted) -> Schema:
        self.needs |= converted.needs
        self.notes.extend(converted.notes)
        return converted.schema


class Compiler:
    """Makes plans for the operations of one document."""

    def __init__(self, connector: str, document: Document, hidden: frozenset[tuple[str, str]] = frozenset()) -> None:
        """Compile nothing yet.

        Args:
            connector: the connector's name.
            document: the document.
            hidden: location and lower-case name of parameters that carry the connector's credential.
        """
        self._connector = connector
        self._document = document
        self._hidden = hidden
        self._schemas = SchemaConverter(document, "write")

    def compile(self, operation: Operation, naming: Naming) -> ToolPlan:
        """The plan of an operation.

        Raises:
            DocumentError: it cannot become a tool; its detail is the reason in the import report.
        """
        try:
            return self._compile(operation, naming)
        except RecursionError:
            raise DocumentError("Its schemas nest too deep.", mend="Flatten them.") from None

    def _compile(self, operation: Operation, naming: Naming) -> ToolPlan:
        draft = _Draft([], set(), set(), list(operation.losses))
        idempotency = next((p for p in operation.parameters if _carries_key(p)), None)
        for parameter in sorted(operation.parameters, key=lambda p: _ORDER[p.location]):
            if parameter is not idempotency and (parameter.location, parameter.name.lower()) not in self._hidden:
                draft.arguments.append(self._parameter(parameter, draft))
        body = self._body(operation, draft)
        keys = distinct_keys((safe_key(argument.name), argument.place) for argument in draft.arguments)
        arguments = {key: replace(a, key=key) for key, a in zip(keys, draft.arguments, strict=True)}
        shown, _ = self._schemas.definitions(draft.needs)
        definitions, lost = self._schemas.definitions(draft.needs | draft.behind)
        tool = Tool.model_construct(  # validating would copy every schema; they are JSON by construction
            name=naming.tool,
            connector=self._connector,
            operation=naming.operation,
            description=_describe(operation),
            input_schema=_input_schema(arguments, shown),
            effect=classify(operation),
            method=operation.method,
            path=operation.path,
            idempotency_header=idempotency.name if idempotency else None,
        )
        notes = tuple(dict.fromkeys((*draft.notes, *lost)))
        return ToolPlan(tool, operation, arguments, body, definitions, idempotency, notes)

    def _parameter(self, parameter: Parameter, draft: _Draft) -> Argument:
        schema = draft.take(self._schemas.convert(parameter.schema))
        if parameter.description and isinstance(schema, dict):
            schema = {**schema, "description": cut(parameter.description)}
        default = schema.get("default") if isinstance(schema, dict) else None
        required = parameter.required and default is None
        sent = default if parameter.required else None
        return Argument("", parameter.name, parameter.location, schema, required, parameter, sent)

    def _body(self, operation: Operation, draft: _Draft) -> BodyPlan | None:
        body = operation.body
        if body is None:
            return None
        media_type = json_media_type(body)
        if media_type is None:
            offered = ", ".join(body.content)
            if body.required:
                raise DocumentError(f"Its body is {offered}; only JSON bodies can be sent yet.")
            draft.notes.append(f"Its optional body ({offered}) is left out: only JSON bodies can be sent yet.")
            return None
        raw = body.content[media_type].get("schema", {})
        whole = self._schemas.convert(raw)
        members = list(self._members(raw, draft, required=body.required))
        flat = bool(members)
        if flat:
            draft.arguments.extend(members)
        else:
            schema = _described(draft.take(whole), body.description)
            draft.arguments.append(Argument("", "body", "body", schema, body.required))
        concrete = "application/json" if "*" in media_type else media_type
        draft.behind |= whole.needs
        return BodyPlan(concrete, whole.schema, body.required, flat)

    def _members(self, raw: object, draft: _Draft, *, required: bool) -> Iterator[Argument]:
        """The body's properties as arguments; none where they would lose something or meet another argument."""
        members = None if self._schemas.polymorphic(raw) else members_of(raw, self._document.pointers)
        if members is None:
            return
        shown = {
            name: said[0] if len(said) == 1 else {"allOf": said}
            for name, said in members.properties.items()
            if not any(self._schemas.hidden(schema) for schema in said)
        }
        asked = [name for name in members.required if name in shown]
        if asked and not required:
            return  # all or nothing cannot be said of single arguments
        if any(name in members.required and name not in members.properties for name in members.required):
            return  # asks for what it does not describe
        taken = {safe_key(argument.name) for argument in draft.arguments}
        if taken & {safe_key(name) for name in shown}:
            return
        for name, schema in shown.items():
            yield Argument("", name, "member", draft.take(self._schemas.convert(schema)), name in asked)


def _carries_key(parameter: Parameter) -> bool:
    return parameter.location == "header" and parameter.name.lower().replace("_", "-") in _IDEMPOTENCY_HEADERS


def _described(schema: Schema, text: str) -> Schema:
    if text and isinstance(schema, dict) and "description" not in schema:
        return {**schema, "description": cut(text)}
    return schema


def _input_schema(arguments: dict[str, Argument], definitions: dict[str, JsonValue]) -> JsonObject:
    schema: JsonObject = {
        "type": "object",
        "properties": {key: _shown(key, argument.schema) for key, argument in arguments.items()},
    }
    required = [key for key, argument in arguments.items() if argument.required]
    if required:
        schema["required"] = cast("JsonValue", required)
    schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    return schema


def _shown(key: str, schema: Schema) -> Schema:
    """A schema without the title that generators make of the key."""
    title: Any = schema.get("title") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and isinstance(title, str) and _same_words(title, key):
        return {name: value for name, value in schema.items() if name != "title"}
    return schema


def _same_words(title: str, key: str) -> bool:
    return "".join(filter(str.isalnum, title)).lower() == "".join(filter(str.isalnum, key)).lower()


def _describe(operation: Operation) -> str:
    summary, description = operation.summary, operation.description
    if not summary or description.lower().startswith(summary.lower().rstrip(".")):
        text = description or summary
    else:
        text = f"{summary}{'' if summary.endswith(('.', '!', '?')) else '.'} {description}".strip()
    text = cut(" ".join(text.split()), _MOST_TOOL_DESCRIPTION_CHARACTERS) or f"{operation.method} {operation.path}"
    return f"Deprecated. {text}" if operation.deprecated else text
