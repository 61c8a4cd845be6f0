"""What is said stays in the record: a collector or a log is told of it only where an operator asked for that."""

import itertools
import json
import logging
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from practicum.contracts.base import JsonObject
from practicum.testing import RecordedRequest, Reply, ScriptedCall, ScriptedModelServer, call, fail, garbage, say
from practicum_gateway.app import app_of, build, running
from practicum_gateway.content import without_keys
from practicum_gateway.settings import Settings
from tests.gateway.conftest import served, spec_of
from tests.gateway.metrics.receiver import Receiver, attributes, told
from tests.gateway.shop import SECRET, Shop

PROVIDER_KEY = "sk-of-the-provider-canary"
OUTSIDE_KEY = "prk_anybodys-key-canary"
TEXT = re.compile(r"[a-z]+canary\d+z")


class Planter:
    """Makes a word of its own for each place in which somebody may say something."""

    def __init__(self) -> None:
        self.planted: list[str] = []
        self._number = itertools.count()

    def __call__(self, place: str) -> str:
        word = f"{place}canary{next(self._number)}z"
        self.planted.append(word)
        return f"Ada Lovelace <{word}@example.com>, born {word}"

    def word(self, place: str) -> str:
        """The same without a space, for a name."""
        self(place)
        return self.planted[-1]


class Model:
    """Answers by what the last message begins with, and always with words of its own."""

    def __init__(self, plant: Planter) -> None:
        self._plant = plant

    def __call__(self, request: RecordedRequest) -> Reply:
        last = request.messages[-1]
        said = str(last.get("content")) if isinstance(last, dict) else ""
        wish = said.split(":", 1)[0]
        if wish == "call":
            arguments: JsonObject = {"text": f"{self._plant('argument')} {OUTSIDE_KEY}"}
            return Reply(
                content=self._plant("answer"),
                reasoning=self._plant("reasoning"),
                tool_calls=(ScriptedCall("shop_add_note", arguments),),
            )
        if wish == "unknown":
            return call(self._plant.word("tool"), {"x": self._plant("argument")})
        if wish in {"500", "400", "429"}:
            return fail(int(wish), f"cannot answer '{said}' {self._plant('provider')}, key {PROVIDER_KEY}")
        if wish == "garbage":
            return garbage(f"<html>{self._plant('page')}</html>".encode())
        return say(f"{self._plant('answer')} {PROVIDER_KEY} {OUTSIDE_KEY}")


@asynccontextmanager
async def told_of(folder: Path, shop: Shop, plant: Planter, content: str = "") -> AsyncGenerator[tuple[Any, Receiver]]:
    """A gateway that tells a collector what it does; once the block ends, all of it is there."""
    receiver = Receiver()
    async with served(receiver.app()) as endpoint:
        given = {"PRACTICUM_OTLP_ENDPOINT": endpoint, "PRACTICUM_TELEMETRY_CONTENT": content}
        settings = Settings.read(given, data_dir=folder)
        with ScriptedModelServer(Model(plant)) as model:
            async with running(build(settings)) as estate, served(app_of(estate)) as url:
                key = (folder / "admin.key").read_text().strip()
                headers = {"Authorization": f"Bearer {key}"}
                async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30) as client:
                    await furnish(client, shop, model)
                    yield client, receiver


async def furnish(client: httpx.AsyncClient, shop: Shop, model: ScriptedModelServer, key: str | None = None) -> None:
    headers = None if key is None else {"Authorization": f"Bearer {key}"}
    wire = spec_of(shop).model_dump(mode="json", exclude_none=True)
    alias = {"alias": "m", "provider": "litellm", "target": "mistral/x", "base_url": model.base_url}
    rules = {
        "rules": [{"id": "ask", "tools": ["shop.create_refund"], "outcome": "ask"}, {"id": "all", "outcome": "allow"}]
    }
    assert (await client.post("/v1/connectors", json=wire, headers=headers)).status_code == 201
    spec = {**alias, "target": "openai/x", "api_key": PROVIDER_KEY}
    assert (await client.post("/v1/models", json=spec, headers=headers)).status_code == 201
    assert (await client.put("/v1/rules", json=rules, headers=headers)).is_success


async def chat(client: httpx.AsyncClient, words: str, **given: Any) -> httpx.Response:
    messages = [{"role": "system", "content": given.pop("system", "Be brief.")}, {"role": "user", "content": words}]
    return await client.post("/v1/chat/completions", json={"model": "m", "messages": messages, **given})


