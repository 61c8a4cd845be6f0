"""What a document says of successful answers."""

from typing import Any

from practicum.contracts.base import JsonObject
from practicum.errors import DocumentError
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.catalogue.schemas import Converted, SchemaConverter
from practicum_connectors.catalogue.view import shown
from practicum_connectors.document.load import Document
from practicum_connectors.document.pointers import as_node

_MOST_CHARACTERS = 4_000
"""Of JSON, for the schema of one tool's answer: some 1,000 tokens."""


class Received:
    """The answers of one document's operations."""

    def __init__(self, document: Document) -> None:
        """Look at nothing yet.

        Args:
            document: the document.
        """
        self._document = document
        self._schemas = SchemaConverter(document, "read")
        self.definitions = DefinitionTable(self._schemas)

    def schema(self, plan: ToolPlan) -> Converted | None:
        """The schema of the first successful answer that is described; None if there is none that can be read."""
        for status in sorted(plan.operation.responses):
            if not status.startswith("2"):
                continue
            try:
                described = self._document.pointers.follow(plan.operation.responses[status])
                for media in as_node(described.get("content")).values():
                    if "schema" in (found := self._document.pointers.follow(media)):
                        return self._readable(found["schema"])
            except DocumentError:
                return None
        return None

    def shown(self, plan: ToolPlan) -> JsonObject | None:
        """The same with its definitions, as much of it as is bearable; None where it says nothing.

        What is cut accepts more than the whole, never less.
        """
        try:
            found = self.schema(plan)
        except RecursionError:
            return None
        if found is None or not isinstance(found.schema, dict) or not found.schema:
            return None
        return shown(found.schema, found.needs, self.definitions, _MOST_CHARACTERS)[0]

    def _readable(self, raw: Any) -> Converted:
        converted = self._schemas.convert(raw)
        self.definitions.closure(converted.needs)
        return converted
