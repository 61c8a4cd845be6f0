"""Parameters of Swagger 2.0: what stays a parameter, and what becomes a request body."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from practicum_connectors.document.pointers import Node, as_node, text_of
from practicum_connectors.document.swagger_schemas import SwaggerSchemas

LOSSES = "x-practicum-losses"
"""The extension of an operation or parameter that says what could not be said in OpenAPI 3."""

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

_SCHEMA_KEYWORDS = (
    *("type", "format", "items", "default", "enum", "multipleOf", "uniqueItems", "pattern", "x-nullable", "x-example"),
    *("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "maxItems", "minItems"),
)
_KEPT = ("name", "in", "description", "required", "allowEmptyValue", "deprecated")
_QUERY_STYLES = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
}
_SEPARATORS = {"csv": "commas", "ssv": "spaces", "tsv": "tabs", "pipes": "`|`", "multi": "commas"}

Where = Literal["parameter", "query", "form", "multipart"]


class SwaggerParameters:
    """Converts parameters.

    A list whose separator OpenAPI 3 has no style for becomes one text, which says how its values are separated: what
    goes over the wire stays right.
    """

    def __init__(self, schemas: SwaggerSchemas) -> None:
        """Convert nothing yet.

        Args:
            schemas: converts schemas.
        """
        self._schemas = schemas

    def parameter(self, raw: Node) -> dict[str, Any]:
        """A parameter of path, query or header."""
        out = {key: value for key, value in raw.items() if key in _KEPT or key.startswith("x-")}
        losses: list[str] = []
        where: Where = "query" if raw.get("in") in {"query", "formData"} else "parameter"
        schema, style = self._schema(raw, where, losses)
        out["schema"] = schema
        if (kind := raw.get("type")) in {"file", "object"}:
            losses.append(
                f"The {raw.get('in')} parameter `{raw.get('name')}` is of type `{kind}`, which cannot be there."
            )
        if style is not None and where == "query":
            out["style"], out["explode"] = style
        if losses:
            out[LOSSES] = losses
        return out

    def body(self, raw: Node, consumes: Sequence[str]) -> dict[str, Any]:
        """The request body that an `in: body` parameter describes."""
        described = "schema" in raw
        schema = self._schemas.converted(raw["schema"] if described else _picked(raw, _SCHEMA_KEYWORDS))
        plain = [name for name in consumes if _bare(name) not in {FORM, MULTIPART}]
        media_types = plain or list(consumes) or ["application/json"]
        return {
            **_picked(raw, ("description", "required")),
            "content": {name: {"schema": schema} for name in dict.fromkeys(media_types)},
        }

    def form(self, fields: Iterable[Node], consumes: Sequence[str], losses: list[str]) -> dict[str, Any]:
        """The request body that `formData` parameters describe together."""
        fields = list(fields)
        files = any("file" in (raw.get("type"), as_node(raw.get("items")).get("type")) for raw in fields)
        forms = [name for name in dict.fromkeys(map(_bare, consumes)) if name in {FORM, MULTIPART}]
        if files or not forms:
            forms = [MULTIPART if files else FORM]
        return {
            "required": any(raw.get("required") is True for raw in fields),
            "content": {name: self._form(fields, name == MULTIPART, losses) for name in forms},
        }

    def _form(self, fields: Sequence[Node], multipart: bool, losses: list[str]) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        encoding: dict[str, Any] = {}
        for raw in fields:
            name = text_of(raw.get("name"))
            schema, style = self._schema(raw, "multipart" if multipart else "form", losses)
            properties[name] = {**schema, **_picked(raw, ("description",))}
            if style is not None and not multipart:
                encoding[name] = {"style": style[0], "explode": style[1]}
        required = [text_of(raw.get("name")) for raw in fields if raw.get("required") is True]
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        return {"schema": schema, **({"encoding": encoding} if encoding else {})}

    def _schema(self, raw: Node, where: Where, losses: list[str]) -> tuple[dict[str, Any], tuple[str, bool] | None]:
        """The schema of a parameter and, for a list, its style."""
        if "schema" in raw and "type" not in raw:  # misplaced, but clear
            return dict(as_node(self._schemas.converted(raw["schema"]))), None
        schema = self._schemas.converted(_picked(raw, _SCHEMA_KEYWORDS))
        if "x-example" in schema:
            schema["example"] = schema.pop("x-example")
        if raw.get("type") != "array":
            return schema, None
        written = text_of(raw.get("collectionFormat")) or "csv"
        items = as_node(raw.get("items"))
        if items.get("type") == "array":
            inner = text_of(items.get("collectionFormat")) or "csv"
            schema["items"] = _joined(raw, inner, losses)
        if where in {"query", "form"}:
            return (schema, style) if (style := _QUERY_STYLES.get(written)) else (_joined(raw, written, losses), None)
        if where == "multipart":
            apart = written == "multi" or items.get("type") == "file"
            return schema if apart else _joined(raw, written, losses), None
        return schema if written == "csv" else _joined(raw, written, losses), None


def _joined(raw: Node, written: str, losses: list[str]) -> dict[str, Any]:
    separator = _SEPARATORS.get(written, _SEPARATORS["csv"])
    losses.append(
        f"The list `{raw.get('name')}` has no style of its own; it is given as text, separated by {separator}."
    )
    return {"type": "string", "description": f"Values separated by {separator}."}


def _picked(node: Node, keys: Iterable[str]) -> dict[str, Any]:
    return {key: node[key] for key in keys if key in node}


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
