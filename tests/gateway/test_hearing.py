"""What one gateway tells is followed by another, in the house that it is about."""

import asyncio
import base64
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from practicum.contracts.access import Role
from practicum.contracts.episodes import Driver, EpisodeRequest, TurnRequest
from practicum.contracts.issuers import Issuer
from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.webhooks import WebhookRequest
from practicum.errors import EpisodeError, GatewayUnavailableError
from practicum_gateway.access.principals import Principal
from practicum_gateway.app import build, running
from practicum_gateway.estate import Estate
from practicum_gateway.settings import Settings
from practicum_gateway.store.notices import Notice
from tests.gateway.conftest import served, until
from tests.gateway.identity_provider import IdentityProvider, create_provider

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
ADMIN = Principal(name="root", role=Role.ADMIN, key_id="k0")


@pytest.fixture
async def both(settings: Settings, tmp_path: Path) -> AsyncIterator[tuple[Estate, Estate]]:
    """Two gateways in one process, that share a database."""
    (settings.data_dir / "master.key").write_text(base64.b64encode(bytes(32)).decode())
    for name in ("admin", "worker", "approver"):
        (settings.data_dir / f"{name}.key").write_text(f"{name}-key-of-both-gateways")
    elsewhere = settings.model_copy(update={"data_dir": Path(shutil.copytree(settings.data_dir, tmp_path / "other"))})
    async with running(build(settings)) as one, running(build(elsewhere)) as other:
        yield one, other


async def test_issuers_and_webhooks_are_read_anew(both: tuple[Estate, Estate]) -> None:
    one, other = (estate.main for estate in both)
    async with served(create_provider(provider := IdentityProvider())) as url:
        provider.url = url
        first, second = (Issuer.model_validate(provider.spec(name, audience=name)) for name in ("okta", "entra"))
        await one.issuers.put(first)
        await until(lambda: other.issuers.list() == (first,))
        (known,) = other.issuers._trusted.values()  # pyright: ignore[reportPrivateUsage]  # with the keys it fetched
        await one.issuers.put(second)
        await until(lambda: len(other.issuers.list()) == 2)
        assert other.issuers._trusted["okta"] is known  # pyright: ignore[reportPrivateUsage]
        await other.issuers.remove("okta")
        await until(lambda: one.issuers.list() == (second,))
        hook = WebhookRequest(name="ops", url=url, private_network=True)
        await other.webhooks.add(hook, answers_at=url)
        await until(lambda: one.webhooks.find("ops") == other.webhooks.find("ops"))
        await one.webhooks.remove("ops")
        await until(lambda: other.webhooks.find("ops") is None)
    assert not one.replica.lost.is_set()


async def test_an_episode_that_is_cancelled_elsewhere_has_its_model_call_broken_off(
    both: tuple[Estate, Estate],
) -> None:
    one, other = (estate.main for estate in both)
    asked = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never_answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = ModelSpec(alias="m", provider=Provider.LITELLM, target="openai/slow", base_url=url, api_key="none")
        await one.registry.put(model, by="root")
        episode, _ = await one.episodes.start(ADMIN, EpisodeRequest(task="t", model="m", driver=Driver.CLIENT))
        turn = asyncio.create_task(other.episodes.take_turn(ADMIN, episode.id, TurnRequest(step=0)))
        await asyncio.wait_for(asked.wait(), 20)
        await one.episodes.cancel(ADMIN, episode.id)
        with pytest.raises(EpisodeError, match="ended while its model was being asked"):
            await asyncio.wait_for(turn, 30)

        # one of a gateway that ends is broken off, too, and goes on at another
        asked.clear()
        going, _ = await one.episodes.start(ADMIN, EpisodeRequest(task="t", model="m", driver=Driver.CLIENT))
        turn = asyncio.create_task(other.episodes.take_turn(ADMIN, going.id, TurnRequest(step=0)))
        await asyncio.wait_for(asked.wait(), 20)
        await other.episodes.close_turns()
        with pytest.raises(GatewayUnavailableError):
            await asyncio.wait_for(turn, 30)


async def test_a_tenant_that_is_worked_on_while_it_is_removed_troubles_nobody_else(both: tuple[Estate, Estate]) -> None:
    one, other = both
    for estate, further, tenant in ((one, other, "sales"), (other, one, "ops")):
        await estate.create(tenant, "sam")
        further.heed(Notice("another", "main", "tenants", tenant))
    await until(lambda: one.house("ops") is not None and other.house("sales") is not None)
    async with one.main.store.write() as session:  # as far as another has come, before its last word of it is heard
        await session.execute(text("DROP SCHEMA practicum_tenant_sales CASCADE"))
    for topic in ("webhooks", "issuers", "connectors", "rules"):
        other.heed(Notice("another", "sales", topic, "shop"))
    other.heed(Notice("another", "main", "tenants", "sales"))
    await until(lambda: other.house("sales") is None)
    await one.remove("ops")
    await until(lambda: other.house("ops") is None)
    assert not other.main.replica.lost.is_set()
    assert not one.main.replica.lost.is_set()


async def test_who_cannot_follow_serves_no_more(both: tuple[Estate, Estate]) -> None:
    one, other = both
    other.heed(Notice("a newer release", "main", "what is not known here", ""))
    other.heed(Notice("another", "nobody", "rules", ""))
    await asyncio.sleep(0)
    assert not other.main.replica.lost.is_set()
    async with one.main.store.write() as session:
        await session.execute(text("ALTER TABLE issuers RENAME TO gone"))
    other.heed(Notice("another", "main", "issuers", ""))
    await asyncio.wait_for(other.main.replica.lost.wait(), 30)