async def episode(client: httpx.AsyncClient, plant: Planter, wish: str) -> None:
    """One turn of an agent, and the call that it wishes, if its model answers."""
    wanted = {"task": f"{wish}: {plant('task')}", "model": "m", "tools": ["shop.*"], "driver": "client"}
    begun = (await client.post("/v1/episodes", json=wanted)).json()["id"]
    turn = await client.post(f"/v1/episodes/{begun}/turns", json={"step": 0})
    if turn.is_success and turn.json()["calls"]:
        made = await client.post(f"/v1/episodes/{begun}/calls", json={"step": 0, "call": 0})
        assert made.status_code == 200, made.text
    await client.post(f"/v1/episodes/{begun}/cancel", json={"reason": plant("reason")})


async def misbehave(client: httpx.AsyncClient, shop: Shop, plant: Planter) -> None:
    """Say something in every place where a caller, a model, a provider or a system can."""
    for wish in ("hello", "500", "400", "429", "garbage"):
        await chat(client, f"{wish}: {plant('prompt')}", system=plant("system"), user=plant.word("user"))
        await chat(client, f"{wish}: {plant('prompt')}", stream=True)
    for wish in ("call", "unknown", "500", "garbage"):
        shop.moods["add_note"] = ["fail"]
        await episode(client, plant, wish)
    for tool, arguments in (
        ("shop_add_note", {"text": plant("argument")}),
        ("shop_add_note", {plant.word("name"): plant("argument")}),
        ("shop_create_refund", {"order": 7, "amount": 1}),
        (plant.word("tool"), {"a": plant("argument")}),
    ):
        wanted = {"arguments": arguments, "idempotency_key": plant.word("key")}
        await client.post(f"/v1/tools/{tool}/call", json=wanted)
    asked = (await client.get("/v1/approvals")).json()[0]
    await client.post(f"/v1/approvals/{asked['id']}", json={"approve": False, "reason": plant("reason")})
    await client.get(f"/v1/{plant.word('path')}", params={plant.word("query"): plant("query")})
    await client.get("/v1/tools", headers={"User-Agent": plant("agent"), "Practicum-Tenant": plant.word("tenant")})
    await client.get("/v1/tools", headers={"Authorization": f"Bearer prk_{plant.word('forged')}"})
    await client.post(f"/v1/episodes/{plant.word('episode')}/turns", json={"step": 0})
    await client.request(plant.word("method").upper(), "/v1/tools")
    await client.post("/v1/rules/check", content=f'{{"{plant("body")}')
    await client.post("/v1/chat/completions", json={"model": plant.word("alias"), "messages": plant("messages")})
    method = {"jsonrpc": "2.0", "id": 1, "method": plant.word("method"), "params": {"x": plant("params")}}
    accept = {"Accept": "application/json, text/event-stream"}
    await client.post("/mcp", json=method, headers=accept)
    tool = {"name": "shop_add_note", "arguments": {"text": plant("argument")}}
    await client.post("/mcp", json={**method, "method": "tools/call", "params": tool}, headers=accept)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO):
        yield caplog


async def test_nothing_that_anybody_says_is_told(tmp_path: Path, shop: Shop, log: pytest.LogCaptureFixture) -> None:
    plant = Planter()
    async with told_of(tmp_path, shop, plant) as (client, receiver):
        await misbehave(client, shop, plant)
    assert len(plant.planted) > 50
    names = {span.name for _, span in receiver.spans()}
    assert {"chat m", "execute_tool shop_add_note", "execute_tool unknown", "GET"} <= names
    assert {"gen_ai.client.operation.time_to_first_chunk", "gen_ai.execute_tool.duration"} <= receiver.measured()
    failed = [line for line in receiver.lines() if "model_provider" in line.body.string_value]
    assert failed
    assert all(line.trace_id and line.span_id and line.severity_text == "WARNING" for line in failed)
    assert "failed with 500: ..." in log.text
    lines = "\n".join(record.getMessage() for record in log.records if record.name != "httpx")  # the test's own client
    for sink in (receiver.everything.lower(), lines.lower()):
        assert TEXT.findall(sink) == []
        assert [
            secret for secret in (SECRET, PROVIDER_KEY, OUTSIDE_KEY, "prk_", "ada lovelace") if secret in sink
        ] == []


