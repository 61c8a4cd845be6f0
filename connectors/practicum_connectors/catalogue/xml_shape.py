"""What a document's `xml` objects say, gathered once: which element or attribute stands for which value."""

from dataclasses import dataclass, field

from practicum.errors import DocumentError
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, reference_of, text_of


@dataclass(slots=True)
class XmlShape:
    """How one schema is written as XML; shapes of recursive schemas refer to each other in circles.

    Attributes:
        name: name of its element or attribute, None where its property's name is used.
        namespace: URI of its namespace, empty for none.
        prefix: prefix of its namespace, empty for the default one.
        attribute: whether it is an attribute of its parent.
        text: whether it is the text of its parent (`nodeType: text` and `cdata` of 3.2).
        wrapped: whether a list has an element of its own around its items.
        members: shapes of an object's properties, by name.
        items: shape of a list's items.
        others: shape of an object's undescribed properties.
    """

    name: str | None = None
    namespace: str = ""
    prefix: str = ""
    attribute: bool = False
    text: bool = False
    wrapped: bool = False
    members: "dict[str, XmlShape]" = field(default_factory=dict[str, "XmlShape"])
    items: "XmlShape | None" = None
    others: "XmlShape | None" = None


def xml_shape(raw: object, pointers: Pointers) -> XmlShape:
    """The shape of a whole body.

    Args:
        raw: its schema as it stands.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken, or nothing says what the outermost element is called.
    """
    shape = _Reader(pointers).shape(raw)
    if shape.name is None:
        reference = reference_of(raw)
        if reference is None:
            raise DocumentError(
                "Its body is XML, and nothing says what the outermost element is called.",
                mend="Give the body's schema an `xml: {name: ...}`.",
            )
        shape.name = reference.rsplit("/", 1)[-1]
    return shape


class _Reader:
    def __init__(self, pointers: Pointers) -> None:
        self._pointers = pointers
        self._known: dict[tuple[int, ...], XmlShape] = {}

    def shape(self, raw: object) -> XmlShape:
        nodes = self._nodes(raw)
        key = tuple(id(node) for node in nodes)
        known = self._known.get(key)
        if known is not None:
            return known
        shape = self._known[key] = XmlShape()
        for node in reversed(nodes):  # what stands nearest says it last
            self._xml(as_node(node.get("xml")), shape)
        for node in nodes:
            for name, member in as_node(node.get("properties")).items():
                shape.members.setdefault(name, self.shape(member))
            if shape.items is None and is_node(node.get("items")):
                shape.items = self.shape(node["items"])
            if shape.others is None and is_node(node.get("additionalProperties")):
                shape.others = self.shape(node["additionalProperties"])
        return shape

    def _nodes(self, raw: object) -> list[Node]:
        """A schema and all that it refers to and is combined of, the nearest first."""
        found: list[Node] = []
        waiting: list[object] = [raw]
        while waiting:
            value = waiting.pop(0)
            if not is_node(value) or any(value is known for known in found):
                continue
            node = as_node(value)
            found.append(node)
            reference = reference_of(node)
            if reference is not None:
                waiting.insert(0, self._pointers.at(reference))
            for keyword in ("allOf", "anyOf", "oneOf"):
                waiting.extend(as_list(node.get(keyword)))
        return found

    @staticmethod
    def _xml(said: Node, shape: XmlShape) -> None:
        shape.name = text_of(said.get("name")) or shape.name
        shape.namespace = text_of(said.get("namespace")) or shape.namespace
        shape.prefix = text_of(said.get("prefix")) or shape.prefix
        kind = said.get("nodeType")
        shape.attribute |= said.get("attribute") is True or kind == "attribute"
        shape.text |= kind in {"text", "cdata"}
        shape.wrapped |= said.get("wrapped") is True or kind == "element"
