"""Connectors: register a system, see what became of its operations, forget it."""

from fastapi import APIRouter, Response

from practicum.contracts.access import Role
from practicum.contracts.connectors import Connector, ConnectorReport, ConnectorSpec
from practicum_gateway.http.dependencies import Caller, Limit, Services

router = APIRouter(prefix="/v1/connectors", tags=["connectors"])


@router.post("", status_code=201, responses={200: {"description": "The same registration was there already."}})
async def register(spec: ConnectorSpec, house: Services, caller: Caller, response: Response) -> ConnectorReport:
    """Register a system from its OpenAPI document, whole or not at all."""
    caller.require(to="register connectors")
    report, is_new = await house.catalogue.register(spec)
    response.status_code = 201 if is_new else 200
    return report


@router.get("")
async def connectors(house: Services, caller: Caller, limit: Limit = 100) -> tuple[Connector, ...]:
    """The registered systems, newest first."""
    caller.require(Role.DEVELOPER, Role.APPROVER, Role.WORKER, to="list connectors")
    return (await house.catalogue.connectors())[:limit]


@router.get("/{name}")
async def connector(name: str, house: Services, caller: Caller) -> ConnectorReport:
    """A registration and what became of each operation."""
    caller.require(Role.DEVELOPER, Role.APPROVER, Role.WORKER, to="see connectors")
    return await house.catalogue.report(name)


@router.delete("/{name}", status_code=204)
async def remove(name: str, house: Services, caller: Caller) -> None:
    """Forget a system, its document and its credential."""
    caller.require(to="remove connectors")
    await house.catalogue.remove(name)
