"""The next page: recognised in the answer, offered as arguments of the same tool.

Only what is plain is offered: a link or cursor that the system gave, or a page number or offset whose end the answer
tells. Guessing would send a model round in circles.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.auth.redaction import REDACTED
from practicum_connectors.catalogue.plan import Argument, ToolPlan
from practicum_connectors.exchange import HttpResponse

_LINK = re.compile(r"<([^>]*)>\s*((?:;[^,<]*)*)")
_CURSORS = frozenset(
    """cursor nextcursor pagetoken nextpagetoken nexttoken token startingafter after continuationtoken continuation
    marker pagecursor startcursor""".split()  # noqa: SIM905
)
_CURSOR_FIELDS = frozenset(
    """nextcursor nextpagetoken nexttoken cursornext nextpagecursor continuationtoken continuation endcursor
    nextmarker next""".split()  # noqa: SIM905
)
_PAGES = frozenset({"page", "pagenumber", "pageno", "pageindex"})
_OFFSETS = frozenset({"offset", "skip", "start", "startat", "startindex"})
_LIMITS = frozenset({"limit", "perpage", "pagesize", "size", "count", "maxresults", "take", "top", "pagelimit"})
_TOTALS = frozenset({"total", "totalcount", "totalresults", "totalitems"})
_LAST_PAGES = frozenset({"pages", "totalpages", "pagecount", "lastpage", "numpages"})
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more"})
_HOLDERS = frozenset({"meta", "metadata", "pagination", "paging", "pageinfo", "page", "links", "responsemetadata"})


@dataclass(frozen=True, slots=True)
class Paging:
    """What an answer says about its place in a longer list.

    Attributes:
        next: arguments of the next page; None where there is none or it is not plain.
        limit: the argument that sets how many items a page has, if there is one.
    """

    next: JsonObject | None
    limit: str | None


def find_paging(plan: ToolPlan, arguments: JsonObject, response: HttpResponse, value: JsonValue) -> Paging:
    """Look for the next page.

    Args:
        plan: the tool that was called.
        arguments: its arguments.
        response: the answer.
        value: its body as JSON.
    """
    query = {argument.name: argument for argument in plan.arguments.values() if argument.place == "query"}
    limit = _argument(query, _LIMITS)
    finders = (
        lambda: _by_link(response, query),
        lambda: _by_body(value, query),
        lambda: _by_number(value, query, arguments, limit),
    )
    for find in finders:
        changed = find()
        if changed is not None:
            following = {**arguments, **changed}
            return Paging(following if changed and following != arguments else None, limit.key if limit else None)
    return Paging(None, limit.key if limit else None)


def _by_link(response: HttpResponse, query: Mapping[str, Argument]) -> JsonObject | None:
    """`Link: <...?page=2>; rel="next"`; a header that names other pages only says that there is no next one."""
    links = [match for name, header in response.headers if name == "link" for match in _LINK.finditer(header)]
    paging = False
    for match in links:
        relation = re.search(r"rel\s*=\s*\"?([^\";]+)", match[2])
        relations = set(relation[1].lower().split()) if relation else set[str]()
        paging = paging or bool(relations & {"prev", "previous", "first", "last"})
        if "next" in relations:
            return _from_url(match[1], query)
    return {} if paging else None


def _by_body(value: JsonValue, query: Mapping[str, Argument]) -> JsonObject | None:
    """A `next` URL, or a cursor field where the tool takes a cursor."""
    cursor, page = _argument(query, _CURSORS), _argument(query, _PAGES)
    for name, found in _fields(value):
        if page is not None and name in {"next", "nextpage"} and _is_number(found):
            return {page.key: found}
        if name in {"next", "nextpageurl", "nexturl", "nextlink", "nextpage", "odatanextlink"}:
            url = cast("dict[str, Any]", found).get("href") if isinstance(found, dict) else found
            if isinstance(url, str) and ("?" in url or "/" in url):
                changed = _from_url(url, query)
                if changed:
                    return changed
        if cursor is not None and name in _CURSOR_FIELDS and not isinstance(found, dict | list | bool):
            has_more = _first_of(value, _MORE)
            return {cursor.key: found} if found not in (None, "") and has_more is not False else {}
    return None


def _by_number(
    value: JsonValue, query: Mapping[str, Argument], arguments: JsonObject, limit: Argument | None
) -> JsonObject | None:
    """A page number or an offset, where the answer tells whether there is more."""
    shown = _longest_list(value)
    if shown is None:
        return None
    page, offset = _argument(query, _PAGES), _argument(query, _OFFSETS)
    more, total, last = _first_of(value, _MORE), _first_of(value, _TOTALS), _first_of(value, _LAST_PAGES)
    if page is not None:
        current = _number(arguments.get(page.key), _default(page, 1))
        size = _number(arguments.get(limit.key), _default(limit, shown)) if limit else shown
        further = _further(more, last, current)
        if further is None and isinstance(total, int):
            first = 0 if _default(page, 1) == 0 else 1
            further = (current - first + 1) * size < total
        return None if further is None else {page.key: current + 1} if further and shown else {}
    if offset is not None:
        reached = _number(arguments.get(offset.key), _default(offset, 0)) + shown
        further = more if isinstance(more, bool) else reached < total if isinstance(total, int) else None
        return None if further is None else {offset.key: reached} if further and shown else {}
    return None


def _further(more: JsonValue, last: JsonValue, current: int) -> bool | None:
    if isinstance(more, bool):
        return more
    return current < last if isinstance(last, int) else None


def _from_url(url: str, query: Mapping[str, Argument]) -> JsonObject:
    """The parameters of a link, as arguments; nothing if it names one that the tool does not have."""
    changed: JsonObject = {}
    for name, text in parse_qsl(urlsplit(url).query, keep_blank_values=True):
        if text == REDACTED:
            continue  # the connector's own credential, which is put in again
        argument = query.get(name)
        if argument is None:
            return {}
        changed[argument.key] = _typed(argument, text)
    return changed


def _typed(argument: Argument, text: str) -> JsonValue:
    kinds: Any = argument.schema.get("type") if isinstance(argument.schema, dict) else None
    kinds = cast("list[str]", kinds) if isinstance(kinds, list) else [kinds]
    if "integer" in kinds and text.lstrip("-").isdecimal():
        return int(text)
    if "boolean" in kinds and text in {"true", "false"}:
        return text == "true"
    return cast("JsonValue", text.split(",")) if "array" in kinds else text


def _fields(value: JsonValue, depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """The answer's own fields and those of the usual holders of paging information, spelling evened out."""
    if not isinstance(value, dict):
        return
    for key, found in value.items():
        name = _plain(key)
        yield name, found
        if name in _HOLDERS and depth == 0:
            yield from _fields(found, depth + 1)


def _first_of(value: JsonValue, names: frozenset[str]) -> JsonValue:
    return next((found for name, found in _fields(value) if name in names and not isinstance(found, dict | list)), None)


def _longest_list(value: JsonValue) -> int | None:
    lists = [value] if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return max((len(found) for found in lists if isinstance(found, list)), default=None)


def _argument(query: Mapping[str, Argument], names: frozenset[str]) -> Argument | None:
    return next((argument for name, argument in query.items() if _plain(name) in names), None)


def _default(argument: Argument, otherwise: int) -> int:
    schema = argument.schema if isinstance(argument.schema, dict) else {}
    return _number(schema.get("default"), otherwise)


def _number(value: JsonValue, otherwise: int) -> int:
    return value if isinstance(value, int) and _is_number(value) else otherwise


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()
