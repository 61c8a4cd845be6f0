"""OpenAI's Responses API, as far as nothing is kept between requests: the default of newer agent frameworks."""

from typing import Any

from fastapi import APIRouter, Request, Response

from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.chat import PROBLEMS, STREAM, answered
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.responses_answer import ResponseEvents, response
from practicum_gateway.http.responses_request import ResponsesRequest

_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "OpenAI's `response`; asked to stream, its events as server-sent events.",
        "content": {STREAM: {}},
    }
}

router = APIRouter(tags=["models"], route_class=JsonRoute)


@router.post("/v1/responses", responses=_ANSWERED | PROBLEMS)
async def respond(request: ResponsesRequest, house: Services, caller: Caller, came: Request) -> Response:
    """A model's answer to a conversation, as chat completions give it and recorded as theirs, in the Responses form."""
    return await answered(
        request.chat().ask(),
        house,
        caller,
        came.receive,
        whole=lambda speaker, completed: response(speaker, request, completed),
        streamed=(lambda speaker: ResponseEvents(speaker, request)) if request.stream else None,
    )
