"""Where an answer departs from the system's own document: said as a warning, never a failure."""

from collections.abc import Iterable
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from pydantic import JsonValue

from practicum.errors import DocumentError
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.schemas import SchemaConverter
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import Operation
from practicum_connectors.document.pointers import Node, as_node, text_of
from practicum_connectors.exchange import HttpResponse
from practicum_connectors.patterns import BoundedValidator
from practicum_connectors.request.arguments import explain

_MOST_BYTES = 64 * 1024
"""Bigger answers are not checked: that would cost more than it tells."""
_MOST_WARNINGS = 3
_ERRORS = 400


class ResponseChecks:
    """Checks responses of one document's operations; each schema is prepared when it is first needed."""

    def __init__(self, document: Document) -> None:
        """Prepare nothing yet.

        Args:
            document: the document.
        """
        self._document = document
        self._schemas = SchemaConverter(document, "read")
        self._definitions = DefinitionTable(self._schemas)
        self._validators: dict[tuple[str, str, str, str], Draft202012Validator | None] = {}

    def warnings(self, operation: Operation, response: HttpResponse, value: JsonValue) -> list[str]:
        """What the document does not say of a successful response.

        Args:
            operation: what was called.
            response: the answer.
            value: its body as JSON.
        """
        if response.status >= _ERRORS or len(response.body) > _MOST_BYTES:
            return []
        status, described = self._described(operation, response.status)
        if described is None:
            return [f"The document does not describe the status {response.status}."] if operation.responses else []
        media_type, media = _media(described, response.media_type)
        if media is None:
            named = bool(as_node(described.get("content")))
            return [f"The document does not describe the media type {response.media_type!r}."] if named else []
        validator = self._validator(operation, status, media_type, media)
        if validator is None:
            return []
        found = cast("Iterable[ValidationError]", validator.iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
        try:
            return [_sentence(problem.where, problem.what) for problem in explain(_first(found))]
        except RecursionError:
            return []  # a description without an end describes nothing

    def _described(self, operation: Operation, status: int) -> tuple[str, Node | None]:
        for key in (str(status), f"{status // 100}XX", f"{status // 100}xx", "default"):
            if key in operation.responses:
                try:
                    return key, self._document.pointers.follow(operation.responses[key])
                except DocumentError:
                    return key, {}
        return "", None

    def _validator(
        self, operation: Operation, status: str, media_type: str, media: Node
    ) -> Draft202012Validator | None:
        key = (operation.method, operation.path, status, media_type)
        if key not in self._validators:
            self._validators[key] = self._prepare(media)
        return self._validators[key]

    def _prepare(self, media: Node) -> Draft202012Validator | None:
        try:
            converted = self._schemas.convert(media.get("schema", {}))
            definitions = self._definitions.closure(converted.needs)
        except (DocumentError, RecursionError):
            return None  # a broken description cannot be departed from
        schema = converted.schema if isinstance(converted.schema, dict) else {}
        if schema.keys() == {"$ref"}:  # followed here once, and not at each answer
            schema = as_node(definitions[text_of(schema["$ref"]).removeprefix("#/$defs/")])
        return BoundedValidator({**schema, "$defs": definitions}) if schema else None


def _media(described: Node, media_type: str) -> tuple[str, Node | None]:
    content = as_node(described.get("content"))
    for name, media in content.items():
        bare = name.partition(";")[0].strip().lower()
        if bare in {media_type, "*/*", f"{media_type.partition('/')[0]}/*"}:
            return name, as_node(media)
    return text_of(media_type), None


def _first(errors: Iterable[ValidationError]) -> list[ValidationError]:
    found: list[ValidationError] = []
    for error in errors:
        found.append(error)
        if len(found) == _MOST_WARNINGS:
            break
    return found


def _sentence(where: str, what: str) -> str:
    place = "The answer" if where == "arguments" else f"`{where}` in the answer"
    return f"{place} {what.replace('must be', 'should be', 1)}, by the system's document."
