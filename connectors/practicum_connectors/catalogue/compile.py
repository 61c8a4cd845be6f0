"""From an operation to its plan."""

from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum.errors import DocumentError
from practicum_connectors.catalogue.bodies import plan_body
from practicum_connectors.catalogue.conventions import parameter_notes
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.effects import classify
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.names import PLACES, Naming, distinct_keys, safe_key
from practicum_connectors.catalogue.paged import NEXT_SCHEMA, is_paged
from practicum_connectors.catalogue.plan import Argument, Security, ToolPlan
from practicum_connectors.catalogue.schemas import Converted, Schema, SchemaConverter
from practicum_connectors.catalogue.stated import Stated, stated
from practicum_connectors.catalogue.view import shown
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import Operation, Parameter

_MOST_TOOL_DESCRIPTION_CHARACTERS = 1000
_MOST_TITLE_CHARACTERS = 80
_RESERVED = frozenset({"next"})
"""Keys that a document's own names never get: they mean something to every tool."""
_IDEMPOTENCY_HEADERS = frozenset({"idempotency-key", "x-idempotency-key", "x-idempotence-key", "idempotence-key"})


@dataclass(slots=True)
class _Draft:
    """What is gathered while an operation is compiled."""

    arguments: list[Argument]
    needs: set[str]
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
        self._definitions = DefinitionTable(self._schemas)

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
        said = stated(operation.extensions)
        draft = _Draft([], set(), list(operation.losses))
        idempotency = _key_parameter(operation, said.idempotency)
        for parameter in sorted(operation.parameters, key=lambda p: PLACES.index(p.location)):
            if parameter is not idempotency and (parameter.location, parameter.name.lower()) not in self._hidden:
                draft.arguments.append(self._parameter(parameter, draft))
        taken = {safe_key(argument.name) for argument in draft.arguments}
        planned = plan_body(operation, self._document, self._schemas, taken)
        draft.arguments.extend(planned.arguments)
        draft.notes.extend(planned.notes)
        needs = frozenset(draft.needs | planned.needs | planned.behind)
        lost, fault = self._definitions.state(needs)
        if fault is not None:
            raise DocumentError(fault.detail, mend=fault.mend)
        keys = distinct_keys([(argument.name, argument.place) for argument in draft.arguments], reserved=_RESERVED)
        arguments = {key: replace(a, key=key) for key, a in zip(keys, draft.arguments, strict=True)}
        effect = classify(operation, self._document.pointers)
        paged = is_paged(operation, effect, self._document, [a.name for a in arguments.values()])
        schema, _ = shown(_input_schema(arguments, paged=paged), draft.needs | planned.needs, self._definitions)
        tool = Tool.model_construct(  # validating would copy every schema; they are JSON by construction
            name=naming.tool,
            connector=self._connector,
            operation=naming.operation,
            description=_describe(operation, said),
            input_schema=schema,
            effect=effect,
            method=operation.method,
            path=operation.path,
            idempotency_header=idempotency.name if idempotency else None,
            title=cut(operation.summary, _MOST_TITLE_CHARACTERS) or None,
            paged=paged,
        )
        return ToolPlan(
            tool=tool,
            operation=operation,
            arguments=arguments,
            body=planned.body,
            definitions=self._definitions,
            needs=needs,
            idempotency=idempotency,
            notes=tuple(dict.fromkeys((*draft.notes, *lost))),
            security=_security(operation),
        )

    def _parameter(self, parameter: Parameter, draft: _Draft) -> Argument:
        draft.notes.extend(parameter_notes(parameter, self._document.pointers))
        schema = draft.take(self._schemas.convert(parameter.schema))
        if parameter.description and isinstance(schema, dict):
            schema = {**schema, "description": cut(parameter.description)}
        default = schema.get("default") if isinstance(schema, dict) else None
        required = parameter.required and default is None
        sent = default if parameter.required else None
        return Argument("", parameter.name, parameter.location, schema, required, parameter, sent)


def _key_parameter(operation: Operation, stated_name: str | None) -> Parameter | None:
    """The header by which the system recognises a repeated call: the stated one, or one whose name says so."""
    if stated_name == "":
        return None
    names = _IDEMPOTENCY_HEADERS if stated_name is None else {stated_name.lower().replace("_", "-")}
    for parameter in operation.parameters:
        if parameter.location == "header" and parameter.name.lower().replace("_", "-") in names:
            return parameter
    if stated_name is None:
        return None
    return Parameter(stated_name, "header", False, {"type": "string"}, "simple", False, False, None, description="")


def _security(operation: Operation) -> Security | None:
    return None if operation.security is None else tuple(tuple(entry) for entry in operation.security)


def _input_schema(arguments: dict[str, Argument], *, paged: bool) -> JsonObject:
    properties = {key: _titled(key, argument.schema) for key, argument in arguments.items()}
    if paged:
        properties["next"] = dict(NEXT_SCHEMA)
    schema: JsonObject = {"type": "object", "properties": cast("JsonValue", properties)}
    required = [key for key, argument in arguments.items() if argument.required]
    if required:
        schema["required"] = cast("JsonValue", required)
    schema["additionalProperties"] = False
    return schema


def _titled(key: str, schema: Schema) -> Schema:
    """A schema without the title that generators make of the key."""
    title: Any = schema.get("title") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and isinstance(title, str) and _same_words(title, key):
        return {name: value for name, value in schema.items() if name != "title"}
    return schema


def _same_words(title: str, key: str) -> bool:
    return "".join(filter(str.isalnum, title)).lower() == "".join(filter(str.isalnum, key)).lower()


def _describe(operation: Operation, said: Stated) -> str:
    if said.description is not None:
        return cut(said.description, _MOST_TOOL_DESCRIPTION_CHARACTERS)
    summary, description = operation.summary, operation.description
    if not summary or description.lower().startswith(summary.lower().rstrip(".")):
        text = description or summary
    else:
        text = f"{summary}{'' if summary.endswith(('.', '!', '?')) else '.'} {description}".strip()
    text = cut(" ".join(text.split()), _MOST_TOOL_DESCRIPTION_CHARACTERS) or f"{operation.method} {operation.path}"
    return f"Deprecated. {text}" if operation.deprecated else text
