"""The system that cases call: HTTP/1.1 on loopback, answers by script, and every request kept as it arrived."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from practicum_connectors.conformance.case import Answer

_MOST_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request, byte for byte.

    Attributes:
        line: method and target.
        headers: in order, names as they came.
        body: what followed.
    """

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.line.partition(" ")[2].partition("?")[0]

    def header(self, name: str) -> str | None:
        """The first value of a header, case-insensitively."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class ScriptedSystem:
    """A server for as long as its context lasts, on a free port of this machine."""

    def __init__(self) -> None:
        """Answer nothing yet."""
        self.arrived: list[Arrived] = []
        self.authority = ""
        self._answers: list[Answer] = []
        self._served: Mapping[str, str] = {}
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def script(self, answers: tuple[Answer, ...], served: Mapping[str, str]) -> None:
        """Forget what arrived and answer anew.

        Args:
            answers: in order, the last one for each path for ever.
            served: texts by path; they are not part of what arrived.
        """
        self.arrived.clear()
        self._answers = list(answers)
        self._served = served

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, limit=_MOST_HEAD_BYTES)
        self.authority = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            served = tuple(self._open.items())
            for writer, _ in served:
                writer.close()
            await asyncio.gather(*(task for _, task in served))
            await self._server.wait_closed()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.create_task(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the other side hung up
            while True:
                arrived = await _read(reader)
                if not await self._answer(arrived, writer):
                    break
        del self._open[writer]
        writer.close()

    async def _answer(self, arrived: Arrived, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False where the connection ends with it."""
        text = self._served.get(arrived.path)
        if text is not None:
            await _write(writer, Answer(text=text, headers={"Content-Type": "application/yaml"}), head=False)
            return True
        self.arrived.append(arrived)
        answer = self._next_for(arrived.path)
        await asyncio.sleep(answer.delay)
        if answer.lost:
            return False
        if answer.endless:
            await _pour(writer, answer)
            return False
        await _write(writer, answer, head=arrived.line.startswith("HEAD "))
        return True

    def _next_for(self, path: str) -> Answer:
        fitting = [answer for answer in self._answers if answer.path in {None, path}]
        if not fitting:
            return Answer.model_validate({"json": {}})
        if len([answer for answer in fitting if answer.path == fitting[0].path]) > 1:
            self._answers.remove(fitting[0])
        return fitting[0]


async def _read(reader: asyncio.StreamReader) -> Arrived:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.removesuffix("\r\n\r\n").split("\r\n")
    pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in rest)]
    arrived = Arrived(first.removesuffix(" HTTP/1.1"), tuple(pairs), b"")
    if (arrived.header("transfer-encoding") or "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(arrived.header("content-length") or 0))
    return Arrived(arrived.line, arrived.headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body


async def _write(writer: asyncio.StreamWriter, answer: Answer, *, head: bool) -> None:
    body = answer.content or b""
    writer.write(_head(answer, f"Content-Length: {len(body)}"))
    writer.write(b"" if head else body)
    await writer.drain()


async def _pour(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(_head(answer, "Connection: close"))
    while not writer.is_closing():
        writer.write(answer.content or b"")
        await writer.drain()
        await asyncio.sleep(0)


def _head(answer: Answer, framing: str) -> bytes:
    kinds = {"Content-Type": "application/json"} if answer.is_json else {}
    lines = [f"HTTP/1.1 {answer.status} Scripted", framing, *(f"{k}: {v}" for k, v in (kinds | answer.headers).items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
