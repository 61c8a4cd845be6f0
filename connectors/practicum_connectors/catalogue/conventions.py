"""What the standard leaves open and a house must decide, for the import report: a convention is not called exact."""

from collections.abc import Iterable

from practicum_connectors.document.operations import Parameter
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node

_MOST_DEPTH = 6
_MOST_NAMES = 6
_STRUCTURES = frozenset({"object", "array"})


def parameter_notes(parameter: Parameter, pointers: Pointers) -> tuple[str, ...]:
    """What of a parameter's values is written by convention or cannot be written at all.

    Args:
        parameter: the parameter.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    if parameter.media_type is not None:
        return ()
    inner = structures_in(parameter.schema, pointers)
    if parameter.style == "deepObject":
        return (bracket_note([parameter.name]),) if inner or "array" in kinds_of(parameter.schema, pointers) else ()
    if inner:
        what = f"Lists and objects inside of `{parameter.name}` ({_listed(inner)})"
        return (f"{what} cannot be written in its style ({parameter.style}); a call that gives them is refused.",)
    return ()


def bracket_note(names: Iterable[str]) -> str:
    """The note for values that are written in brackets although nothing says how."""
    return (
        f"Lists and objects in {_listed(names)} are written as `f[a][b]=1` and `f[ids][]=1`, or lists as the"
        " connector's `arrays` says; OpenAPI leaves that open."
    )


def structures_in(raw: object, pointers: Pointers) -> list[str]:
    """Names of an object's members, or `items` of a list, that are described as lists or objects themselves.

    Args:
        raw: the schema as it stands.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    found: dict[str, None] = {}
    for node in _nodes(raw, pointers, _MOST_DEPTH):
        for name, member in as_node(node.get("properties")).items():
            if _STRUCTURES & kinds_of(member, pointers) and as_node(member).get("readOnly") is not True:
                found[name] = None
        if is_node(node.get("items")) and _STRUCTURES & kinds_of(node["items"], pointers):
            found["items"] = None
    return list(found)


def kinds_of(raw: object, pointers: Pointers) -> frozenset[str]:
    """The types of JSON Schema that a schema of the document names.

    Args:
        raw: the schema as it stands.
        pointers: follows its references.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    kinds: set[str] = set()
    for node in _nodes(raw, pointers, _MOST_DEPTH):
        given = node.get("type")
        kinds.update(kind for kind in as_list(given) or [given] if isinstance(kind, str))
        if given is None and "properties" in node:
            kinds.add("object")
    return frozenset(kinds)


def _nodes(raw: object, pointers: Pointers, depth: int) -> Iterable[Node]:
    if depth < 0 or not is_node(raw):
        return
    node = pointers.follow(raw)
    yield node
    for keyword in ("allOf", "anyOf", "oneOf"):
        for member in as_list(node.get(keyword)):
            yield from _nodes(member, pointers, depth - 1)


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
    return ", ".join(f"`{name}`" for name in shown[:_MOST_NAMES]) + more
