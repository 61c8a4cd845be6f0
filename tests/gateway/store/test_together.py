"""Batches: who asks at once is served at once, and what happens to a batch is told to everybody in it."""

import asyncio
import gc
from collections.abc import Sequence

import pytest

from practicum_gateway.store.together import Together


class Done:
    """Does batches, one after the other, and remembers them."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.going = asyncio.Event()
        self.going.set()

    async def __call__(self, asked: Sequence[str]) -> list[str | Exception]:
        self.batches.append(list(asked))
        await self.going.wait()
        if "all fail" in asked:
            raise OSError("all fail")
        return [ValueError(each) if each == "one fails" else each.upper() for each in asked]


async def test_who_comes_meanwhile_is_in_the_next_batch() -> None:
    done = Done()
    together = Together(done)
    done.going.clear()
    first = [asyncio.create_task(together(each)) for each in "ab"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later = [asyncio.create_task(together(each)) for each in "cde"]
    leaving = asyncio.create_task(together("left"))
    await asyncio.sleep(0)
    leaving.cancel()
    first[0].cancel()
    done.going.set()
    await together.close()
    assert await asyncio.gather(*later, first[1]) == ["C", "D", "E", "B"]
    assert done.batches == [["a", "b"], ["c", "d", "e"]]
    assert first[0].cancelled()


async def test_of_those_to_be_kept_apart_one_is_in_a_batch() -> None:
    done = Done()
    together = Together(done, apart=lambda each: each[0])
    assert await asyncio.gather(*map(together, ("a1", "b1", "a2", "a3"))) == ["A1", "B1", "A2", "A3"]
    assert done.batches == [["a1", "b1"], ["a2"], ["a3"]]


async def test_who_fails_is_told_and_the_next_batch_goes_on() -> None:
    together = Together(Done())
    good, bad = await asyncio.gather(together("a"), together("one fails"), return_exceptions=True)
    assert (good, type(bad)) == ("A", ValueError)
    found = await asyncio.gather(together("a"), together("all fail"), return_exceptions=True)
    assert [type(each) for each in found] == [OSError, OSError]
    with pytest.raises(ValueError, match="one fails"):
        await together("one fails")
    assert await together("b") == "B"


async def test_what_becomes_of_a_batch_that_nobody_waits_for_is_not_complained_of() -> None:
    """The loop would log what was wrong with it, and quote what was to be written."""
    done, complaints = Done(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    done.going.clear()
    together = Together(done)
    leaving = asyncio.create_task(together("all fail"))
    for _ in range(3):  # until its batch is begun
        await asyncio.sleep(0)
    assert done.batches
    leaving.cancel()
    await asyncio.wait([leaving])
    done.going.set()
    await together.close()
    del together, leaving
    gc.collect()
    assert complaints == []
