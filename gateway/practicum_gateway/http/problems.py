"""Every error as `application/problem+json`, with a stable code and never with what was sent."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from practicum.contracts.base import Value
from practicum.contracts.problems import FieldProblem, Problem
from practicum.errors import NotFoundError, PracticumError, RequestError, UnauthenticatedError
from practicum_gateway.telemetry import current_trace_id

MEDIA_TYPE = "application/problem+json"
_FAULTS_SHOWN = 20
_OPENAI = re.compile(r"(?:/v1)?/(?:chat/completions|completions|responses|embeddings)/?")
"""What OpenAI's clients ask, also where there is nothing at it: one whose base URL lacks `/v1` is told so."""


class ChatError(Value):
    """An error as OpenAI's clients read it."""

    message: str
    type: str
    code: str


class ChatProblem(Problem):
    """A problem at a path that OpenAI's clients ask.

    Attributes:
        error: the same in the member in which they look for it.
    """

    error: ChatError


_SCHEMAS = "#/components/schemas/"
_MEANINGS = {
    400: "The body is no JSON, or JSON that readers take differently.",
    401: "No valid key came with the request.",
    403: "The key does not reach this far.",
    404: "It is not there, or not for this caller.",
    408: "The body did not arrive in time.",
    409: "It does not go together with what is there.",
    413: "The body is too large.",
    415: "The body has a Content-Encoding.",
    422: "What was sent does not fit.",
    429: "A budget is used up.",
    500: "A defect of the gateway, or settings of it that do not fit.",
    502: "A system or a model provider failed, or was not there.",
    503: "The gateway cannot do this now.",
}
_GUARDED = (401, 403, 404, 413, 422, 500)
_WITH_BODY = (400, 408, 415)


def documented(*statuses: int, schema: type[Problem] = Problem) -> dict[int | str, dict[str, Any]]:
    """What the gateway's own OpenAPI document says of errors, as FastAPI's `responses`.

    Args:
        statuses: those that a route answers besides what every route answers; `describe_problems` adds these.
        schema: what the problem holds.
    """
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}{schema.__name__}"}}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in statuses}


def describe_problems(app: FastAPI) -> None:
    """Complete the gateway's own OpenAPI document: what the door and the scales answer, and how problems look.

    FastAPI only knows media types of its own answers.
    """
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            for operations in document["paths"].values():
                for operation in operations.values():
                    _add_problems(operation)
            described: dict[str, Any] = document["components"]["schemas"]
            for name in ("HTTPValidationError", "ValidationError"):
                described.pop(name, None)
            for schema in (Problem, ChatProblem):
                part = schema.model_json_schema(ref_template=f"{_SCHEMAS}{{model}}")
                described.update(part.pop("$defs", {}))
                described[schema.__name__] = part
        return generate()

    app.openapi = openapi


def _add_problems(operation: dict[str, Any]) -> None:
    """Say of an operation what each answers, behind the door and before it; FastAPI's own words of 422 are not ours."""
    responses: dict[str, Any] = operation["responses"]
    if "security" not in operation:
        responses.setdefault("500", documented(500)[500])
        return
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    for status in (*_GUARDED, *(_WITH_BODY if "requestBody" in operation else ())):
        responses.setdefault(str(status), documented(status)[status])


def for_openai(problem: Problem) -> ChatProblem:
    """A problem with the member in which OpenAI's clients look for what happened; they show nothing else of it."""
    told = [problem.detail, *(f"{fault.where}: {fault.what}" for fault in problem.errors), problem.mend or ""]
    message = " ".join(part if part.endswith((".", "?")) else f"{part}." for part in told if part)
    return ChatProblem(**dict(problem), error=ChatError(message=message, type=problem.title, code=problem.code))


def rendered(problem: Problem, path: str) -> Response:
    """A problem as the answer to a request of a path."""
    if _OPENAI.fullmatch(path):
        problem = for_openai(problem)
    headers: dict[str, str] = {}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if problem.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(problem.retry_after)))
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, status_code=problem.status, headers=headers, media_type=MEDIA_TYPE)


def of_error(error: PracticumError) -> Problem:
    """The problem that a typed error is."""
    return error.problem(current_trace_id())


def of_unexpected() -> Problem:
    """The problem that a defect of the gateway is: nothing of it is told but where to look."""
    return Problem(
        title=PracticumError.title,
        status=PracticumError.status,
        detail="Something went wrong inside the gateway.",
        code=PracticumError.code,
        mend="Give the trace id to whoever runs the gateway: its log holds the rest.",
        trace=current_trace_id(),
    )


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses: an unknown path, a method that a path does not know, a broken body."""
    assert isinstance(error, HTTPException)  # noqa: S101  # it is registered for this class only
    code, mend = RequestError.code, None
    detail = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        code, detail = NotFoundError.code, f"There is nothing at {request.url.path[:200]}."
        mend = "GET /openapi.json lists what there is."
        if _OPENAI.fullmatch(request.url.path) and not request.url.path.startswith("/v1/"):
            mend = "The base URL of OpenAI's clients ends with /v1 here."
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.method} is not possible at {request.url.path[:200]}."
    elif error.status_code == HTTPStatus.UNAUTHORIZED:
        code = UnauthenticatedError.code
    response = rendered(
        Problem(
            title=HTTPStatus(error.status_code).phrase,
            status=error.status_code,
            detail=detail,
            code=code,
            mend=mend,
            trace=current_trace_id(),
        ),
        request.url.path,
    )
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (allowed := _methods_at(request)):
        response.headers["allow"] = allowed  # the framework names those of one of the path's routes alone
    return response


def _methods_at(request: Request) -> str:
    """The methods that the gateway's own document knows at the path of a request."""
    template = getattr(request.scope.get("route"), "path_format", None)
    return ", ".join(sorted(method.upper() for method in request.app.openapi()["paths"].get(template, ())))


async def on_validation_error(request: Request, error: Exception) -> Response:
    """Answer what does not fit the gateway's own document; values are not repeated, they may be secrets."""
    assert isinstance(error, RequestValidationError)  # noqa: S101  # it is registered for this class only
    faults: Sequence[dict[str, Any]] = error.errors()
    problem = RequestError(
        "The request does not fit.",
        errors=tuple(
            FieldProblem(where=".".join(str(part) for part in fault["loc"])[:200], what=_words(fault))
            for fault in faults[:_FAULTS_SHOWN]
        ),
        mend="GET /openapi.json says what fits.",
    )
    return rendered(of_error(problem), request.url.path)


def _words(fault: dict[str, Any]) -> str:
    """What is wrong, without the name of the exception by which our own checks say it."""
    return str(fault["msg"]).removeprefix("Value error, ")[:500]
