"""A small suite without servers: an agent is to write its number into a book."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import ExpectedChange, Split, States, Task, Verdict
from practicum.contracts.tools import CallStatus, Effect, Observation, Tool
from practicum.errors import NotFoundError
from practicum.tasks import digest, verify

WRITE = Tool(
    name="book_write",
    connector="book",
    operation="write",
    description="Writes a number into the book.",
    input_schema={"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    effect=Effect.CREATE,
    method="POST",
    path="/lines",
)


class Book:
    """One book of numbers."""

    tools = (WRITE,)

    def __init__(self) -> None:
        self._lines: dict[str, JsonObject] = {}
        self._seen: dict[str, Observation] = {}

    async def load(self, start: States) -> None:
        self._lines = dict(start.get("book", {}).get("lines", {}))
        self._seen.clear()

    async def state(self) -> States:
        return {"book": {"lines": dict(self._lines)}}

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        if tool != WRITE.name:
            raise NotFoundError(f"There is no tool {tool}.")
        if key not in self._seen:
            self._lines[str(len(self._lines) + 1)] = {"number": arguments["number"]}
            self._seen[key] = Observation(status=CallStatus.OK, content=json.dumps({"written": arguments["number"]}))
        return self._seen[key]


class Numbers:
    """Tasks `number N`; those of the held-out split are above 100."""

    name = "numbers"

    def __init__(self, count: int = 6) -> None:
        self._tasks = {split: tuple(task(split, number) for number in range(count)) for split in Split}

    @property
    def digest(self) -> str:
        return digest(task for split in Split for task in self._tasks[split])

    def tasks(self, split: Split) -> tuple[Task, ...]:
        return self._tasks[split]

    def verify(self, task: Task, before: States, after: States | None, answer: str | None) -> Verdict:
        return verify(task, before, after, answer)

    @asynccontextmanager
    async def practice(self) -> AsyncGenerator[Book]:
        yield Book()


def task(split: Split, number: int) -> Task:
    """One task of the suite."""
    wanted = number + (101 if split is Split.HELD_OUT else 1)
    return Task(
        id=f"numbers.{split}.{number}",
        suite="numbers",
        split=split,
        family="odd" if wanted % 2 else "even",
        prompt=f"Write {wanted}.",
        tools=("book.*",),
        start={"book": {"lines": {}}},
        expected=(ExpectedChange(system="book", table="lines", fields={"number": wanted}),),
        wording=0 if split is Split.TRAIN else 1,
        entities=(str(wanted),),
    )


NUMBERS = Numbers()
