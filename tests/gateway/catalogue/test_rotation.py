"""A system whose token server replaces refresh tokens: each new one is stored before it is used."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from fastapi import FastAPI, Form, Header, HTTPException

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import AuthorizationCodeAuth, ConnectorSpec, RefreshRequest
from practicum.contracts.tools import Observation
from practicum.errors import NotFoundError
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.catalogue.registrations import Registrations
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault
from tests.gateway.conftest import Serve

KEY = bytes(32)
SIGNED_IN_AGAIN = AuthorizationCodeAuth(client_id="me", refresh_token="another-sign-in")


@dataclass
class Bank:
    """Takes each refresh token once."""

    used: list[str] = field(default_factory=list[str])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> FastAPI:
        app = FastAPI(title="Bank", version="1")

        @app.post("/token", include_in_schema=False)
        async def token(refresh_token: Annotated[str, Form()]) -> dict[str, object]:
            if refresh_token != f"refresh-{len(self.used)}":
                raise HTTPException(400, "invalid_grant")
            self.used.append(refresh_token)
            number = len(self.used)
            self.asked.set()
            await self.answers.wait()
            return {
                "access_token": f"access-{number}",
                "refresh_token": f"refresh-{number}",
                "token_type": "Bearer",
                "expires_in": 3600,
            }

        @app.get("/balance", operation_id="get_balance")
        async def get_balance(authorization: Annotated[str, Header()]) -> dict[str, str]:
            if authorization != f"Bearer access-{len(self.used)}":
                raise HTTPException(401)
            return {"balance": "7.00"}

        _ = (token, get_balance)
        return app


@pytest.fixture
async def bank(serve: Serve) -> AsyncIterator[tuple[Bank, ConnectorSpec]]:
    system = Bank()
    system.answers.set()
    async with serve(system.app()) as url:
        document = system.app().openapi()
        flows: JsonObject = {
            "authorizationCode": {"authorizationUrl": f"{url}/in", "tokenUrl": f"{url}/token", "scopes": {}}
        }
        document["components"]["securitySchemes"] = {"person": {"type": "oauth2", "flows": flows}}
        document["security"] = [{"person": []}]
        del document["paths"]["/balance"]["get"]["parameters"]
        auth = AuthorizationCodeAuth(client_id="me", refresh_token="refresh-0")
        yield (
            system,
            ConnectorSpec(name="bank", document=document, base_url=url, auth=auth, private_network=True),
        )


async def test_another_gateway_goes_on_with_the_token_that_was_given_last(
    store: Store, bank: tuple[Bank, ConnectorSpec]
) -> None:
    system, spec = bank
    for turn in range(2):
        catalogue = Catalogue(store, Vault(KEY))
        _, is_new = await catalogue.register(spec)
        assert is_new is (turn == 0)
        async with catalogue.reach("bank") as connector:
            sent = await connector.send(connector.prepare("bank_get_balance", {}))
            assert connector.observe(sent).http_status == 200
        await catalogue.close()
        assert system.used == [f"refresh-{number}" for number in range(turn + 1)]


@contextlib.asynccontextmanager
async def _opened(store: Store) -> AsyncGenerator[Catalogue]:
    catalogue = Catalogue(store, Vault(KEY))
    yield catalogue
    await catalogue.close()


async def _balance(catalogue: Catalogue) -> Observation:
    async with catalogue.reach("bank") as connector:
        return connector.observe(await connector.send(connector.prepare("bank_get_balance", {})))


async def test_a_token_that_is_being_replaced_while_the_document_is_refreshed_is_exchanged_once(
    store: Store, bank: tuple[Bank, ConnectorSpec]
) -> None:
    system, spec = bank
    async with _opened(store) as catalogue:
        await catalogue.register(spec)
        system.answers.clear()
        before = asyncio.create_task(_balance(catalogue))
        await asyncio.wait_for(system.asked.wait(), 30)
        await catalogue.refresh("bank", RefreshRequest(document=spec.document))
        after = asyncio.create_task(_balance(catalogue))
        await asyncio.sleep(0.2)
        system.answers.set()
        assert [(await call).http_status for call in (after, before)] == [200, 200]
    assert system.used == [f"refresh-{number}" for number in range(len(system.used))]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_two_gateways_exchange_a_token_one_after_the_other(
    store: Store, store_url: str, bank: tuple[Bank, ConnectorSpec]
) -> None:
    system, spec = bank
    other = Store(store_url)
    async with _opened(store) as one, _opened(other) as two:
        await one.register(spec)
        system.answers.clear()
        calls = [asyncio.create_task(_balance(each)) for each in (one, two)]
        await asyncio.wait_for(system.asked.wait(), 30)
        await asyncio.sleep(0.2)
        system.answers.set()
        assert [(await call).http_status for call in calls] == [200, 200]
    assert system.used == ["refresh-0", "refresh-1"]
    await other.close()


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_connector_that_is_gone_leaves_the_token_of_its_successor_alone(
    store: Store, bank: tuple[Bank, ConnectorSpec], *, at_once: bool
) -> None:
    system, spec = bank
    async with _opened(store) as catalogue:
        await catalogue.register(spec)
        system.answers.clear()
        before = asyncio.create_task(_balance(catalogue))
        await asyncio.wait_for(system.asked.wait(), 30)
        again = spec.model_copy(update={"auth": SIGNED_IN_AGAIN})
        if at_once:
            await catalogue.replace(again, accept=False)
        else:
            await catalogue.remove("bank")
            await catalogue.register(again)
        system.answers.set()
        assert (await before).http_status is None
        assert await Registrations(store, Vault(KEY)).refresh_token("bank", "") == SIGNED_IN_AGAIN.refresh_token


async def test_a_token_of_a_connector_that_is_gone_has_no_place(store: Store) -> None:
    with pytest.raises(NotFoundError):
        await Registrations(store, Vault(KEY)).rotate("gone", "", "refresh-1", "refresh-0")
