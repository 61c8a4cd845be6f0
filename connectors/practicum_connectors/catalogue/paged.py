"""Whether a tool answers in pages, so that it takes `next`: by its parameters and by what it is said to answer."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect
from practicum.errors import DocumentError
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import Operation
from practicum_connectors.document.pointers import Node, as_list, as_node, is_node

CURSORS: Final = frozenset(
    """cursor nextcursor pagetoken nextpagetoken nexttoken token startingafter startafter after afterid
    continuationtoken continuation continue marker pagecursor startcursor pageafter""".split()  # noqa: SIM905
)
PAGES: Final = frozenset({"page", "pagenumber", "pageno", "pageindex"})
OFFSETS: Final = frozenset({"offset", "skip", "start", "startat", "startindex", "pageoffset", "from"})
LIMITS: Final = frozenset(
    {"limit", "perpage", "pagesize", "size", "count", "maxresults", "take", "top", "first", "pagelimit"}
)
_TELLING: Final = CURSORS | PAGES | (OFFSETS - {"from", "start"}) | (LIMITS - {"size", "count", "first", "top"})
"""Names that are hardly used for anything but pages; `$top` and `$count` are OData's."""
_LINES = ("text/csv", "application/csv", "text/tab-separated-values", "ndjson", "jsonl", "json-seq", "jsonlines")
_MOST_LEVELS = 2
_WRAPPERS = frozenset({"data", "result", "results", "response", "embedded", "payload", "body", "d"})
"""What stands round a whole answer, its list inside: `{"data": {"orders": []}}`."""

NEXT_SCHEMA: Final[JsonObject] = {
    "type": "string",
    "description": "Only to go on from an answer that was not all: what it gave as `next`, alone.",
}
"""What a paged tool's argument `next` may be."""


def plain(name: str) -> str:
    """A name with its spelling evened out: `page[number]`, `pageNumber` and `page_number` are one."""
    return "".join(filter(str.isalnum, name)).lower()


def is_paged(operation: Operation, effect: Effect, document: Document, names: Iterable[str]) -> bool:
    """Whether its answers may have a next page; an operation that does more than read is never called again for one.

    Args:
        operation: the operation.
        effect: what a call of it does to the world.
        document: its document.
        names: wire names of its parameters and body members.
    """
    if effect is not Effect.READ or operation.method == "HEAD":
        return False
    if any(plain(name) in (LIMITS | _TELLING if name.startswith("$") else _TELLING) for name in names):
        return True
    try:
        return _answers_list(operation, document)
    except DocumentError:
        return True  # nobody knows what comes


def _answers_list(operation: Operation, document: Document) -> bool:
    levels = 0 if _is_one(operation.path) else _MOST_LEVELS
    for status, response in operation.responses.items():
        if not str(status).startswith("2") and status != "default":
            continue
        for media_type, media in as_node(document.pointers.follow(response).get("content")).items():
            if any(kind in media_type for kind in _LINES):
                return True
            schema = as_node(media).get("schema")
            if ("json" in media_type or "*" in media_type) and _may_be_list(schema, document, levels):
                return True
    return False


def _may_be_list(raw: object, document: Document, levels: int) -> bool:
    """Whether a list is in an answer of this schema, or might be: nothing is said of what comes."""
    return levels > 0 if raw in (None, {}, True) else _has_list(raw, document, levels)


def _has_list(raw: object, document: Document, levels: int) -> bool:
    for node in _parts(raw, document):
        kinds: Any = node.get("type")
        if "items" in node or kinds == "array" or (isinstance(kinds, list) and "array" in kinds):
            return True
        for name, member in as_node(node.get("properties")).items():
            inside = levels if plain(name) in _WRAPPERS else min(levels, 1)
            if levels > 0 and _has_list(member, document, inside - 1):
                return True
    return False


def _parts(raw: object, document: Document) -> Iterator[Node]:
    """A schema and those it is made of, each once."""
    seen: set[int] = set()
    waiting = [raw] if is_node(raw) else []
    while waiting:
        node = document.pointers.follow(waiting.pop())
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            for combinator in ("allOf", "anyOf", "oneOf"):
                waiting.extend(filter(is_node, as_list(node.get(combinator))))


def _is_one(path: str) -> bool:
    """Whether a path leads to one thing, as `/orders/{id}` does."""
    return path.partition("?")[0].rstrip("/").endswith("}")
