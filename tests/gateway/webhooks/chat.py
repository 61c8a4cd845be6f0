"""A chat that is told of approvals: a real receiver on loopback that signs and checks on its own, and misbehaves."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response


def signature(secret: str, message: str, at: str, body: bytes) -> str:
    """As the specification says it, and by none of the gateway's own code."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = message.encode() + b"." + at.encode() + b"." + body
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


@dataclass(frozen=True)
class Told:
    """One message as it came."""

    id: str
    kind: str
    data: dict[str, Any] | None
    status: int
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def is_signed_with(self, secret: str) -> bool:
        at = self.headers["webhook-timestamp"]
        fresh = abs(time.time() - int(at)) < 30
        return fresh and signature(secret, self.id, at, self.body) in self.headers["webhook-signature"].split(" ")


@dataclass
class Chat:
    """What came, and how the next messages are answered: a status each; `hold` waits for `released` first."""

    url: str = ""
    told: list[Told] = field(default_factory=list[Told])
    moods: list[int | str] = field(default_factory=list[int | str])
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: Request) -> Response:
        body = await request.body()
        mood = self.moods.pop(0) if self.moods else 204
        if mood == "hold":
            await self.released.wait()
        status = mood if isinstance(mood, int) else 204
        parsed = json.loads(body)
        headers = dict(request.headers)
        self.told.append(Told(headers["webhook-id"], parsed["type"], parsed["data"], status, headers, body))
        return Response(status_code=status, headers={"location": f"{self.url}/elsewhere"} if status == 307 else {})

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.told]

    def arrived(self, kind: str) -> list[dict[str, Any]]:
        return [each.data for each in self.told if each.kind == kind and each.status == 204 and each.data is not None]


def create_chat(chat: Chat) -> FastAPI:
    """The chat as an app."""
    app = FastAPI()
    app.post("/{path:path}")(chat.take)
    return app


def answer_of(asked: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A yes to what was asked."""
    said = {
        "approval": asked["approval"],
        "approve": True,
        "arguments_hash": asked["arguments_hash"],
        "answered_by": "Grace Hopper",
    }
    return said | changes


def signed(secret: str, body: bytes, message: str = "msg_1", seconds_ago: float = 0) -> dict[str, str]:
    """The headers of an answer."""
    at = str(int(time.time() - seconds_ago))
    return {"webhook-id": message, "webhook-timestamp": at, "webhook-signature": signature(secret, message, at, body)}
