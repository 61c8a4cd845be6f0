"""Callers who leave before they have their answer: what is done for them alone ends with them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


class LeftError(Exception):
    """Nobody is there any more who could be answered."""


async def while_there(receive: Receive, asked: Coroutine[Any, Any, T]) -> T:
    """What is asked for; it is cancelled when its caller leaves.

    Args:
        receive: of the request, whose body is read.
        asked: what is done for the caller.

    Raises:
        LeftError: the caller left.
    """
    answering, leaving = asyncio.ensure_future(asked), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)  # what comes of it, nobody is there to be told
            raise LeftError
        return answering.result()
    finally:
        answering.cancel()
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
