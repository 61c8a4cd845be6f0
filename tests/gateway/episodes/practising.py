"""The example systems, live and as practice copies, registered with a gateway; both hear what they are told."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from examples.systems.cicd.app import create_app as create_cicd
from examples.systems.copies import Copies
from examples.systems.credentials import Credentials
from examples.systems.crm.app import create_app as create_crm
from examples.systems.erp.app import create_app as create_erp
from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    BearerAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    Mode,
    PracticeSpec,
)
from practicum.contracts.episodes import Episode
from practicum.contracts.tasks import States
from practicum.contracts.tools import CallStatus
from practicum.testing import call
from tests.gateway.conftest import served
from tests.gateway.episodes.world import World

LIVE = Credentials("live-crm-canary", "live-client", "live-erp-canary", "live-cicd-canary")
TOKEN = "practice-canary"
SECRETS = (LIVE.crm_api_key, LIVE.erp_client_secret, TOKEN)
ORDER = {"customer_id": "C-1", "sku": "K-1", "quantity": 1, "status": "delivered", "paid": 50.0, "refunded": 0.0}
START: States = {
    "crm": {"customers": {"C-1": {"name": "Ada", "email": "ada@home.example", "city": "Bern"}}},
    "erp": {"orders": {"7": {**ORDER}}},
}


@dataclass
class Overheard:
    """An app and everything that was sent to it."""

    app: ASGIApp
    heard: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"])
        self.heard.extend(value.decode() for _, value in scope["headers"])

        async def listen() -> Any:
            message = await receive()
            self.heard.append(message.get("body", b"").decode())
            return message

        await self.app(scope, listen, send)


@dataclass
class Ground:
    """What training works on.

    Attributes:
        world: the gateway.
        live: the live systems, by name.
        copies: the practice server.
        practice: the same, overheard.
        practice_url: where it listens.
    """

    world: World
    live: dict[str, Overheard]
    copies: Copies
    practice: Overheard
    practice_url: str

    async def train(self, **given: Any) -> Episode:
        asked = {"mode": "training", "tools": ["crm.*", "erp.*"], "start": START, **given}
        return await self.world.start("Refund 5.00 on order 7.", **asked)

    async def refused(self, **given: Any) -> httpx.Response:
        """The answer to an episode that does not come to be, and leaves nothing."""
        body = {"task": "x", "model": "scripted", "driver": "client", "mode": "training", "tools": ["crm.*", "erp.*"]}
        before = len((await self.world.admin.get("/v1/episodes")).json())
        answer = await self.world.admin.post("/v1/episodes", json={**body, "start": START, **given})
        assert answer.is_error
        assert len((await self.world.admin.get("/v1/episodes")).json()) == before
        return answer

    async def call(self, episode: Episode, tool: str, arguments: Any, step: int = 0) -> CallStatus:
        self.world.model.extend(call(tool, arguments))
        await self.world.turn(episode, step)
        return (await self.world.call(episode, step)).status

    async def refund(self, episode: Episode, amount: float, step: int = 0) -> CallStatus:
        return await self.call(episode, "erp_create_refund", {"order_id": 7, "amount": amount}, step)

    async def states(self, episode: Episode) -> States:
        answer = await self.world.admin.get(f"/v1/episodes/{episode.id}/states")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def begun(self) -> int:
        """How many copies there are."""
        return len(self.copies)

    def live_effects(self) -> int:
        return sum(len(app_of(heard).state.books.store.effects()) for heard in self.live.values())


def app_of(heard: Overheard) -> Any:
    return heard.app


@contextlib.asynccontextmanager
async def practising(world: World, *, most: int = 20) -> AsyncGenerator[Ground]:
    """The systems on loopback, registered with the world's gateway."""
    copies = Copies(Credentials.of_practice({"PRACTICE_TOKEN": TOKEN}), most=most)
    practice = Overheard(copies)
    live = {
        "crm": Overheard(create_crm(":memory:", credentials=LIVE, seed=START["crm"])),  # type: ignore[arg-type]
        "erp": Overheard(create_erp(":memory:", credentials=LIVE, seed=START["erp"])),  # type: ignore[arg-type]
        "cicd": Overheard(create_cicd(":memory:", credentials=LIVE)),
    }
    async with contextlib.AsyncExitStack() as stack:
        practice_url = await stack.enter_async_context(served(practice))
        urls = {name: await stack.enter_async_context(served(app)) for name, app in live.items()}
        for spec in specs(urls, practice_url):
            answer = await world.admin.post("/v1/connectors", json=spec.model_dump(mode="json"))
            assert answer.status_code == 201, answer.text
        yield Ground(world, live, copies, practice, practice_url)
    copies.close()


def specs(live: dict[str, str], practice_url: str) -> tuple[ConnectorSpec, ...]:
    auth, practice = _auth(LIVE), _auth(Credentials.of_practice({"PRACTICE_TOKEN": TOKEN}))
    return tuple(
        ConnectorSpec(
            name=name,
            source=f"{url}/openapi.json",
            base_url=url,
            auth=auth[name],
            private_network=True,
            practice=PracticeSpec(base_url=f"{practice_url}/{name}/", auth=practice[name], private_network=True),
        )
        for name, url in live.items()
    )


def _auth(known: Credentials) -> dict[str, Auth]:
    return {
        "crm": ApiKeyAuth(value=known.crm_api_key),
        "erp": ClientCredentialsAuth(client_id=known.erp_client_id, client_secret=known.erp_client_secret),
        "cicd": BearerAuth(token=known.cicd_token),
    }


def practice_spec(url: str, name: str) -> ConnectorSpec:
    """A connector whose system is a practice copy itself, for everybody."""
    return ConnectorSpec(
        name=name,
        source=f"{url}/openapi.json",
        base_url=url,
        auth=ApiKeyAuth(value=LIVE.crm_api_key),
        mode=Mode.PRACTICE,
        private_network=True,
    )
