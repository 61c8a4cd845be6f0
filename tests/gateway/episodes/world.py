"""A small world on loopback: a shop, a model that follows a script, the gateway, and whoever drives it by HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from practicum.contracts.episodes import CallReceipt, Episode, EpisodeEvent, TurnReceipt
from practicum.contracts.trajectory import Trajectory
from practicum.testing import ScriptedModelServer
from tests.serving import on_this_loop

SYSTEM = "You look after orders."


class Refund(BaseModel):
    amount: float


@dataclass
class Shop:
    """The system behind the gateway; it counts what was done to it."""

    refunds: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    delay: float = 0.0
    url: str = ""

    def app(self) -> FastAPI:
        app = FastAPI(title="Shop", version="1")

        @app.get("/orders/{id}", operation_id="get_order")
        async def get_order(id: int) -> dict[str, Any]:  # noqa: A002  # the document's own name
            if id == 404:
                raise HTTPException(404, "no such order")
            await asyncio.sleep(self.delay if id % 2 else 0.0)
            return {"id": id, "status": "delivered", "paid": 20.0}

        @app.post("/orders/{id}/refund", operation_id="refund_order")
        async def refund_order(id: int, refund: Refund) -> dict[str, Any]:  # noqa: A002  # the document's own name
            await asyncio.sleep(self.delay)
            self.refunds.append((id, refund.amount))
            return {"id": id, "refunded": refund.amount}

        _ = (get_order, refund_order)
        return app


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncGenerator[str]:
    """An app on a free loopback port, in this event loop."""
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5, lifespan="on")
    async with on_this_loop(config) as url:
        yield url


@dataclass
class World:
    """The gateway as its callers see it.

    Attributes:
        url: where the gateway listens.
        admin: a client with the admin's key; also the driver of its own episodes.
        approver: a client with the approver's key.
        model: what the model answers.
        shop: what was done to the shop.
    """

    url: str
    admin: httpx.AsyncClient
    approver: httpx.AsyncClient
    model: ScriptedModelServer
    shop: Shop

    async def start(self, task: str = "Refund order 8.", **given: Any) -> Episode:
        body = {"task": task, "model": "scripted", "tools": ["shop.*"], "driver": "client", **given}
        answer = await self.admin.post("/v1/episodes", json=body)
        assert answer.status_code == 201, answer.text
        return Episode.model_validate_json(answer.content)

    async def turn(self, episode: Episode, step: int, attempt: int = 1) -> TurnReceipt:
        answer = await self.post(f"/v1/episodes/{episode.id}/turns", {"step": step, "attempt": attempt})
        assert answer.status_code == 200, answer.text
        return TurnReceipt.model_validate_json(answer.content)

    async def call(self, episode: Episode, step: int, call: int = 0) -> CallReceipt:
        answer = await self.post(f"/v1/episodes/{episode.id}/calls", {"step": step, "call": call})
        assert answer.status_code == 200, answer.text
        return CallReceipt.model_validate_json(answer.content)

    async def close(self, episode: Episode, status: str = "completed", cause: str = "policy") -> Episode:
        answer = await self.post(f"/v1/episodes/{episode.id}/close", {"status": status, "cause": cause})
        assert answer.status_code == 200, answer.text
        return Episode.model_validate_json(answer.content)

    async def get(self, episode: Episode) -> Episode:
        return Episode.model_validate_json((await self.admin.get(f"/v1/episodes/{episode.id}")).content)

    async def trajectory(self, episode: Episode) -> Trajectory:
        answer = await self.admin.get(f"/v1/trajectories/{episode.id}")
        assert answer.status_code == 200, answer.text
        return Trajectory.model_validate_json(answer.content)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        return await self.admin.post(path, json=body)

    async def rules(self, *rules: Mapping[str, Any]) -> None:
        answer = await self.admin.put("/v1/rules", json={"rules": list(rules)})
        assert answer.status_code == 200, answer.text

    async def episode_key(self, episode: Episode) -> str:
        answer = await self.post(f"/v1/episodes/{episode.id}/keys")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["key"])

    @contextlib.asynccontextmanager
    async def client(self, key: str) -> AsyncGenerator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=30
        ) as client:
            yield client

    async def events(
        self, episode: Episode, *, client: httpx.AsyncClient | None = None, after: int = 0
    ) -> list[EpisodeEvent]:
        """The events up to the end of the stream."""
        path = f"/v1/episodes/{episode.id}/events"
        async with (client or self.admin).stream("GET", path, params={"after": after}) as answer:
            assert answer.status_code == 200
            return [
                EpisodeEvent.model_validate_json(line.removeprefix("data: "))
                async for line in answer.aiter_lines()
                if line.startswith("data: ")
            ]
