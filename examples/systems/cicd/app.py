"""The CI/CD system's API."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from examples.systems.cicd.models import Build, Deployment, ErrorBody, Fault, NewDeployment
from examples.systems.cicd.pipeline import Pipeline, log_of, open_store
from examples.systems.credentials import Credentials, same_secret
from examples.systems.practice import add_practice, books_of
from examples.systems.store import Row, State

_CODES = {401: "unauthorized", 404: "not_found", 409: "conflict", 422: "invalid"}
_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorBody},
    404: {"model": ErrorBody},
    422: {"model": ErrorBody},
}
_REFUSALS: dict[int | str, dict[str, Any]] = {**_ERRORS, 409: {"model": ErrorBody}}
_Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False))]


async def _check_token(request: Request, bearer: _Bearer) -> None:
    if not same_secret(bearer.credentials if bearer else None, request.app.state.credentials.cicd_token):
        raise HTTPException(401, "missing or wrong bearer token")


async def _pipeline(request: Request) -> Pipeline:
    """The pipeline of the app that answers, up to date."""
    pipeline = books_of(request.app)
    if not isinstance(pipeline, Pipeline):
        raise TypeError("the app was not given its pipeline")
    pipeline.finish_due()
    return pipeline


_Line = Annotated[Pipeline, Depends(_pipeline)]

_router = APIRouter(dependencies=[Depends(_check_token)])


def create_app(
    store: Path | str,
    *,
    credentials: Credentials,
    seed: State | None = None,
    work_seconds: float = 2,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Make the CI/CD system over its own database.

    Args:
        store: the database file, or `:memory:` for a private one.
        credentials: what it asks of its callers.
        seed: what an empty database is filled with, and reset to.
        work_seconds: how long a build or a deployment takes; 0 makes it done at the next request.
        clock: seconds since some fixed moment.

    Returns:
        The application.
    """
    app = FastAPI(title="CI/CD", version="1.8.2", summary="Builds and deployments", docs_url=None, redoc_url=None)
    app.state.credentials = credentials
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.include_router(_router)
    add_practice(app, Pipeline(open_store(str(store)), seed, work_seconds, clock), _check_token)
    return app


@_router.get(
    "/services/{service}/builds/latest",
    operation_id="latest_build",
    summary="Get the latest build of a service",
    responses=_ERRORS,
    response_model_exclude_none=True,
)
async def latest_build(line: _Line, service: str) -> Build:
    """Status passed means green, failed means red."""
    row = line.store.row("SELECT * FROM builds WHERE service = :service ORDER BY id DESC LIMIT 1", service=service)
    if row is None:
        raise HTTPException(404, f"no build of a service {service}")
    return Build.model_validate(row)


@_router.get(
    "/builds/{build_id}",
    operation_id="get_build",
    summary="Get a build",
    responses=_ERRORS,
    response_model_exclude_none=True,
)
async def get_build(line: _Line, build_id: int) -> Build:
    """Get a build by its number."""
    return Build.model_validate(_build(line, build_id))


@_router.get(
    "/builds/{build_id}/log",
    operation_id="build_log",
    summary="Read the log of a build",
    response_class=PlainTextResponse,
    responses={**_ERRORS, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def build_log(line: _Line, build_id: int) -> str:
    """It names the test that failed."""
    return log_of(_build(line, build_id))


@_router.post(
    "/builds/{build_id}/retry",
    operation_id="retry_build",
    summary="Run a build again",
    status_code=202,
    responses=_REFUSALS,
    response_model_exclude_none=True,
)
async def retry_build(line: _Line, response: Response, build_id: int) -> Build:
    """It runs as a new build. One that is still running is refused with 409."""
    with line.store.transaction():
        build = _build(line, build_id)
        if build["status"] == "running":
            raise HTTPException(409, f"build {build_id} is still running")
        started = Build.model_validate(line.retry(build))
    response.headers["Location"] = f"/builds/{started.id}"
    return started


@_router.post(
    "/deployments",
    operation_id="deploy_build",
    summary="Deploy a build to production",
    status_code=202,
    responses=_REFUSALS,
)
async def deploy_build(line: _Line, response: Response, wish: NewDeployment) -> Deployment:
    """It takes a moment: poll get_deployment until it has succeeded."""
    with line.store.transaction():
        build = _build(line, wish.build_id)
        if build["status"] == "running":
            raise HTTPException(409, f"build {wish.build_id} is still running")
        started = Deployment.model_validate(line.deploy(str(build["service"]), wish.build_id, "release"))
    return _accepted(started, response)


@_router.get(
    "/deployments/{deployment_id}", operation_id="get_deployment", summary="Get a deployment", responses=_ERRORS
)
async def get_deployment(line: _Line, deployment_id: int) -> Deployment:
    """Get a deployment and how far it is."""
    row = line.store.row("SELECT * FROM deployments WHERE id = :id", id=deployment_id)
    if row is None:
        raise HTTPException(404, f"no deployment {deployment_id}")
    return Deployment.model_validate(row)


@_router.post(
    "/services/{service}/rollback",
    operation_id="rollback_service",
    summary="Roll a service back to its previous build",
    status_code=202,
    responses=_REFUSALS,
)
async def rollback_service(line: _Line, response: Response, service: str) -> Deployment:
    """It takes a moment: poll get_deployment until it has succeeded."""
    with line.store.transaction():
        row = line.store.row("SELECT * FROM services WHERE id = :id", id=service)
        if row is None:
            raise HTTPException(404, f"no service {service}")
        if not isinstance(row["previous_build"], int):
            raise HTTPException(409, f"{service} has no previous build")
        started = Deployment.model_validate(line.deploy(service, row["previous_build"], "rollback"))
    return _accepted(started, response)


def _accepted(started: Deployment, response: Response) -> Deployment:
    response.headers["Location"] = f"/deployments/{started.id}"
    return started


def _build(line: Pipeline, build_id: int) -> Row:
    row = line.store.row("SELECT * FROM builds WHERE id = :id", id=build_id)
    if row is None:
        raise HTTPException(404, f"no build {build_id}")
    return row


def _http_error(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    fault = Fault(code=_CODES.get(error.status_code, "error"), message=str(error.detail))
    return JSONResponse(ErrorBody(error=fault).model_dump(), error.status_code)


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    message = "; ".join(f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors())
    return JSONResponse(ErrorBody(error=Fault(code="invalid", message=message)).model_dump(), 422)
