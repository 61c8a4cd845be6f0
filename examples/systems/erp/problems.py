"""The ERP's errors, all of them `application/problem+json` (RFC 9457)."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """What went wrong."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class ProblemError(Exception):
    """The ERP refuses; the arguments are the problem's fields."""

    def __init__(self, status: int, kind: str, title: str, detail: str, headers: dict[str, str] | None = None) -> None:
        """Say what is refused.

        Args:
            status: HTTP status.
            kind: last part of the problem's type.
            title: the kind of problem in words.
            detail: what happened this time.
            headers: headers of the answer.
        """
        super().__init__(detail)
        self.problem = Problem(type=f"/problems/{kind}", title=title, status=status, detail=detail)
        self.headers = headers


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of an operation for these error statuses."""
    body = {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}
    titles = {401: "Not authorised", 404: "Not found", 409: "Against a business rule", 422: "Not understood"}
    return {status: {"description": titles[status], "content": body} for status in statuses}


def install(app: FastAPI) -> None:
    """Let every error of the app leave as a problem."""
    app.add_exception_handler(ProblemError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def _answer(problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(problem.model_dump(), problem.status, headers, MEDIA_TYPE)


def _refused(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, ProblemError):
        raise error
    return _answer(error.problem, error.headers)


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    faults = [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors()]
    return _answer(Problem(type="/problems/invalid", title="Not understood", status=422, detail="; ".join(faults)))


def _http(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    return _answer(Problem(title=str(error.detail), status=error.status_code, detail=str(error.detail)))
