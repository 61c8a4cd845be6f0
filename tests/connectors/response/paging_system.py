"""A system that hands out seven things in every way in which lists have pages."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from tests.connectors.documents import Json, document, operation, query

THINGS: list[Json] = [{"id": f"t{number}", "text": "x" * 80} for number in range(1, 8)]
IDS = [thing["id"] for thing in THINGS]
CSV = "id,text\n" + "".join(f'{thing["id"]},"one\ntwo"\n' for thing in THINGS)
INTEGER: Json = {"type": "integer"}
ARRAY: Json = {"type": "array", "items": {"type": "object"}}

Headers = list[tuple[str, str]]


def _answering(
    *parameters: Json, media_type: str = "application/json", schema: Json | None = None, **rest: Any
) -> Json:
    content = {media_type: {"schema": schema or {}}}
    return operation(*parameters, responses={"200": {"description": "ok", "content": content}}, **rest)


LIMIT = query("limit", {"type": "integer", "default": 3})
FILTER: Json = {"type": "object", "properties": {"limit": INTEGER, "offset": INTEGER, "q": {"type": "string"}}}
DOCUMENT = document(
    {
        "/offset": {"get": _answering(LIMIT, query("offset", INTEGER), operationId="offset")},
        "/filter": {"post": _answering(operationId="filter", body=FILTER, required=False)},
        "/page": {"get": _answering(query("page", INTEGER), operationId="page")},
        "/cursor": {"get": _answering(query("cursor"), operationId="cursor")},
        "/stripe": {"get": _answering(LIMIT, query("starting_after"), operationId="stripe")},
        "/odata": {"get": _answering(query("$top", INTEGER), operationId="odata")},
        "/link": {"get": _answering(query("q"), operationId="link")},
        "/all": {"get": _answering(operationId="all", schema=ARRAY)},
        "/wrapped": {"get": _answering(operationId="wrapped")},
        "/csv": {"get": _answering(operationId="csv", media_type="text/csv")},
        "/lines": {"get": _answering(operationId="lines", media_type="application/x-ndjson")},
        "/events": {"get": _answering(operationId="events", media_type="text/event-stream")},
        "/ticks": {"get": _answering(operationId="ticks", media_type="application/x-ndjson")},
        "/silence": {"get": _answering(operationId="silence", media_type="text/event-stream")},
    }
)
_DRIPS: dict[str, tuple[str, bytes, bytes]] = {
    "/events": ("text/event-stream", b'data: {"n": 1}\n\n', b": ping\n\n"),
    "/ticks": ("application/x-ndjson", b'{"n":1}\n{"n', b'":2}\n{"n'),
    "/silence": ("text/event-stream", b"", b""),
}


class PagingSystem:
    """The ASGI application."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        message = await receive()
        given: Json = dict(parse_qsl(scope["query_string"].decode())) | json.loads(message.get("body") or b"{}")
        self.asked.append(f"{scope['path']}?{scope['query_string'].decode()}")
        if scope["path"] in _DRIPS:
            await _drip(send, receive, *_DRIPS[scope["path"]])
            return
        body, headers = _answer(scope["path"], given)
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        pairs = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        await send({"type": "http.response.body", "body": data})


async def _drip(send: Any, receive: Any, media_type: str, first: bytes, more: bytes) -> None:
    """Send without an end, until whoever reads hangs up."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", media_type.encode())]})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    hung_up = asyncio.create_task(receive())
    while not hung_up.done():
        await asyncio.sleep(0.02)
        if more:
            await send({"type": "http.response.body", "body": more, "more_body": True})


def _answer(path: str, given: Json) -> tuple[Any, Headers]:
    size = int(given.get("limit") or given.get("$top") or 3)
    start = _start(path, given, size)
    end = min(start + size, len(THINGS))
    kind = {"/csv": "text/csv", "/lines": "application/x-ndjson"}.get(path, "application/json")
    headers: Headers = [("content-type", kind)]
    more = end < len(THINGS)
    if path == "/link" and more:
        headers.append(("link", f'</link?q={given.get("q", "")}&at={end}>; rel="next"'))
    shown = THINGS[start:end]
    link = {"@odata.nextLink": f"/odata?$top={size}&$skiptoken={end}"} if more else {}
    bodies: dict[str, Any] = {
        "/page": {"results": shown, "page": start // size + 1, "pages": 3},
        "/cursor": {"data": shown, "next_cursor": str(end) if more else None},
        "/stripe": {"object": "list", "data": shown, "has_more": more},
        "/odata": {"value": shown, **link},
        "/all": THINGS,
        "/wrapped": {"data": {"things": THINGS, "total": 7}},
        "/csv": CSV,
        "/lines": "".join(f"{json.dumps(thing)}\n" for thing in THINGS),
    }
    return bodies.get(path, shown), headers


def _start(path: str, given: Json, size: int) -> int:
    """Where the page that is asked for begins."""
    if path == "/page":
        return (int(given.get("page") or 1) - 1) * size
    if "starting_after" in given:
        return IDS.index(given["starting_after"]) + 1
    return int(next((given[name] for name in ("cursor", "$skiptoken", "at", "offset") if name in given), 0))
