"""A small suite to learn: lamps in the rooms of a house, four kinds of wish, four tools.

A wish such as `darken 17` needs one call, which tool is for the model to know; `check 17` needs its result too.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import ExpectedChange, ReferenceCall, Split, States, Task, Verdict
from practicum.contracts.tools import CallStatus, Effect, Observation, Tool
from practicum.errors import NotFoundError
from practicum.tasks import digest, verify

ROOMS = tuple(range(10, 30))
LAMPS = ("on", "off", "dim")
WISHES = {"light": "house_on", "darken": "house_off", "soften": "house_dim", "check": "house_look"}
"""What is asked and the tool that does it."""
SETS = {"house_on": "on", "house_off": "off", "house_dim": "dim"}
SYSTEM = "Tend the lamps."
DONE = "done"


def _tool(operation: str, effect: Effect) -> Tool:
    return Tool(
        name=f"house_{operation}",
        connector="house",
        operation=operation,
        description="",
        input_schema={"type": "object", "properties": {"room": {"type": "integer"}}, "required": ["room"]},
        effect=effect,
        method="POST",
        path=f"/{operation}",
    )


TOOLS = (
    _tool("dim", Effect.UPDATE),
    _tool("look", Effect.READ),
    _tool("off", Effect.UPDATE),
    _tool("on", Effect.UPDATE),
)


class House:
    """One house; a `Practice`."""

    tools = TOOLS

    def __init__(self) -> None:
        self._lamps: dict[str, JsonObject] = {}
        self._seen: dict[str, Observation] = {}

    async def load(self, start: States) -> None:
        self._lamps = {room: dict(lamp) for room, lamp in start["house"]["lamps"].items()}
        self._seen.clear()

    async def state(self) -> States:
        return {"house": {"lamps": {room: dict(lamp) for room, lamp in self._lamps.items()}}}

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        if tool not in {known.name for known in TOOLS}:
            raise NotFoundError(f"There is no tool {tool}.")
        if key not in self._seen:
            self._seen[key] = self._do(tool, str(arguments.get("room")))
        return self._seen[key]

    def _do(self, tool: str, room: str) -> Observation:
        lamp = self._lamps.get(room)
        if lamp is None:
            return Observation(status=CallStatus.ERROR, content="no such room")
        if tool in SETS:
            lamp["lamp"] = SETS[tool]
        text = json.dumps({"room": int(room), "lamp": lamp["lamp"]}, separators=(",", ":"))
        return Observation(status=CallStatus.OK, content=text)


class Lamps:
    """Every wish for every room, some of the pairs held out; a `Suite`."""

    name = "lamps"

    def __init__(self, rooms: tuple[int, ...] = ROOMS, house: Callable[[], House] = House) -> None:
        self._house = house
        pairs = [(wish, room, place) for room in rooms for place, wish in enumerate(WISHES)]
        # Another wish of each room is held out, so that every room and every wish is seen in training.
        held = {(wish, room) for wish, room, place in pairs if place == room % len(WISHES)}
        self._tasks = {
            split: tuple(
                task(split, wish, room)
                for wish, room, _ in pairs
                if ((wish, room) in held) == (split is Split.HELD_OUT)
            )
            for split in Split
        }

    @property
    def digest(self) -> str:
        return digest(found for split in Split for found in self._tasks[split])

    def tasks(self, split: Split) -> tuple[Task, ...]:
        return self._tasks[split]

    def verify(self, task: Task, before: States, after: States | None, answer: str | None) -> Verdict:
        return verify(task, before, after, answer)

    @asynccontextmanager
    async def practice(self) -> AsyncGenerator[House]:
        yield self._house()


def task(split: Split, wish: str, room: int) -> Task:
    """One task of the suite: the room's lamp and two others, each in some state that the wish changes."""
    tool = WISHES[wish]
    wanted = SETS.get(tool)
    lamps: dict[str, JsonObject] = {
        str(other): {"lamp": next(lamp for lamp in LAMPS[(other + place) % 3 :] + LAMPS if lamp != wanted)}
        for place, other in enumerate((room, room + 1, room + 2))
    }
    expected = ExpectedChange(system="house", table="lamps", record=str(room), fields={"lamp": wanted})
    seen = str(lamps[str(room)]["lamp"])
    return Task(
        id=f"lamps.{wish}.{room}",
        suite="lamps",
        split=split,
        family=wish,
        prompt=f"{wish} {room}",
        tools=("house.*",),
        start={"house": {"lamps": lamps}},
        reference=(ReferenceCall(tool=tool, arguments={"room": room}),),
        conclusion=DONE if wanted else seen,
        expected=(expected,) if wanted else (),
        answer=None if wanted else seen,
    )


LAMPS_SUITE = Lamps()
