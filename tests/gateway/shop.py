"""A small system to call: it counts what was done to it, and misbehaves on request."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import APIKeyHeader
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

SECRET = "shop-secret-canary-91f7"
"""The shop's key: a fake one, searched for in every sink."""


class Refund(BaseModel):
    """A wish for money back."""

    order: int
    amount: float


class Note(BaseModel):
    """Words to remember."""

    text: str


class LostAnswer(Response):
    """Breaks the connection off in the middle of the answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _ = scope, receive
        headers = [(b"content-length", b"1000"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})


@dataclass
class Shop:
    """What the system knows, and how it behaves.

    `moods` says by operation how the next calls go wrong, one entry a call: `lose` breaks the connection after the
    deed, `fail` answers 500 after the deed, `refuse` answers 409 before it, `busy` 503 before it; `hold` waits for
    `released` before the deed. An empty list behaves.
    """

    refunds: list[Refund] = field(default_factory=list[Refund])
    notes: list[Note] = field(default_factory=list[Note])
    reads: int = 0
    moods: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    seen: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    remembered: dict[str, Any] = field(default_factory=dict[str, Any])
    held: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def behave(self, operation: str, deed: Callable[[], Any]) -> Response:
        """Do the deed, or something like it."""
        moods = self.moods.get(operation, [])
        mood = moods.pop(0) if moods else ""
        if mood in {"refuse", "busy"}:
            status = 409 if mood == "refuse" else 503
            return JSONResponse({"detail": f"the shop is in the mood to {mood}"}, status_code=status)
        if mood == "hold":
            self.held.set()
            await self.released.wait()
        done = deed()
        if mood == "lose":
            return LostAnswer()
        if mood == "fail":
            return JSONResponse({"detail": "something broke"}, status_code=500)
        return JSONResponse(done, status_code=200 if operation.startswith("get") else 201)

    async def get_order(self, order: int) -> Response:
        """Look an order up."""

        def deed() -> dict[str, Any]:
            self.reads += 1
            return {"id": order, "state": "paid", "total": 50.0}

        if order > 1000:
            raise HTTPException(404, "no such order")
        return await self.behave("get_order", deed)

    async def create_refund(self, refund: Refund, idempotency_key: Annotated[str | None, Header()] = None) -> Response:
        """Give money back for an order."""

        def deed() -> dict[str, Any]:
            if idempotency_key is not None and idempotency_key in self.remembered:
                return self.remembered[idempotency_key]
            self.refunds.append(refund)
            done = {"refund": len(self.refunds), "amount": refund.amount}
            self.remembered[idempotency_key or ""] = done
            return done

        return await self.behave("create_refund", deed)

    async def add_note(self, note: Note) -> Response:
        """Write a note down."""

        def deed() -> dict[str, Any]:
            self.notes.append(note)
            return {"note": len(self.notes)}

        return await self.behave("add_note", deed)

    async def mirror(self, request: Request) -> dict[str, Any]:
        """Say what was sent, credentials included."""
        return {"headers": dict(request.headers)}

    async def note_headers(self, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        """Remember the headers of every request."""
        self.seen.append(dict(request.headers))
        return await call_next(request)


_HEADER = APIKeyHeader(name="X-Api-Key", auto_error=False)


def authenticate(key: Annotated[str | None, Depends(_HEADER)]) -> None:
    """Let in who knows the key; an unkind system repeats a wrong one."""
    if key != SECRET:
        raise HTTPException(401, f"wrong key {key}")


def create_shop(shop: Shop) -> FastAPI:
    """The system as an app."""
    app = FastAPI(title="Shop", version="1.0", dependencies=[Depends(authenticate)])
    app.middleware("http")(shop.note_headers)
    app.get("/orders/{order}", operation_id="get_order", response_model=None)(shop.get_order)
    app.post("/refunds", operation_id="create_refund", response_model=None, status_code=201)(shop.create_refund)
    app.post("/notes", operation_id="add_note", response_model=None, status_code=201)(shop.add_note)
    app.get("/mirror", operation_id="mirror")(shop.mirror)
    return app
