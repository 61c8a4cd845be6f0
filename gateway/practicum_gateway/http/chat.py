"""Chat completions, compatible with OpenAI's: what any agent framework points its base URL at."""

import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute

from practicum.contracts.access import Role
from practicum.contracts.base import JsonObject
from practicum.contracts.problems import Problem
from practicum.errors import PracticumError
from practicum_gateway.http.chat_answer import Chunks, completion
from practicum_gateway.http.chat_request import ChatRequest
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import of_error, on_validation_error, rendered
from practicum_gateway.models.provider import Completed


class ChatRoute(APIRoute):
    """Answers errors as problems that also have the `error` member in which OpenAI's clients look for the message."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with the errors of this route answered."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except PracticumError as error:
                return _with_error_member(rendered(of_error(error)))
            except RequestValidationError as error:
                return _with_error_member(await on_validation_error(request, error))

        return answer


router = APIRouter(tags=["models"], route_class=ChatRoute)


@router.post("/v1/chat/completions")
async def complete_chat(request: ChatRequest, house: Services, caller: Caller) -> Response:
    """A model's answer to a conversation, whole or as a stream; with an episode key it is recorded into the episode."""
    caller.require(Role.DEVELOPER, Role.AGENT, to="call models")
    stored = None if caller.episode is None else await house.episodes.stored(caller, caller.episode)
    if not request.stream:
        call, completed = await house.chat.complete(request.ask(), stored)
        return JSONResponse(completion(call, request.model, completed))
    call, pieces = await house.chat.stream(request.ask(), stored)
    # The first piece is awaited before the answer begins: until then an error can still be one.
    first = await anext(pieces)
    chunks = Chunks(call, request.model, with_usage=request.stream_options.include_usage)
    return StreamingResponse(_stream(chunks, first, pieces), media_type="text/event-stream")


async def _stream(
    chunks: Chunks, first: str | Completed, pieces: AsyncGenerator[str | Completed]
) -> AsyncGenerator[str]:
    async with aclosing(pieces):
        yield chunks.first()
        try:
            yield _written(chunks, first)
            async for piece in pieces:
                yield _written(chunks, piece)
        except PracticumError as error:
            yield chunks.error(_with_error(of_error(error)))


def _written(chunks: Chunks, piece: str | Completed) -> str:
    return chunks.text(piece) if isinstance(piece, str) else chunks.last(piece)


def _with_error_member(response: Response) -> Response:
    members = _with_error(Problem.model_validate_json(bytes(response.body)))
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(
        json.dumps(members), status_code=response.status_code, headers=headers, media_type=response.media_type
    )


def _with_error(problem: Problem) -> JsonObject:
    faults = (f"{fault.where}: {fault.what}" for fault in problem.errors)
    message = " ".join(part for part in (problem.detail, *faults, problem.mend) if part)
    return {
        **problem.model_dump(mode="json", exclude_none=True),
        "error": {"message": message, "type": problem.title, "code": problem.code},
    }
