"""Chat completions, compatible with OpenAI's: what any agent framework points its base URL at."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Receive

from practicum.contracts.access import Role
from practicum.contracts.base import JsonObject
from practicum.errors import PracticumError
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.episodes.chat import Ask, Speaker
from practicum_gateway.house import House
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.chat_answer import Chunks, completion
from practicum_gateway.http.chat_request import ChatRequest
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.leaving import LeftError, while_there
from practicum_gateway.http.problems import ChatProblem, documented, for_openai, of_error
from practicum_gateway.models.provider import Completed

CHAT_PATH = "/v1/chat/completions"
STREAM = "text/event-stream"
_LEFT = 499
"""For the metrics alone: nobody is there to see it."""
_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "OpenAI's `chat.completion`; asked to stream, its chunks as server-sent events.",
        "content": {STREAM: {}},
    }
}
PROBLEMS = documented(400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 502, schema=ChatProblem)

router = APIRouter(tags=["models"], route_class=JsonRoute)


@router.post(CHAT_PATH, responses=_ANSWERED | PROBLEMS)
async def complete_chat(request: ChatRequest, house: Services, caller: Caller, came: Request) -> Response:
    """A model's answer to a conversation, whole or as a stream; with an episode key it is recorded into the episode."""
    return await answered(
        request.ask(),
        house,
        caller,
        came.receive,
        whole=lambda speaker, completed: completion(speaker, request.model, completed),
        streamed=(lambda speaker: Chunks(speaker, request.model, with_usage=request.stream_options.include_usage))
        if request.stream
        else None,
    )


class Written(Protocol):
    """Writes the pieces of one streamed answer in some form."""

    def first(self) -> str:
        """The beginning."""
        ...

    def text(self, text: str) -> str:
        """A piece of text."""
        ...

    def last(self, completed: Completed) -> str:
        """The end."""
        ...

    def error(self, problem: JsonObject) -> str:
        """The end where it went wrong."""
        ...


async def answered(
    ask: Ask,
    house: House,
    caller: Principal,
    receive: Receive,
    *,
    whole: Callable[[Speaker, Completed], JsonObject],
    streamed: Callable[[Speaker], Written] | None,
) -> Response:
    """What a model answers, in the form that was asked for.

    Args:
        ask: what is asked.
        house: the services of the caller's tenant.
        caller: whose key it came with.
        receive: tells whether the caller is there; the model is not asked on for one who left.
        whole: writes an answer that is whole.
        streamed: writes one in pieces; None where it is to come whole.

    Raises:
        ForbiddenError: the caller's key does not call models.
        PracticumError: as for `Chat.complete`.
    """
    caller.require(Role.DEVELOPER, Role.AGENT, to="call models")
    stored = None if caller.episode is None else await house.episodes.stored(caller, caller.episode)
    actor = Actor(caller.name, caller.role)
    try:
        if streamed is None:
            return JSONResponse(whole(*await while_there(receive, house.chat.complete(ask, stored, actor))))
        said = house.chat.stream(ask, stored, actor)
        # Who speaks is known with the first piece, awaited before the answer begins: until then an error can be one.
        speaker = await while_there(receive, _first(said))
    except LeftError:
        return Response(status_code=_LEFT)
    if not isinstance(speaker, Speaker):
        raise TypeError("a stream begins with its speaker")
    return StreamingResponse(_stream(streamed(speaker), said), media_type=STREAM)


async def _first(said: AsyncGenerator[Speaker | str | Completed]) -> Speaker | str | Completed:
    return await anext(said)


async def _stream(chunks: Written, pieces: AsyncGenerator[Speaker | str | Completed]) -> AsyncGenerator[str]:
    async with aclosing(pieces):
        yield chunks.first()
        try:
            async for piece in pieces:
                if not isinstance(piece, Speaker):
                    yield _written(chunks, piece)
        except PracticumError as error:
            yield chunks.error(for_openai(of_error(error)).model_dump(mode="json", exclude_none=True))


def _written(chunks: Written, piece: str | Completed) -> str:
    return chunks.text(piece) if isinstance(piece, str) else chunks.last(piece)
