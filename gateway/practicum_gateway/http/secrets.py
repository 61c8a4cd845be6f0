"""Stored credentials: sealed anew on demand, never shown."""

from fastapi import APIRouter

from practicum.contracts.access import SealReport
from practicum.contracts.audit import Action
from practicum_gateway.audit.log import Deed
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/secrets", tags=["secrets"], route_class=JsonRoute)


@router.post("/rotate", responses=documented(502))
async def rotate(house: Services, caller: Caller) -> SealReport:
    """Seal every stored credential under a new key of the store; calls go on meanwhile."""
    caller.require(to="exchange the key that seals credentials")
    report = await house.rotation.rotate()
    await house.audit.note(Deed(Action.SECRETS_ROTATED, "secrets", details={"credentials": report.credentials}))
    return report
