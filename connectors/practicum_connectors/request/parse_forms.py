"""Reading form fields back, written on its own so that it can contradict the writer.

openapi-core reads forms one level deep and loses the difference between an encoded and a separating comma. The standard
library, which it asks, is asked here too, for what the fields are called and what stands in them; what they mean
together is read here.
"""

import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qsl, unquote_plus

from pydantic import JsonValue

from practicum_connectors.catalogue.plan import Encoding
from practicum_connectors.request.forms import is_json
from practicum_connectors.request.parse import READERS, Described, RawValues, Shape, query_pairs
from practicum_connectors.request.parse_brackets import read_brackets
from practicum_connectors.request.views import SchemaView

_DELIMITING = frozenset({"form", "spaceDelimited", "pipeDelimited"})


class FormReader:
    """Reads the forms of one operation."""

    def __init__(self, schema: object, encoding: Mapping[str, Encoding], view: SchemaView) -> None:
        """Read nothing yet.

        Args:
            schema: the body's schema.
            encoding: what the document says of single fields.
            view: looks into the schema.
        """
        self._schema = schema
        self._encoding = encoding
        self._view = view
        self._members = view.members(schema)
        lifted = {
            key: name
            for name, said in encoding.items()
            if said.style == "form" and said.explode and "object" in view.kinds(self._members.get(name))
            for key in view.members(self._members.get(name))
        }
        self._described = Described(view=view, owners=lifted)

    def read(self, raw: bytes, shapes: Mapping[str, Shape]) -> JsonValue:
        """The object that a form stands for.

        Args:
            raw: the body.
            shapes: kind of value of each field, where the document leaves it open.

        Raises:
            ValueError: it is no form, or contradicts itself.
        """
        pairs = query_pairs(raw.decode("ascii"))
        plain = [(name, unquote_plus(text)) for name, text in pairs]
        if plain != parse_qsl(raw.decode("ascii"), keep_blank_values=True):
            raise ValueError("its fields can be read in two ways")
        owned: dict[str, list[tuple[str, str]]] = {}
        for name, text in plain:
            owned.setdefault(self._owner(name), []).append((name, text))
        kinds: dict[str, Shape] = {name: shapes.get(name, "single") for name in {*self._members, *owned}}
        values = RawValues(pairs, kinds, self._described, plus=True)
        return {name: self._field(name, values, own) for name, own in owned.items()}

    def _owner(self, key: str) -> str:
        """The field that a name belongs to."""
        if key in self._members:
            return key
        starts = [name for name in self._members if key.startswith(f"{name}[")]
        return max(starts, key=len) if starts else self._described.owners.get(key, key.partition("[")[0])

    def _field(self, name: str, values: RawValues, own: list[tuple[str, str]]) -> JsonValue:
        schema, said = self._view.member(self._schema, name), self._encoding.get(name)
        if said is not None and said.style is None and is_json(said.content_type):
            return cast("JsonValue", json.loads(values[name]))
        return self._view.typed(self._tree(name, schema, values, own), schema)

    def _tree(self, name: str, schema: object, values: RawValues, own: list[tuple[str, str]]) -> Any:
        """The texts of a field."""
        said = self._encoding.get(name)
        if said is not None and said.style in _DELIMITING and values.shapes[name] != "single":
            return READERS[said.style](said.explode, name, "", values)
        read: Any = read_brackets(name, own, schema, self._view)
        alone = values.shapes[name] == "list" and not isinstance(read, list)
        return [read] if alone else cast("Any", read)
