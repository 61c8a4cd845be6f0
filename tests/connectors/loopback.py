"""A system on loopback that remembers what it was sent and answers as it is told."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    raw_path: str
    query: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What the system answers."""

    status: int = 200
    body: bytes | Any = b""
    media_type: str = "application/json"
    headers: Headers = ()
    delay: float = 0.0

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class System:
    """The ASGI application: scripted answers by path, in order, the last one for ever; else it echoes."""

    seen: list[Seen] = field(default_factory=list[Seen])
    answers: dict[str, list[Answer]] = field(default_factory=dict[str, list[Answer]])
    url: str = ""

    def answer(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    def reset(self) -> None:
        self.seen.clear()
        self.answers.clear()

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        seen = Seen(scope["method"], scope["raw_path"].decode(), scope["query_string"].decode(), headers, body)
        self.seen.append(seen)
        script = self.answers.get(scope["path"], [_echo(seen)])
        chosen = script.pop(0) if len(script) > 1 else script[0]
        await asyncio.sleep(chosen.delay)
        pairs = [("content-type", chosen.media_type), *chosen.headers] if chosen.media_type else list(chosen.headers)
        encoded = [(name.encode(), value.encode()) for name, value in pairs]
        await send({"type": "http.response.start", "status": chosen.status, "headers": encoded})
        await send({"type": "http.response.body", "body": b"" if seen.method == "HEAD" else chosen.data})


def _echo(seen: Seen) -> Answer:
    return Answer(body={"method": seen.method, "path": seen.raw_path, "query": seen.query, "headers": seen.headers})
