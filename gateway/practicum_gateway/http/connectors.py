"""Connectors: register a system, see what became of its operations, look at its document again, forget it."""

from typing import Any

from fastapi import APIRouter, Response

from practicum.contracts.access import Role
from practicum.contracts.comparison import ConnectorComparison
from practicum.contracts.connectors import (
    AcceptRequest,
    Connector,
    ConnectorReport,
    ConnectorSpec,
    RefreshReport,
    RefreshRequest,
)
from practicum.contracts.declared import Declared
from practicum.errors import RequestError
from practicum_gateway.catalogue.declared import connector_declared
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/connectors", tags=["connectors"], route_class=JsonRoute)

_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"description": "The same registration was there already.", "model": ConnectorReport}
}
_SEEING = (Role.DEVELOPER, Role.APPROVER, Role.WORKER, Role.AUDITOR)


@router.post("", status_code=201, responses=_AGAIN | documented(409, 502))
async def register(spec: ConnectorSpec, house: Services, caller: Caller, response: Response) -> ConnectorReport:
    """Register a system from its OpenAPI document, whole or not at all."""
    caller.require(to="register connectors")
    report, is_new = await house.catalogue.register(spec)
    response.status_code = 201 if is_new else 200
    return report


@router.get("")
async def connectors(house: Services, caller: Caller, limit: Limit = 100) -> tuple[Connector, ...]:
    """The registered systems, newest first."""
    caller.require(*_SEEING, to="list connectors")
    return (await house.catalogue.connectors())[:limit]


@router.get("/{name}")
async def connector(name: str, house: Services, caller: Caller) -> ConnectorReport:
    """A registration and what became of each operation."""
    caller.require(*_SEEING, to="see connectors")
    return await house.catalogue.report(name)


@router.get("/{name}/declared")
async def declared(name: str, house: Services, caller: Caller) -> Declared:
    """What its registration would say in a declaration: no credential, but the document that was handed over."""
    caller.require(to="see registrations whole")
    return connector_declared(*await house.catalogue.kept(name))


@router.post("/{name}/compare", responses=documented(502))
async def compare(name: str, spec: ConnectorSpec, house: Services, caller: Caller) -> ConnectorComparison:
    """How a registration differs from the one of this name; nothing is changed."""
    caller.require(to="compare connectors")
    if spec.name != name:
        raise RequestError(f"The connector's name is '{spec.name}', and it was sent to '{name}'.")
    return await house.catalogue.compare(spec)


@router.put("/{name}", responses=documented(409, 502))
async def replace(
    name: str, spec: ConnectorSpec, house: Services, caller: Caller, accept: bool = False
) -> RefreshReport:
    """Put another registration in the place of the one of this name, at once; `accept` lets it break calls."""
    caller.require(to="replace connectors")
    if spec.name != name:
        raise RequestError(f"The connector's name is '{spec.name}', and it was sent to '{name}'.")
    return await house.catalogue.replace(spec, accept=accept)


@router.post("/{name}/refresh", responses=documented(409, 502))
async def refresh(name: str, request: RefreshRequest, house: Services, caller: Caller) -> RefreshReport:
    """Look at a system's document again: what breaks no call is put in force, what does is held for a decision."""
    caller.require(to="refresh connectors")
    return await house.catalogue.refresh(name, request)


@router.get("/{name}/changes")
async def changes(name: str, house: Services, caller: Caller) -> RefreshReport:
    """What the latest look at a system's document found."""
    caller.require(*_SEEING, to="see connectors")
    return await house.catalogue.changes(name)


@router.post("/{name}/accept", responses=documented(409))
async def accept(name: str, request: AcceptRequest, house: Services, caller: Caller) -> RefreshReport:
    """Put the changes that are held in force."""
    caller.require(to="accept changes of connectors")
    return await house.catalogue.accept(name, request.digest)


@router.delete("/{name}", status_code=204, responses=documented(409))
async def remove(name: str, house: Services, caller: Caller) -> None:
    """Forget a system, its document and its credential."""
    caller.require(to="remove connectors")
    await house.catalogue.remove(name)
