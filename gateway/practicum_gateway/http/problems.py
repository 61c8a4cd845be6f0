"""Every error as `application/problem+json`, with a stable code and never with what was sent."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from practicum.contracts.problems import FieldProblem, Problem
from practicum.errors import NotFoundError, PracticumError, RequestError, UnauthenticatedError
from practicum_gateway.telemetry import current_trace_id

MEDIA_TYPE = "application/problem+json"
_FAULTS_SHOWN = 20

DOCUMENTED: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Anything that went wrong, with a stable code and a way out.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""What the gateway's own OpenAPI document says of errors."""


def describe_problems(app: FastAPI) -> None:
    """Add the schema that `DOCUMENTED` refers to: FastAPI only knows media types of its own answers."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas: dict[str, Any] = document["components"]["schemas"]
        schemas.update(schema.pop("$defs", {}))
        schemas[Problem.__name__] = schema
        return document

    app.openapi = openapi


def rendered(problem: Problem) -> Response:
    """A problem as an answer."""
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
        )
    )
    response.headers.update(error.headers or {})
    return response


async def on_validation_error(request: Request, error: Exception) -> Response:
    """Answer what does not fit the gateway's own document; values are not repeated, they may be secrets."""
    _ = request
    assert isinstance(error, RequestValidationError)  # noqa: S101  # it is registered for this class only
    faults: Sequence[dict[str, Any]] = error.errors()
    problem = RequestError(
        "The request does not fit.",
        errors=tuple(
            FieldProblem(where=".".join(str(part) for part in fault["loc"])[:200], what=str(fault["msg"])[:500])
            for fault in faults[:_FAULTS_SHOWN]
        ),
        mend="GET /openapi.json says what fits.",
    )
    return rendered(of_error(problem))
