"""Discriminators: which schemas stand behind a tag, written as `oneOf` or found by their `allOf`."""

from dataclasses import dataclass
from functools import cached_property

from practicum_connectors.document.load import Document
from practicum_connectors.document.pointers import Node, as_list, as_node, is_node, reference_of, text_of

_SCHEMAS = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Variant:
    """One schema behind a tag.

    Attributes:
        reference: where it stands.
        property: the property that carries the tag.
        tags: the values that mean it.
    """

    reference: str
    property: str
    tags: tuple[str, ...]


def variants_of(node: Node, keyword: str) -> list[Variant | Node] | None:
    """The variants of a `oneOf` or `anyOf` with a discriminator, those that stand in place as they are.

    None without a discriminator, or where a member is no schema of an object.
    """
    discriminator = as_node(node.get("discriminator"))
    name = text_of(discriminator.get("propertyName"))
    members = [member for member in as_list(node.get(keyword)) if member != {"type": "null"}]
    if not name or not members or not all(is_node(member) for member in members):
        return None
    tags = _tags_by_reference(discriminator)
    variants: list[Variant | Node] = []
    for member in members:
        reference = reference_of(member)
        known = reference is not None
        variants.append(Variant(reference, name, tags.get(reference) or (_last(reference),)) if known else member)
    return variants


class Inheritance:
    """Finds subtypes that name their supertype in `allOf`, the supertype carrying the discriminator."""

    def __init__(self, document: Document) -> None:
        """Look at nothing yet.

        Args:
            document: the document.
        """
        self._document = document
        self._known: dict[str, tuple[Variant, ...]] = {}

    def subtypes(self, reference: str) -> tuple[Variant, ...]:
        """The concrete schemas below a supertype, in the document's order; empty if it is none."""
        if reference not in self._known:
            self._known[reference] = tuple(self._find(reference))
        return self._known[reference]

    def lists_heirs(self, reference: str) -> bool:
        """Whether a supertype lists subtypes, in `oneOf` or `anyOf`, which in turn take it over by `allOf`.

        Read to the letter such schemas include each other without end; what is meant is the supertype's own part.

        Raises:
            DocumentError: the reference is broken.
        """
        if reference not in self._children:
            return False
        node = as_node(self._document.pointers.at(reference))
        listed = (reference_of(member) for keyword in ("oneOf", "anyOf") for member in as_list(node.get(keyword)))
        return any(member in self._below(reference) for member in listed if member is not None)

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for name, schema in as_node(as_node(self._document.root.get("components")).get("schemas")).items():
            for member in as_list(as_node(schema).get("allOf")):
                if (parent := reference_of(member)) is not None:
                    children.setdefault(parent, []).append(f"{_SCHEMAS}{name.replace('~', '~0').replace('/', '~1')}")
        return children

    def _find(self, reference: str) -> list[Variant]:
        if reference not in self._children:
            return []
        node = as_node(self._document.pointers.at(reference))
        discriminator = as_node(node.get("discriminator"))
        name = text_of(discriminator.get("propertyName"))
        if not name or "oneOf" in node or "anyOf" in node:
            return []
        tags = _tags_by_reference(discriminator)
        below = self._below(reference)
        own = [reference] if reference in tags else []
        return [Variant(child, name, tags.get(child) or (_last(child),)) for child in (*own, *below)]

    def _below(self, reference: str) -> list[str]:
        found: dict[str, None] = {}
        waiting = list(self._children.get(reference, ()))
        while waiting:
            child = waiting.pop(0)
            if child not in found and child != reference:
                found[child] = None
                waiting.extend(self._children.get(child, ()))
        return list(found)


def _tags_by_reference(discriminator: Node) -> dict[str, tuple[str, ...]]:
    tags: dict[str, tuple[str, ...]] = {}
    for tag, target in as_node(discriminator.get("mapping")).items():
        reference = text_of(target)
        reference = reference if "/" in reference or "#" in reference else f"{_SCHEMAS}{reference}"
        tags[reference] = (*tags.get(reference, ()), tag)
    return tags


def _last(reference: str) -> str:
    return reference.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")
