"""Undoing a call: offered where the document says how, made once like any other call, and recorded as what it is."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from fastapi.responses import JSONResponse

from practicum.contracts.access import Outcome, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, RefreshRequest
from practicum.contracts.tools import CallStatus
from practicum.errors import ConflictError
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import scope_of
from practicum_gateway.invocation.ledger import Ledger
from practicum_gateway.store.ledger_tables import InvocationRow
from tests.gateway.conftest import KeyOf, Serve
from tests.gateway.invocation.conftest import ADMIN, BOT, FREE, call
from tests.gateway.shop import LostAnswer


class Desk:
    """Tickets that are opened and closed, and flags that are set and taken away."""

    def __init__(self) -> None:
        self.tickets: dict[int, str] = {}
        self.closed: list[int] = []
        self.flags: set[str] = set()
        self.lose = False
        self.refuse = False

    def app(self) -> FastAPI:
        app = FastAPI(title="Desk", version="1")

        @app.post("/tickets", operation_id="open", status_code=201)
        async def open_(title: str) -> Any:
            number = len(self.tickets) + 1
            self.tickets[number] = title
            return {"id": number, "title": title}

        @app.delete("/tickets/{id}", operation_id="close", status_code=204)
        async def close(id: int) -> None:  # noqa: A002
            if self.refuse:
                raise HTTPException(409, "not now")
            self.closed.append(id)

        @app.put("/flags/{name}", operation_id="set_flag")
        async def set_flag(name: str) -> Any:
            self.flags.add(name)
            return LostAnswer() if self.lose else JSONResponse({})

        @app.delete("/flags/{name}", operation_id="drop_flag", status_code=204)
        async def drop_flag(name: str) -> None:
            self.flags.discard(name)

        _ = (open_, close, set_flag, drop_flag)
        return app

    def document(self) -> JsonObject:
        document: Any = self.app().openapi()
        document["paths"]["/flags/{name}"]["put"]["x-practicum-compensation"] = {
            "operation": "drop_flag",
            "arguments": {"name": "$request.path.name"},
        }
        return document


@pytest.fixture
async def desk(house: House, serve: Serve) -> AsyncIterator[Desk]:
    desk = Desk()
    async with serve(desk.app()) as url:
        spec = ConnectorSpec(name="desk", document=desk.document(), base_url=url, private_network=True)
        await house.catalogue.register(spec)
        await house.rulebook.replace(FREE, ADMIN)
        yield desk
        await house.catalogue.close()


async def test_a_call_is_undone_once_whoever_undoes_it(
    gateway: httpx.AsyncClient, house: House, desk: Desk, key_of: KeyOf
) -> None:
    made = {"arguments": {"title": "x"}, "idempotency_key": "t1"}
    opened = (await gateway.post("/v1/tools/desk_open/call", json=made)).json()
    assert opened["compensation"] == {"tool": "desk_close", "arguments": {"id": 1}}
    record = (await gateway.get("/v1/calls", params={"key": "t1"})).json()
    assert (record["undo"], record["undone"]) == (opened["compensation"], None)
    # Nothing is undone by itself, nor by others, to whom the key means nothing.
    assert desk.closed == []
    issued = (await gateway.post("/v1/keys", json={"principal": "eve", "role": "developer"})).json()
    eve = {"Authorization": f"Bearer {issued['key']}"}
    assert (await gateway.post("/v1/calls/undo", json={"key": "t1"}, headers=eve)).status_code == 404
    assert (await gateway.get("/v1/calls", params={"key": "t1"}, headers=eve)).status_code == 404
    assert (await gateway.post("/v1/calls/undo", json={"key": "t1"}, headers=key_of("worker"))).status_code == 403
    # Twice at the same moment, and once more.
    answers = await asyncio.gather(*(gateway.post("/v1/calls/undo", json={"key": "t1"}) for _ in range(2)))
    answers.append(await gateway.post("/v1/calls/undo", json={"key": "t1"}))
    assert [answer.json()["status"] for answer in answers] == ["ok"] * 3
    assert desk.closed == [1]
    other = await gateway.post("/v1/calls/undo", json={"key": "t1", "idempotency_key": "mine"})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    record = (await gateway.get("/v1/calls", params={"key": "t1"})).json()
    assert (record["undo"], record["undone"]) == (None, "ok")
    undoing = (await gateway.get("/v1/calls", params={"key": f"undo/{record['id']}/1"})).json()
    assert (undoing["tool"], undoing["compensates"]) == ("desk_close", record["id"])
    entries = await gateway.get("/v1/audit", params={"action": "tool.called", "limit": 1})
    assert entries.json()[0]["details"]["compensates"] == record["id"]
    assert (await gateway.get("/v1/calls", params={"key": "none"})).status_code == 404
    del house


async def test_an_offer_that_was_taken_up_as_an_ordinary_call_is_not_made_again(house: House, desk: Desk) -> None:
    for key in ("t1", "t2"):
        await house.pipeline.invoke(call("desk_open", {"title": "x"}, key=key))
    desk.refuse = True  # which undoes nothing
    await house.pipeline.invoke(call("desk_close", {"id": 1}, key="c1"))
    desk.refuse = False
    assert (await house.compensations.of(scope_of(BOT, None), "t1")).undo is not None
    await house.pipeline.invoke(call("desk_close", {"id": 1}, key="c2"))
    with pytest.raises(ConflictError, match="made already by itself"):
        await house.compensations.intent(scope_of(BOT, None), "t1", BOT)
    await house.pipeline.invoke(await house.compensations.intent(scope_of(BOT, None), "t2", BOT))
    assert desk.closed == [1, 2]


async def test_rules_and_people_decide_about_undoing_too(house: House, desk: Desk) -> None:
    await house.pipeline.invoke(call("desk_open", {"title": "x"}, key="t1"))
    scope = scope_of(BOT, None)
    ask = RuleSet(rules=(Rule(id="careful", tools=("desk.close",), outcome=Outcome.ASK), *FREE.rules))
    await house.rulebook.replace(ask, ADMIN)
    waiting = await house.pipeline.invoke(await house.compensations.intent(scope, "t1", BOT))
    assert (waiting.status, desk.closed) == (CallStatus.WAITING, [])
    never = RuleSet(rules=(Rule(id="never", tools=("desk.close",), outcome=Outcome.DENY), *FREE.rules))
    await house.rulebook.replace(never, ADMIN)
    denied = await house.pipeline.invoke(await house.compensations.intent(scope, "t1", BOT))
    assert (denied.status, desk.closed) == (CallStatus.DENIED, [])


async def test_who_was_told_no_asks_anew_under_a_key_of_its_own(
    gateway: httpx.AsyncClient, house: House, desk: Desk, key_of: KeyOf
) -> None:
    await gateway.post("/v1/tools/desk_open/call", json={"arguments": {"title": "x"}, "idempotency_key": "t1"})
    ask = RuleSet(rules=(Rule(id="careful", tools=("desk.close",), outcome=Outcome.ASK), *FREE.rules))
    await house.rulebook.replace(ask, ADMIN)
    waiting = (await gateway.post("/v1/calls/undo", json={"key": "t1"})).json()
    place, approver = f"/v1/approvals/{waiting['approval']}", key_of("approver")
    asked = (await gateway.get(place, headers=approver)).json()
    no = {"approve": False, "arguments_hash": asked["arguments_hash"]}
    assert (await gateway.post(place, json=no, headers=approver)).status_code == 200
    denied = (await gateway.post("/v1/calls/undo", json={"key": "t1"})).json()
    assert (denied["status"], "key of its own" in denied["content"]) == ("denied", True)
    again = (await gateway.post("/v1/calls/undo", json={"key": "t1", "idempotency_key": "again"})).json()
    assert (again["status"], desk.closed) == ("waiting", [])


async def test_a_try_by_which_nothing_was_done_can_be_made_again(house: House, desk: Desk) -> None:
    await house.pipeline.invoke(call("desk_open", {"title": "x"}, key="t1"))
    scope = scope_of(BOT, None)
    desk.refuse = True
    first = await house.compensations.intent(scope, "t1", BOT)
    assert (await house.pipeline.invoke(first)).status is CallStatus.ERROR
    desk.refuse = False
    second = await house.compensations.intent(scope, "t1", BOT)
    assert second.key != first.key
    assert (await house.pipeline.invoke(second)).status is CallStatus.OK
    assert desk.closed == [1]


async def test_a_call_in_doubt_is_offered_only_what_needs_no_answer(house: House, desk: Desk) -> None:
    desk.lose = True
    lost = await house.pipeline.invoke(call("desk_set_flag", {"name": "a"}, key="f1"))
    assert lost.status is CallStatus.IN_DOUBT
    assert lost.compensation is not None
    assert (lost.compensation.tool, lost.compensation.arguments) == ("desk_drop_flag", {"name": "a"})
    # The gateway stops before it knows what became of another one.
    for name, key in (("b", "f2"), ("[redacted]", "f3")):
        async with house.store.write() as session:
            found = await session.get_one(InvocationRow, (await house.compensations.of(scope_of(BOT, None), "f1")).id)
            values = {column.key: getattr(found, column.key) for column in InvocationRow.__table__.columns}
            values |= {"id": f"inv_{key}", "key": key, "arguments": {"name": name}, "observation": None}
            session.add(InvocationRow(**values | {"state": "sent", "boot": "earlier"}))
    await Ledger(house.store).recover()
    record = await house.compensations.of(scope_of(BOT, None), "f2")
    assert record.undo is not None
    assert record.undo.arguments == {"name": "b"}
    assert (await house.compensations.of(scope_of(BOT, None), "f3")).undo is None


async def test_an_offer_is_checked_against_the_tools_of_today(house: House, desk: Desk) -> None:
    await house.pipeline.invoke(call("desk_open", {"title": "x"}, key="t1"))
    newer: Any = desk.document()
    newer["paths"]["/tickets/{id}"]["delete"]["parameters"].append(
        {"name": "reason", "in": "query", "required": True, "schema": {"type": "string"}}
    )
    await house.catalogue.refresh("desk", RefreshRequest(document=newer, accept=True))
    record = await house.compensations.of(scope_of(BOT, None), "t1")
    assert (record.undo, "takes other arguments" in (record.note or "")) == (None, True)
    await house.catalogue.remove("desk")
    record = await house.compensations.of(scope_of(BOT, None), "t1")
    assert (record.undo, "no longer there" in (record.note or "")) == (None, True)
    # Of the same name and with the same tools, and perhaps another system.
    spec = ConnectorSpec(name="desk", document=desk.document(), base_url="http://127.0.0.1:9", private_network=True)
    await house.catalogue.register(spec)
    record = await house.compensations.of(scope_of(BOT, None), "t1")
    assert (record.undo, "another system" in (record.note or "")) == (None, True)


async def test_the_key_of_another_call_undoes_nothing(house: House, desk: Desk) -> None:
    await house.pipeline.invoke(call("desk_drop_flag", {"name": "x"}, key="by-hand"))
    for key in ("f1", "f2"):
        await house.pipeline.invoke(call("desk_set_flag", {"name": "x"}, key=key))
    undoing = await house.compensations.intent(scope_of(BOT, None), "f1", BOT, "by-hand")
    with pytest.raises(ConflictError, match="to undo another"):
        await house.pipeline.invoke(undoing)
    assert desk.flags == {"x"}
    assert (await house.compensations.of(scope_of(BOT, None), "f1")).undone is None
