"""Schemas of Swagger 2.0 as OpenAPI 3.0 writes them, and where references lead afterwards."""

from collections.abc import Iterator
from typing import Any

from practicum.errors import DocumentError
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, reference_of, text_of
from practicum_connectors.document.structure import Kind, Tokens, changed

_BEFORE, _AFTER = "#/definitions/", "#/components/schemas/"
_TAG_VALUES = ("x-ms-discriminator-value", "x-discriminator-value")


class SwaggerSchemas:
    """Converts the schemas of one document.

    Definitions keep their names. A schema that is referred to anywhere else in the document is taken among them, since
    what surrounds it is written differently afterwards.
    """

    def __init__(self, root: Node, pointers: Pointers) -> None:
        """Convert nothing yet.

        Args:
            root: the whole Swagger document.
            pointers: follows its references.
        """
        self._definitions = as_node(root.get("definitions"))
        self._pointers = pointers
        self._moved: dict[str, str] = {}
        self._waiting: list[tuple[str, Any]] = []
        self._tags = dict(_tags(self._definitions))

    def converted(self, raw: Any) -> Any:
        """One schema; what is no object stays as it is."""
        if not is_node(raw):
            return raw
        node = as_node(raw)
        out = changed("schema", node, self._inner)
        if (reference := reference_of(node)) is not None:
            out["$ref"] = self._reference(reference)
        if out.get("type") == "file":
            out.update({"type": "string", "format": "binary"})
        nullable = node.get("x-nullable", node.get("x-isnullable"))
        if isinstance(nullable, bool):
            out.setdefault("nullable", nullable)
        if isinstance(tag := node.get("discriminator"), str):
            out["discriminator"] = {"propertyName": tag}
        return out

    def components(self) -> dict[str, Any]:
        """All definitions converted, with what was taken among them; to be asked last."""
        found: dict[str, Any] = {}
        for name, raw in self._definitions.items():
            found[name] = self.converted(raw)
            if name in self._tags and is_node(found[name].get("discriminator") if is_node(found[name]) else None):
                found[name]["discriminator"]["mapping"] = self._tags[name]
        while self._waiting:
            name, raw = self._waiting.pop()
            found[name] = self.converted(raw)
        return found

    def _inner(self, kind: Kind, value: Any, _: Tokens) -> Any:
        return self.converted(value) if kind == "schema" else value

    def _reference(self, reference: str) -> str:
        if reference.startswith(_BEFORE):
            return _AFTER + reference.removeprefix(_BEFORE)
        if reference in self._definitions:  # a bare name, as older tools wrote it
            return _AFTER + reference
        if reference not in self._moved:
            try:
                value = self._pointers.at(reference)
            except DocumentError:
                return reference  # broken; the operation that needs it is refused and says so
            name = f"{reference.rsplit('/', 1)[-1]}_{len(self._moved) + 1}"
            while name in self._definitions:
                name += "_"
            self._moved[reference] = f"{_AFTER}{name.replace('~', '~0').replace('/', '~1')}"
            self._waiting.append((name, value))
        return self._moved[reference]


def _tags(definitions: Node) -> Iterator[tuple[str, dict[str, str]]]:
    """The tag values that subtypes say of themselves by an extension, by the name of the supertype."""
    found: dict[str, dict[str, str]] = {}
    for name, schema in definitions.items():
        tag = next((text for key in _TAG_VALUES if (text := text_of(as_node(schema).get(key)))), "")
        for member in as_list(as_node(schema).get("allOf")) if tag else []:
            parent = text_of(as_node(member).get("$ref"))
            if parent.startswith(_BEFORE):
                found.setdefault(parent.removeprefix(_BEFORE), {})[tag] = _AFTER + name
    yield from found.items()
