"""Credentials that are references, through a gateway: read last, exchanged outside, stored and shown nowhere."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import SecretStr

from practicum.contracts.connectors import ApiKeyAuth, BasicAuth, BearerAuth, ConnectorSpec, SchemesAuth
from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.tools import CallStatus
from practicum.errors import RequestError, SecretSourceError
from practicum_gateway.app import build, running
from practicum_gateway.estate import Estate
from practicum_gateway.house import House
from practicum_gateway.settings import Settings
from tests.gateway.conftest import Serve
from tests.gateway.invocation.conftest import ADMIN, FREE, call
from tests.gateway.secrets.vault_server import ROOT, VaultServer

CANARIES = ("bearer-canary-one", "bearer-canary-two", "mounted-canary", "basic-canary")


class Guarded:
    """A system that wants to see a token, says which one it saw, and counts."""

    def __init__(self) -> None:
        self.token = CANARIES[0]
        self.seen: list[str] = []

    def app(self) -> FastAPI:
        app = FastAPI(title="Guarded", version="1")

        @app.post("/deeds", operation_id="do")
        async def do(request: Request) -> Any:
            shown = request.headers.get("authorization", "") + request.headers.get("x-key", "")
            self.seen.append(shown)
            status = 200 if self.token in shown else 401
            return JSONResponse({"saw": shown}, status_code=status)

        _ = do
        return app

    def document(self, *schemes: str) -> dict[str, Any]:
        described = {
            "token": {"type": "http", "scheme": "bearer"},
            "login": {"type": "http", "scheme": "basic"},
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        }
        document: Any = self.app().openapi()
        document["components"] = {"securitySchemes": {name: described[name] for name in schemes}}
        document["security"] = [{name: [] for name in schemes}]
        return document


@pytest.fixture
async def guarded(serve: Serve) -> AsyncIterator[tuple[Guarded, str]]:
    guarded = Guarded()
    async with serve(guarded.app()) as url:
        yield guarded, url


@pytest.fixture
def settings(bao: VaultServer, settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "mounted" / "main").mkdir(parents=True)
    bao.do("POST", "transit/keys/through", derived=True)
    return settings.model_copy(
        update={
            "vault_url": bao.url,
            "vault_token": SecretStr(ROOT),
            "vault_transit_key": "through",
            "secrets_dir": tmp_path / "mounted",
        }
    )


async def test_what_is_exchanged_outside_is_taken_up_after_one_refusal_and_leaves_no_trace(
    bao: VaultServer, house: House, guarded: tuple[Guarded, str], settings: Settings
) -> None:
    system, url = guarded
    bao.put("practicum/main/guarded", token=CANARIES[0])
    auth = BearerAuth(token="secret://vault/guarded#token")
    document = system.document("token")
    spec = ConnectorSpec(name="g", document=document, base_url=url, auth=auth, private_network=True)
    await house.catalogue.register(spec)
    await house.rulebook.replace(FREE, ADMIN)
    first = await house.pipeline.invoke(call("g_do", {}, key="1"))
    assert (first.status, first.content) == (CallStatus.OK, '{"saw":"Bearer [redacted]"}')
    system.token = CANARIES[1]
    bao.put("practicum/main/guarded", token=CANARIES[1])
    again = await house.pipeline.invoke(call("g_do", {}, key="2"))
    assert (again.status, again.content) == (CallStatus.OK, '{"saw":"Bearer [redacted]"}')
    assert system.seen == [f"Bearer {CANARIES[0]}", f"Bearer {CANARIES[0]}", f"Bearer {CANARIES[1]}"]
    system.token = "another"
    refused = await house.pipeline.invoke(call("g_do", {}, key="3"))
    assert refused.status is CallStatus.ERROR
    assert len(system.seen) <= 5
    assert not any(canary in everything(settings.data_dir) for canary in CANARIES)


async def test_a_mounted_key_and_a_login_of_a_vault_together(
    bao: VaultServer, house: House, guarded: tuple[Guarded, str], settings: Settings
) -> None:
    system, url = guarded
    system.token = CANARIES[2]
    assert settings.secrets_dir is not None
    (settings.secrets_dir / "main" / "key").write_text(f"{CANARIES[2]}\n")
    bao.put("practicum/main/login", password=CANARIES[3])
    auth = SchemesAuth(
        schemes={
            "key": ApiKeyAuth(value="secret://mounted/key"),
            "login": BasicAuth(username="ada", password="secret://vault/login#password"),
        }
    )
    document = system.document("key", "login")
    await house.catalogue.register(
        ConnectorSpec(name="g", document=document, base_url=url, auth=auth, private_network=True)
    )
    await house.rulebook.replace(FREE, ADMIN)
    seen = await house.pipeline.invoke(call("g_do", {}))
    assert seen.status is CallStatus.OK
    assert "canary" not in seen.content
    assert system.seen[0].endswith(CANARIES[2])
    assert not any(canary in everything(settings.data_dir) for canary in CANARIES)


async def test_what_cannot_be_read_is_refused_at_registration_by_its_reference(
    gateway: httpx.AsyncClient, guarded: tuple[Guarded, str]
) -> None:
    system, url = guarded
    spec: dict[str, Any] = {"name": "g", "document": system.document("token"), "base_url": url, "private_network": True}
    for text in ("secret://vault/gone", "secret://mounted/gone", "secret://vault/../globex/crm"):
        answer = await gateway.post("/v1/connectors", json={**spec, "auth": {"kind": "bearer", "token": text}})
        assert (answer.status_code, answer.json()["code"]) == (422, "request"), text
    refresh = {"kind": "authorization_code", "client_id": "c", "refresh_token": "secret://vault/x"}
    answer = await gateway.post("/v1/connectors", json={**spec, "auth": refresh})
    assert (answer.status_code, answer.json()["code"]) == (422, "document")


async def test_each_tenant_reads_what_is_its_own(
    bao: VaultServer, estate: Estate, guarded: tuple[Guarded, str]
) -> None:
    system, url = guarded
    bao.put("practicum/main/only", token=CANARIES[0])
    await estate.create("acme", "admin")
    acme = estate.house("acme")
    assert acme is not None
    auth = BearerAuth(token="secret://vault/only#token")
    spec = ConnectorSpec(name="g", document=system.document("token"), base_url=url, auth=auth, private_network=True)
    with pytest.raises(RequestError, match="There is no secret secret://vault/only#token"):
        await acme.catalogue.register(spec)
    await estate.main.catalogue.register(spec)


async def test_a_providers_key_is_read_when_the_model_is_asked(bao: VaultServer, house: House) -> None:
    bao.put("practicum/main/models", openai="model-canary")
    spec = ModelSpec(alias="m", provider=Provider.LITELLM, target="openai/x", api_key="secret://vault/models#openai")
    await house.registry.put(spec, by="ada")
    assert (await house.registry.get("m")).api_key == "model-canary"
    with pytest.raises(RequestError, match="secret://vault/models#gone"):
        await house.registry.put(spec.model_copy(update={"api_key": "secret://vault/models#gone"}), by="ada")


async def test_a_gateway_starts_without_its_vault_only_with_an_error_that_says_so(settings: Settings) -> None:
    lost = settings.model_copy(update={"vault_url": "http://127.0.0.1:9"})
    with pytest.raises(SecretSourceError, match="The vault cannot be asked"):
        async with running(build(lost)):
            pass


def everything(folder: Path) -> str:
    """What the gateway's folder holds, the database's rows among it."""
    with sqlite3.connect(folder / "gateway.sqlite3") as database:
        text = "\n".join(database.iterdump())
    files = [path for path in folder.iterdir() if path.is_file()]
    return text + "".join(path.read_bytes().decode(errors="replace") for path in files)
