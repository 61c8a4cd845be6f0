"""What the shape of a body tells about a call: an amount and a currency side by side are money."""

from collections.abc import Iterator

from practicum.errors import DocumentError
from practicum_connectors.catalogue.stemming import split_words
from practicum_connectors.document.operations import Body
from practicum_connectors.document.pointers import Pointers, as_list, as_node, is_node

_MOST_LEVELS = 4
_AMOUNTS = frozenset({"amount", "payment", "total", "transaction", "charge", "transfer", "refund"})
"""Words that may stand before `amount`; a `discount_amount` moves nothing."""


def moves_money(body: Body | None, pointers: Pointers) -> bool:
    """Whether a body names an amount and its currency, as members side by side or the one within the other.

    Args:
        body: the body of an operation, None without one.
        pointers: follows the document's references; a broken one tells nothing.
    """
    if body is None:
        return False
    return any(_pays(_members(media.get("schema"), pointers), pointers) for media in body.content.values())


def _pays(members: list[tuple[str, object]], pointers: Pointers) -> bool:
    amounts = [schema for name, schema in members if _is_amount(name)]
    if amounts and any(_is_currency(name) for name, _ in members):
        return True
    return any(_is_currency(name) for schema in amounts for name, _ in _members(schema, pointers))


def _members(schema: object, pointers: Pointers) -> list[tuple[str, object]]:
    try:
        return list(_properties(schema, pointers, 0))
    except DocumentError:
        return []


def _properties(schema: object, pointers: Pointers, depth: int) -> Iterator[tuple[str, object]]:
    if depth > _MOST_LEVELS or not is_node(schema):
        return
    node = pointers.follow(schema)
    yield from as_node(node.get("properties")).items()
    for keyword in ("allOf", "anyOf", "oneOf"):
        for member in as_list(node.get(keyword)):
            yield from _properties(member, pointers, depth + 1)


def _is_amount(name: str) -> bool:
    words = split_words(name)
    return "amount" in words and set(words[: words.index("amount")]) <= _AMOUNTS


def _is_currency(name: str) -> bool:
    return split_words(name)[:1] == ["currency"]
