"""A gateway as it is served in earnest, and what a hostile client says to it byte by byte."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from urllib.parse import urlsplit

from practicum.contracts.problems import Problem
from practicum_gateway.app import app_of
from practicum_gateway.estate import Estate
from practicum_gateway.http.server import Connection, configured
from tests.serving import on_this_loop

SILENCE = 30.0
"""Seconds after which a client has been left hanging."""


@dataclass(frozen=True)
class Raw:
    """An answer as it came: its status, its head in lower case, its body.

    Status 0 is a connection that was closed without one.
    """

    status: int
    head: str = ""
    body: bytes = b""

    @property
    def problem(self) -> Problem:
        assert "content-type: application/problem+json" in self.head, (self.head, self.body)
        problem = Problem.model_validate_json(self.body)
        assert problem.status == self.status
        return problem


@contextlib.asynccontextmanager
async def in_earnest(estate: Estate, protocol: type[Connection] = Connection) -> AsyncGenerator[str]:
    """The gateway behind the server that `python -m practicum_gateway` runs, perhaps a hastier one; gives its URL."""
    config = configured(app_of(estate))
    config.http, config.timeout_graceful_shutdown = protocol, 1
    async with on_this_loop(config) as url:
        yield url


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    at = urlsplit(url)
    return await asyncio.open_connection(at.hostname, at.port, limit=2**24)


async def say(url: str, *pieces: bytes, quiet: float = SILENCE) -> list[Raw]:
    """What is answered to some bytes until the connection is closed.

    Args:
        url: of the gateway.
        pieces: what is sent.
        quiet: seconds after an answer in which another would come; where shorter than a silence, it need not be closed.
    """
    bodiless = pieces[0].startswith(b"HEAD ")
    reader, writer = await connect(url)
    try:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        answers: list[Raw] = []
        while (answer := await _next(reader, quiet if answers else SILENCE, bodiless=bodiless)) is not None:
            answers.append(answer)
            if "connection: close" in answer.head:
                break
        return answers or [Raw(0)]
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _next(reader: asyncio.StreamReader, wait: float, *, bodiless: bool) -> Raw | None:
    """The next answer; None where there is no more."""
    try:
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), wait)).decode().lower()
    except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
        assert wait < SILENCE or reader.at_eof() or reader.exception(), "left hanging"
        return None
    length = next((int(line[15:]) for line in head.splitlines() if line.startswith("content-length:")), 0)
    try:
        body = await asyncio.wait_for(reader.readexactly(0 if bodiless else length), SILENCE)
    except ConnectionError:  # who goes on sending may lose the answer
        return None
    return Raw(int(head.split(" ", 2)[1]), head, body)


def head(method: str, path: str, key: str = "", *more: str, version: str = "1.1") -> bytes:
    """A request's head."""
    lines = [f"{method} {path} HTTP/{version}", "Host: gateway", *more]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def posted(path: str, key: str, body: object, *more: str) -> bytes:
    """A whole request with a body."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = ("Content-Type: application/json", f"Content-Length: {len(content)}")
    return head("POST", path, key, *kind, *more) + content
