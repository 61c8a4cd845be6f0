"""The next page: recognised in the answer, and said as the same call with one thing changed.

What the system says itself comes first: a link, a cursor, the id of the last item, a number of pages or items. Where it
says nothing, a page as long as was asked for may have a successor, which may then be empty; a shorter one has none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal
from urllib.parse import parse_qsl, quote, urljoin, urlsplit

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.auth.redaction import REDACTED
from practicum_connectors.calls import PreparedCall
from practicum_connectors.catalogue.paged import CURSORS, LIMITS, OFFSETS, PAGES, plain
from practicum_connectors.exchange import HttpResponse
from practicum_connectors.response.body_paging import Slot, slot_named, slots_of
from practicum_connectors.response.handles import Step
from practicum_connectors.response.lists import Listing, find_list

Found = Step | Literal["end"] | None
"""A next page, that there is none, or that nothing is said of one."""

_LINK = re.compile(r"<([^>]*)>\s*((?:;[^,<]*)*)")
_RELATION = re.compile(r"rel\s*=\s*\"?([^\";]+)")
_OF_TOTAL = re.compile(r"/\s*(\d+)\s*$")
_CURSOR_FIELDS = frozenset(
    """nextcursor nextpagetoken nexttoken cursornext nextpagecursor continuationtoken continuation continue endcursor
    aftercursor nextmarker next""".split()  # noqa: SIM905
)
_NEXT_LINKS = frozenset({"next", "nextpage", "nextpageurl", "nextpageuri", "nexturl", "nextlink", "odatanextlink"})
_LINK_MEMBERS = ("href", "url", "uri", "link")
_AFTER_ID = frozenset({"startingafter", "startafter", "afterid", "after"})
_TOTALS = frozenset({"total", "totalcount", "totalresults", "totalitems"})
_LAST_PAGES = frozenset({"pages", "totalpages", "pagecount", "lastpage", "numpages"})
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more"})
_HOLDERS = frozenset({"meta", "metadata", "pagination", "paging", "pageinfo", "page", "links", "responsemetadata"})
_USUAL_SIZES: Final = frozenset({10, 15, 20, 25, 30, 50, 100, 200, 250, 500, 1000})
"""How long a page is where nobody says it: one of another length is the last."""
_MOST_QUERY_CHARACTERS = 2000
_IN_QUERY = "!$%&'()*+,-./:;=?@_~[]"


@dataclass(frozen=True, slots=True)
class Paging:
    """What an answer says about its place in a longer list.

    Attributes:
        step: the call of the next page; None where there is none.
        limit: the argument that sets how many items a page has, if there is one.
    """

    step: Step | None
    limit: str | None


def find_paging(prepared: PreparedCall, response: HttpResponse, value: JsonValue) -> Paging:
    """Look for the next page.

    Args:
        prepared: the call.
        response: the answer.
        value: its body as JSON.
    """
    return _Search(prepared, response, value).paging()


class _Search:
    """One answer, searched for the next page."""

    def __init__(self, prepared: PreparedCall, response: HttpResponse, value: JsonValue) -> None:
        self._prepared = prepared
        self._response = response
        self._value = value
        self._slots = slots_of(prepared.plan)
        self._fields = [*_fields(value), *_in_headers(response)]
        self._limit = slot_named(self._slots, LIMITS)

    def paging(self) -> Paging:
        finders = [self._by_link, self._by_body]
        if self._prepared.query is None:  # else the arguments do not say where this page is
            finders += [self._by_last_id, self._by_count, self._by_full_page]
        step: Found = None
        for find in finders:
            step = find()
            if step is not None:
                break
        here = Step(self._prepared.arguments, self._prepared.query)
        limit = self._limit.path[0] if self._limit else None
        return Paging(step if isinstance(step, Step) and step != here else None, limit)

    @cached_property
    def _listing(self) -> Listing | None:
        return find_list(self._value)

    def _by_link(self) -> Found:
        """`Link: <...?page=2>; rel="next"`; a header that names other pages only says that there is no next one."""
        links = [m for name, header in self._response.headers if name == "link" for m in _LINK.finditer(header)]
        paging = False
        for link in links:
            relation = _RELATION.search(link[2])
            relations = set(relation[1].lower().split()) if relation else set[str]()
            paging = paging or bool(relations & {"prev", "previous", "first", "last"})
            if "next" in relations:
                return self._to(link[1])
        return "end" if paging else None

    def _by_body(self) -> Found:
        """A link or number of the next page, or a cursor where the tool takes one."""
        cursor, page = slot_named(self._slots, CURSORS), slot_named(self._slots, PAGES)
        ended = False
        for name, found in self._fields:
            if name in _NEXT_LINKS:
                ended = ended or found in (None, "", False)
                step = self._next_of(found, page, cursor)
                if step is not None:
                    return step
            if cursor is not None and name in _CURSOR_FIELDS and not isinstance(found, dict | list | bool):
                more = self._first(_MORE)
                return self._with(cursor, found) if found not in (None, "") and more is not False else "end"
        if cursor is not None and not ended and (found := self._first(frozenset({"cursor"}))):
            return self._with(cursor, found)  # some call it just that; the one that was asked for leads nowhere new
        return "end" if ended else None

    def _next_of(self, found: JsonValue, page: Slot | None, cursor: Slot | None) -> Found:
        """What a field named `next` leads to."""
        if isinstance(found, dict):
            for key, member in found.items():
                if cursor is not None and plain(key) in CURSORS and isinstance(member, str) and member:
                    return self._with(cursor, member)
            found = next((found[name] for name in _LINK_MEMBERS if found.get(name)), None)
        if page is not None and (_is_number(found) or (isinstance(found, str) and found.isdecimal())):
            return self._with(page, int(str(found)))
        return self._to(found) if isinstance(found, str) and ("?" in found or "/" in found) else None

    def _by_last_id(self) -> Found:
        """The id of the last item, where the tool goes on after an id and the answer says that there is more."""
        slot, more = slot_named(self._slots, _AFTER_ID), self._first(_MORE)
        if slot is None or not isinstance(more, bool):
            return None
        last = self._first(frozenset({"lastid"}))
        if last is None and self._listing and self._listing.items:
            item = self._listing.items[-1]
            last = item.get("id") if isinstance(item, dict) else None
        if not more:
            return "end"
        return self._with(slot, last) if isinstance(last, str) or _is_number(last) else None

    def _by_count(self) -> Found:
        """A page number or an offset, where the answer tells whether there is more."""
        if self._listing is None:
            return None
        shown = len(self._listing.items)
        more, total, last = self._first(_MORE), self._number(_TOTALS), self._number(_LAST_PAGES)
        page, offset = self._numbered(PAGES), self._numbered(OFFSETS)
        further: bool | None = more if isinstance(more, bool) else None
        if page is not None:
            slot, current = page
            if further is None and last is not None:
                further = current - _first_page(slot) + 1 < last
            if further is None and total is not None:
                further = (current - _first_page(slot) + 1) * (self._size() or shown) < total
            following = self._with(slot, current + 1)
        elif offset is not None:
            slot, current = offset
            further = current + shown < total if further is None and total is not None else further
            following = self._with(slot, current + shown)
        else:
            return None
        return None if further is None else following if further and shown else "end"

    def _by_full_page(self) -> Found:
        """The page after one that is as long as was asked for, where the answer tells nothing."""
        shown = len(self._listing.items) if self._listing else 0
        size = self._size()
        if not shown or (shown < size if size else shown not in _USUAL_SIZES):
            return None
        page, offset = self._numbered(PAGES), self._numbered(OFFSETS)
        if page is not None:
            return self._with(page[0], page[1] + 1)
        return None if offset is None else self._with(offset[0], offset[1] + shown)

    def _numbered(self, names: frozenset[str]) -> tuple[Slot, int] | None:
        """The argument that counts pages or items, and where this answer stands."""
        slot = slot_named(self._slots, names)
        if slot is None or not (slot.kinds & {"integer", "number", "string"} or not slot.kinds):
            return None
        value = slot.value(self._prepared.arguments)
        if value is None and slot.kinds & {"integer", "number"}:
            return slot, _first_page(slot) if names is PAGES else 0
        number = _as_number(value)
        return None if number is None else (slot, number)

    def _size(self) -> int | None:
        """How many items were asked for."""
        return _as_number(self._limit.value(self._prepared.arguments)) if self._limit else None

    def _with(self, slot: Slot, value: JsonValue) -> Step:
        return Step(slot.put(self._prepared.arguments, value))

    def _to(self, url: str) -> Step | None:
        """The call that a link stands for: its parameters as arguments, or its query where one of them is none."""
        link = urlsplit(urljoin(self._prepared.request.url, url))
        arguments: JsonObject = dict(self._prepared.arguments)
        pairs = parse_qsl(link.query, keep_blank_values=True)
        names = [name for name, _ in pairs]
        by_name = {slot.parameter: slot for slot in self._slots if slot.parameter is not None and len(slot.path) == 1}
        for name, text in pairs:
            slot = by_name.get(name)
            if text == REDACTED:
                continue  # the connector's own credential, which is put in again
            if slot is None or names.count(name) > 1 or "object" in slot.kinds:
                return self._by_query(link.path, link.query)
            arguments = slot.put(arguments, slot.typed(text))
        return Step(arguments) if pairs else None

    def _by_query(self, path: str, query: str) -> Step | None:
        """The link's query as the system wrote it, for the operation that was called and for no other."""
        here = urlsplit(self._prepared.request.url).path
        if self._prepared.methodless or _last_segment(path) != _last_segment(here):
            return None  # of a protocol without addresses, or of another operation
        pairs = [pair for pair in query.split("&") if not pair.endswith(f"={REDACTED}")]
        kept = quote("&".join(pairs), safe=_IN_QUERY)
        if not kept or REDACTED in kept or len(kept) > _MOST_QUERY_CHARACTERS:
            return None
        return Step(self._prepared.arguments, kept)

    def _first(self, names: frozenset[str]) -> JsonValue:
        return next((v for name, v in self._fields if name in names and not isinstance(v, dict | list)), None)

    def _number(self, names: frozenset[str]) -> int | None:
        return _as_number(self._first(names))


def _fields(value: JsonValue, depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """The answer's own fields and those of the usual holders of paging information, spelling evened out."""
    if not isinstance(value, dict):
        return
    for key, found in value.items():
        name = plain(key)
        yield name, found
        if name in _HOLDERS and depth == 0:
            yield from _fields(found, depth + 1)


def _in_headers(response: HttpResponse) -> Iterator[tuple[str, JsonValue]]:
    """`X-Total-Count: 12`, `X-Next-Page: 2`, `Content-Range: items 0-9/12`."""
    for name, value in response.headers:
        if name.startswith("x-"):
            yield plain(name.removeprefix("x-").removeprefix("pagination-")), value.strip()
        elif name == "content-range" and (total := _OF_TOTAL.search(value)):
            yield "total", int(total[1])


def _first_page(slot: Slot) -> int:
    default = slot.schema.get("default")
    return 0 if (slot.schema.get("minimum") if default is None else default) == 0 else 1


def _last_segment(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _as_number(value: JsonValue) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and _is_number(value) else None


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
