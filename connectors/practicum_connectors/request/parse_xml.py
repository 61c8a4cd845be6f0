"""Reading an XML body back, written on its own so that it can contradict the writer."""

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from pydantic import JsonValue

from practicum_connectors.catalogue.xml_shape import XmlShape
from practicum_connectors.request.parse import Shape
from practicum_connectors.request.views import SchemaView


class XmlReader:
    """Reads the XML bodies of one operation."""

    def __init__(self, schema: object, shape: XmlShape, view: SchemaView) -> None:
        """Read nothing yet.

        Args:
            schema: the body's schema.
            shape: which element stands for what.
            view: looks into the schema.
        """
        self._schema = schema
        self._shape = shape
        self._view = view

    def read(self, raw: bytes, shapes: Mapping[str, Shape]) -> JsonValue:
        """The value that a document stands for.

        Args:
            raw: the body, which is ours: it has no DTD.
            shapes: kind of value of the members of the outermost element, where the document leaves it open.

        Raises:
            ValueError: it is no XML, or its elements are not those of the document.
        """
        if b"<!" in raw:
            raise ValueError("it holds a declaration, which no body needs")
        try:
            root = ET.fromstring(raw)  # noqa: S314 (just written, without declarations)
        except ET.ParseError as error:
            raise ValueError(f"it is not well-formed XML: {error}") from None
        _expect(root, self._shape.name or "", self._shape)
        return self._view.typed(self._value(root, self._shape, self._schema, shapes), self._schema)

    def _value(self, element: ET.Element, shape: XmlShape, schema: object, shapes: Mapping[str, Shape]) -> Any:
        if shape.wrapped and (self._view.only(schema, "array") or self._is_list(shape, schema)):
            return self._list([*element], _local(element.tag), shape, schema)
        if not len(element) and not element.attrib and not self._view.only(schema, "object"):
            return element.text or ""
        names = {member.name or name: name for name, member in shape.members.items() if not _unwrapped(member)}
        names |= {(m.items and m.items.name) or name: name for name, m in shape.members.items() if _unwrapped(m)}
        read: dict[str, Any] = {}
        for key, text in element.attrib.items():
            name = names.get(_local(key), _local(key))
            _expect_attribute(key, shape.members.get(name))
            read[name] = text
        grouped: dict[str, list[ET.Element]] = {}
        for child in element:
            local = _local(child.tag)
            grouped.setdefault(names.get(local, local), []).append(child)
        for name, children in grouped.items():
            read[name] = self._member(name, children, shape, self._view.member(schema, name), shapes.get(name))
        texts = [name for name, member in shape.members.items() if member.text]
        if (element.text and not texts) or any(child.tail for child in element):
            raise ValueError(f"text stands between the elements of {_local(element.tag)}")
        return {**read, texts[0]: element.text} if texts and element.text else read

    def _member(
        self, name: str, children: list[ET.Element], parent: XmlShape, schema: object, kind: Shape | None
    ) -> Any:
        shape = parent.members.get(name) or parent.others or XmlShape()
        if not shape.wrapped and (self._view.only(schema, "array") or kind == "list" or len(children) > 1):
            return self._list(children, name, shape, schema)
        if len(children) > 1:
            raise ValueError(f"the element of {name} stands there twice")
        _expect(children[0], shape.name or name, shape)
        return self._value(children[0], shape, schema, {})

    def _is_list(self, shape: XmlShape, schema: object) -> bool:
        return shape.items is not None and "object" not in self._view.kinds(schema)

    def _list(self, children: list[ET.Element], name: str, array: XmlShape, schema: object) -> list[Any]:
        shape, inner = array.items or XmlShape(), self._view.items(schema)
        for child in children:
            _expect(child, shape.name or name, shape)
        return [self._value(child, shape, inner, {}) for child in children]


def _unwrapped(shape: XmlShape) -> bool:
    return shape.items is not None and not shape.wrapped


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _expect(element: ET.Element, name: str, shape: XmlShape) -> None:
    if _local(element.tag) != name or (shape.namespace and element.tag != f"{{{shape.namespace}}}{name}"):
        raise ValueError(f"the element {element.tag} stands where {name} should")


def _expect_attribute(key: str, shape: XmlShape | None) -> None:
    if shape is None or not shape.attribute:
        raise ValueError(f"the attribute {key} is not one of the document's")
