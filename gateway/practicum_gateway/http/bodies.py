"""JSON bodies, read strictly: what other parts could not read, write or send as it came is refused at once."""

import json
import math
import re
from collections.abc import Callable, Coroutine, Iterable
from http import HTTPStatus
from typing import Any, NoReturn, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

MOST_LEVELS = 200
"""How deep a body may be nested: far deeper than documents of systems are, far less than Python's stack is."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


class JsonRoute(APIRoute):
    """A route whose bodies are read by `read_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a request that reads its body so."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return answer


class StrictRequest(Request):
    """A request whose body is read by `read_json`."""

    async def json(self) -> Any:
        """The value that the body holds."""
        coding = self.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":  # a small body may unfold into one without end
            raise HTTPException(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A body is taken as it is: send it without Content-Encoding."
            )
        return read_json(await self.body())


def read_json(body: bytes) -> Any:
    """The value that a body holds.

    Args:
        body: JSON text in UTF-8.

    Raises:
        HTTPException: it is none; it holds `NaN` or `Infinity`, half a surrogate pair, a name twice in one object or a
            number with thousands of digits; it is nested too deeply.
    """
    try:
        value = json.loads(
            body.decode(), parse_constant=_refuse_constant, parse_float=_float, object_pairs_hook=_object
        )
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError:
        raise _refused("The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise _refused(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except ValueError:
        raise _refused("The body holds a number with more digits than can be read.") from None
    if body.count(b"[") + body.count(b"{") > MOST_LEVELS and _levels(value) > MOST_LEVELS:
        raise _too_deep()
    if _HALF.search(body) is not None:
        _refuse_halves(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        # Readers differ in which of the two they take: what a person approves could be another call than the one made.
        raise _refused("The body holds a name twice in one object.")
    return value


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _refused("The body holds a number that is larger than any that can be kept.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise _refused(f"The body holds {name}, which is no JSON.")


def _levels(value: Any) -> int:
    level: list[Any] = [value]
    levels = 0
    while level:
        levels += 1
        level = [part for whole in level for part in _parts(whole) if isinstance(part, dict | list)]
    return levels


def _parts(whole: Any) -> Iterable[Any]:
    if isinstance(whole, dict):
        return cast("dict[str, Any]", whole).values()
    return cast("list[Any]", whole) if isinstance(whole, list) else ()


def _refuse_halves(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _refused("The body holds half a surrogate pair, which is no text.") from None


def _too_deep() -> HTTPException:
    return _refused(f"The body is nested more than {MOST_LEVELS} levels deep.")


def _refused(detail: str) -> HTTPException:
    return HTTPException(HTTPStatus.BAD_REQUEST, detail)