async def test_what_is_said_in_one_tenant_is_told_where_that_was_asked_for(tmp_path: Path, shop: Shop) -> None:
    plant = Planter()
    async with told_of(tmp_path, shop, plant, "sales") as (client, receiver):
        await chat(client, f"hello: {plant('main')}")
        sales = (await client.post("/v1/tenants", json={"name": "sales"})).json()["key"]["key"]
        model = str((await client.get("/v1/models/m")).json()["base_url"])
        client.headers["Authorization"] = f"Bearer {sales}"
        await furnish(client, shop, _Served(model))
        await chat(client, f"hello: {plant('prompt')} {PROVIDER_KEY}")
        await chat(client, f"500: {plant('broken')}")
        await episode(client, plant, "call")
        wish = {"arguments": {"text": f"{SECRET} {plant('note')}"}, "idempotency_key": "k"}
        assert (await client.post("/v1/tools/shop_add_note/call", json=wish)).is_success
    everything = receiver.everything
    assert "maincanary" not in everything
    assert [secret for secret in (SECRET, PROVIDER_KEY, OUTSIDE_KEY, "prk_") if secret in everything] == []
    chats = [span for _, span in receiver.spans() if span.name == "chat m" and told(span, "gen_ai.input.messages")]
    asked, broken, wished = chats
    prompt = told(asked, "gen_ai.input.messages")
    assert [(each["role"], [part["type"] for part in each["parts"]]) for each in prompt] == [
        ("system", ["text"]),
        ("user", ["text"]),
    ]
    assert "promptcanary" in prompt[1]["parts"][0]["content"]
    (answer,) = told(asked, "gen_ai.output.messages")
    assert (answer["role"], answer["finish_reason"]) == ("assistant", "stop")
    assert re.fullmatch(r"Ada .*answercanary\S+ \[\w+\] \[key\]", answer["parts"][0]["content"])
    assert "brokencanary" in attributes(broken)["gen_ai.input.messages"]
    assert told(broken, "gen_ai.output.messages") is None
    (wish,) = told(wished, "gen_ai.output.messages")
    assert [part["type"] for part in wish["parts"]] == ["reasoning", "text", "tool_call"]
    assert wish["finish_reason"] == "tool_call"
    made, noted = [span for _, span in receiver.spans() if span.name == "execute_tool shop_add_note"]
    assert "argumentcanary" in told(made, "gen_ai.tool.call.arguments")["text"]
    assert "notecanary" in told(noted, "gen_ai.tool.call.arguments")["text"]
    assert told(made, "gen_ai.tool.call.result") == {"note": 1}


class _Served(ScriptedModelServer):
    """A model that is served already."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    @property
    def base_url(self) -> str:
        return self._url


async def test_long_content_is_cut_and_stays_json(tmp_path: Path, shop: Shop) -> None:
    plant = Planter()
    async with told_of(tmp_path, shop, plant, "*") as (client, receiver):
        turns = [{"role": "user", "content": f"{number} {'x' * 9_000}"} for number in range(20)]
        body = {"model": "m", "messages": [*turns, {"role": "user", "content": "hello: you"}]}
        assert (await client.post("/v1/chat/completions", json=body)).is_success
        many = {f"a{number}": "y" * 9_000 for number in range(20)}
        await client.post("/v1/tools/shop_add_note/call", json={"arguments": {"text": json.dumps(many)}})
    (span,) = [span for _, span in receiver.spans() if span.name == "chat m"]
    messages = told(span, "gen_ai.input.messages")
    kept = [message["parts"][0]["content"] for message in messages]
    assert kept[-1] == "hello: you"
    assert kept[-2].startswith("19 x")
    assert kept[-2].endswith(" ... (9003 characters)")
    left_out = next(each for each in span.attributes if each.key == "practicum.content.messages_left_out")
    assert left_out.value.int_value == 21 - len(messages) > 10
    (made,) = [span for _, span in receiver.spans() if span.name == "execute_tool shop_add_note"]
    for each in (*span.attributes, *made.attributes):
        assert len(each.value.string_value) < 70_000
    assert told(made, "gen_ai.tool.call.arguments")["text"].endswith("characters)")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Use sk-abcdef123456 or prk_0123456789", "Use [key] or [key]"),
        ("Authorization: Bearer eyJhbGciOi.J9.x", "Authorization: [key]"),
        ("the key hunter2hunter2 opens it", "the key [key] opens it"),
        ("an EMPTY key is none, a monkey is none", "an EMPTY key is none, a monkey is none"),
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str, kept: str) -> None:
    assert without_keys(text, "hunter2hunter2", "EMPTY", None) == kept
