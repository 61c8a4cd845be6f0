"""Calls a server over and over, in a process of its own: `python -m benchmarks.load < plan.json`.

It speaks HTTP itself, with next to no work of its own, so that what is measured is the server. Prints what it saw.
"""

import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pydantic import TypeAdapter

_SLOWEST_SECONDS = 120.0


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes:
        method: of HTTP.
        path: with its query.
        headers: besides host and length.
        body: sent as it is.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = ""

    def encoded(self, host: str) -> bytes:
        """The request as it goes over the wire."""
        body = self.body.encode()
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            f"Host: {host}",
            *(f"{n}: {v}" for n, v in self.headers.items()),
        ]
        length = [f"Content-Length: {len(body)}"] if body or self.method == "POST" else []
        return "\r\n".join([*lines, *length, "", ""]).encode() + body


@dataclass(frozen=True)
class Plan:
    """What a run does.

    Attributes:
        host: where to.
        port: where to.
        requests: one for each connection to repeat, or one for each call; in turn.
        connections: how many at the same time.
        calls: how many in all.
        warming: how many before, which are not counted.
        expected: what every answer has to hold.
        first: what stands in the first piece of an answer that is waited for; empty where only the whole counts.
    """

    host: str
    port: int
    requests: Sequence[Request]
    connections: int
    calls: int
    warming: int = 0
    expected: str = ""
    first: str = ""


@dataclass(frozen=True)
class Seen:
    """What a run saw; times in milliseconds.

    Attributes:
        median: of an answer, until it is whole.
        p95: likewise.
        wall_seconds: of all.
        calls: how many.
        first: the median until the first piece was there that was waited for.
    """

    median: float
    p95: float
    wall_seconds: float
    calls: int
    first: float = 0.0


class Failed(Exception):
    """An answer was not what it had to be."""


@dataclass
class Answered:
    """One answer.

    Attributes:
        status: of HTTP.
        body: as text.
        first: when the first piece was there that was waited for, by `time.perf_counter`; 0 where none was.
    """

    status: int
    body: str = ""
    first: float = 0.0


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, first: bytes = b""
) -> Answered:
    """One answer, and when the piece was there that holds `first`."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    answered = Answered(int(head.split(" ", 2)[1]))
    for line in head.split("\r\n"):
        if line.startswith("content-length:"):
            answered.body = (await reader.readexactly(int(line[15:]))).decode()
            return answered
    if "transfer-encoding: chunked" not in head:
        return answered
    pieces: list[bytes] = []
    while size := int(await reader.readline(), 16):
        pieces.append((await reader.readexactly(size + 2))[:-2])
        if first and not answered.first and first in pieces[-1]:
            answered.first = time.perf_counter()
    await reader.readexactly(2)
    answered.body = b"".join(pieces).decode()
    return answered


@dataclass
class _Spent:
    """Seconds that answers took, and that their first pieces did."""

    whole: list[float] = field(default_factory=list[float])
    first: list[float] = field(default_factory=list[float])


async def _connection(plan: Plan, requests: Callable[[], bytes | None], spent: _Spent) -> None:
    reader, writer = await asyncio.open_connection(plan.host, plan.port)
    first = plan.first.encode()
    try:
        while (request := requests()) is not None:
            began = time.perf_counter()
            answered = await asyncio.wait_for(ask(reader, writer, request, first), _SLOWEST_SECONDS)
            spent.whole.append(time.perf_counter() - began)
            if answered.first:
                spent.first.append(answered.first - began)
            if answered.status >= 300 or plan.expected not in answered.body or (first and not answered.first):
                raise Failed(f"{answered.status}: {answered.body[:2000]}")
    finally:
        writer.close()


async def _run(plan: Plan, calls: int) -> tuple[_Spent, float]:
    host = f"{plan.host}:{plan.port}"
    encoded = [request.encoded(host) for request in plan.requests]
    spent = _Spent()
    left = iter(range(calls))

    def drawing(source: Iterator[bytes]) -> Callable[[], bytes | None]:
        return lambda: None if next(left, None) is None else next(source)

    # With a request for each connection, each keeps its own: it may belong to a session.
    one_each = len(encoded) <= plan.connections
    shared = itertools.cycle(encoded)
    sources = [itertools.repeat(encoded[n % len(encoded)]) if one_each else shared for n in range(plan.connections)]
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for source in sources:
            group.create_task(_connection(plan, drawing(source), spent))
    return spent, time.perf_counter() - began


async def run(plan: Plan) -> Seen:
    """Warm up, then measure."""
    if plan.warming:
        await _run(plan, plan.warming)
    spent, wall = await _run(plan, plan.calls)
    ordered = sorted(spent.whole)
    return Seen(
        median=statistics.median(ordered) * 1000,
        p95=ordered[int(len(ordered) * 0.95)] * 1000,
        wall_seconds=wall,
        calls=len(ordered),
        first=statistics.median(spent.first) * 1000 if spent.first else 0.0,
    )


def main() -> None:
    """Read the plan, run it, print what was seen."""
    plan = TypeAdapter(Plan).validate_json(sys.stdin.read())
    print(json.dumps(asdict(asyncio.run(run(plan)))))


if __name__ == "__main__":
    main()
