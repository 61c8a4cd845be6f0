"""Metrics in Prometheus' form. Names of tenants, connectors and models are among them: they are not for everybody."""

import hmac

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from practicum.contracts.access import Role
from practicum.errors import ForbiddenError, UnauthenticatedError
from practicum_gateway.access.keys import tenant_of
from practicum_gateway.estate import Estate
from practicum_gateway.http.health import Readiness
from practicum_gateway.http.problems import documented
from practicum_gateway.metrics.exposition import MEDIA_TYPE, written
from practicum_gateway.survey import Survey

router = APIRouter(tags=["health"])

_MAY_READ = frozenset({Role.ADMIN, Role.AUDITOR})
_LONGEST_KEY = 512


@router.get("/metrics", response_class=PlainTextResponse, responses=documented(401, 403))
async def metrics(request: Request) -> PlainTextResponse:
    """What was counted and measured, for the metrics key (`PRACTICUM_METRICS_KEY`), or an administrator or auditor."""
    estate: Estate = request.app.state.estate
    await _let_in(estate, request.headers.get("authorization", ""))
    readiness: Readiness = request.app.state.readiness
    survey: Survey = request.app.state.survey
    ready = await readiness.ready(estate)
    return PlainTextResponse(written(await survey.families(estate, ready=ready)), media_type=MEDIA_TYPE)


async def _let_in(estate: Estate, authorization: str) -> None:
    """Let in who may see what concerns all tenants: nobody of another tenant than the main one.

    Raises:
        UnauthenticatedError: no valid key came.
        ForbiddenError: it is valid, and does not reach this far.
    """
    scheme, _, key = authorization.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key or len(key) > _LONGEST_KEY:
        raise UnauthenticatedError(
            "No key came with the request.", mend="Send it as a header: Authorization: Bearer METRICS_KEY"
        )
    own = estate.main.settings.metrics_key
    if own is not None and hmac.compare_digest(own.get_secret_value().encode(), key.encode()):
        return
    house = estate.house(tenant_of(key)) or estate.main
    principal = await house.keys.authenticate(key)
    if house is not estate.main or principal.role not in _MAY_READ:
        raise ForbiddenError(
            "This key does not open the metrics of the whole gateway.",
            mend="Use the metrics key, or one of an administrator or auditor of the main tenant.",
        )
