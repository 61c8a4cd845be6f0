import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import Split, States
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import CallError, UpstreamError
from practicum.stages.practices import Lost, Practices, SeatCall
from tests.sdk.stages.house import LAMPS_SUITE, House, Lamps

TASK = LAMPS_SUITE.tasks(Split.TRAIN)[0]
LOOK = SeatCall("house_look", {"room": 10}, "k")


class Moody(House):
    """Houses that fail in a way that the room says."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        match arguments["room"]:
            case 1:
                raise ConnectionError("the house burnt down")
            case 2:
                await asyncio.sleep(60)
            case 3:
                raise CallError("room 3 does not exist")
            case _:
                pass
        return await super().call(tool, arguments, key)


def test_seats_are_private() -> None:
    with Practices(LAMPS_SUITE, 2) as practices:
        assert practices.load({0: TASK.start, 1: TASK.start}) == {0: None, 1: None}
        observed = practices.call({0: SeatCall("house_on", {"room": 10}, "k")})
        assert isinstance(seen := observed[0], Observation)
        assert seen.status is CallStatus.OK
        states = practices.states([0, 1])
        assert states[0] != states[1] == TASK.start
        assert [tool.name for tool in practices.tools] == ["house_dim", "house_look", "house_off", "house_on"]


@pytest.mark.parametrize(("room", "reason"), [(1, "ConnectionError: the house burnt down"), (2, "TimeoutError")])
def test_a_failure_is_lost_and_leaves_the_others_alone(room: int, reason: str) -> None:
    Moody.made = 0
    with Practices(Lamps(house=Moody), 2, patience=0.2) as practices:
        practices.load({0: TASK.start, 1: TASK.start})
        observed = practices.call({0: SeatCall("house_look", {"room": room}, "k"), 1: LOOK})
        assert observed[0] == Lost(reason)
        assert isinstance(observed[1], Observation)
        assert Moody.made == 2
        practices.load({0: TASK.start, 1: TASK.start})
        assert Moody.made == 3  # the lost seat has new systems, the other kept its own
        assert isinstance(practices.call({0: LOOK})[0], Observation)


def test_a_call_that_does_not_fit_is_the_callers_fault() -> None:
    with Practices(Lamps(house=Moody), 1) as practices:
        practices.load({0: TASK.start})
        assert practices.call({0: SeatCall("house_look", {"room": 3}, "k")})[0] == Observation(
            status=CallStatus.ERROR, content="room 3 does not exist"
        )


class Closed(Lamps):
    """A suite whose systems do not open, or do not close."""

    def __init__(self, *, opens: bool) -> None:
        super().__init__()
        self._opens = opens

    @asynccontextmanager
    async def practice(self) -> AsyncGenerator[House]:
        if not self._opens:
            raise OSError("no port is free")
        yield House()
        raise OSError("it does not close")


def test_systems_that_do_not_open_are_told_at_once() -> None:
    with pytest.raises(UpstreamError, match="cannot be opened: no port is free"), Practices(Closed(opens=False), 2):
        pass


def test_systems_that_do_not_close_hurt_nobody() -> None:
    with Practices(Closed(opens=True), 2) as practices:
        assert practices.load({1: TASK.start}) == {1: None}


def test_a_start_state_that_is_refused_is_lost() -> None:
    bad: States = {"shed": {}}
    with Practices(LAMPS_SUITE, 1) as practices:
        assert practices.load({0: bad}) == {0: Lost("KeyError: 'house'")}


async def test_they_can_be_used_from_within_a_running_loop() -> None:
    with Practices(LAMPS_SUITE, 1) as practices:
        assert practices.load({0: TASK.start}) == {0: None}
