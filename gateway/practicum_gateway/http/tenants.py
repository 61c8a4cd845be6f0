"""Tenants: made, listed and removed by the main tenant's administrators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from practicum.contracts.access import IssuedKey
from practicum.contracts.audit import Action
from practicum.contracts.tenants import MAIN, NewTenant, Tenant, TenantRequest
from practicum.errors import ForbiddenError
from practicum_gateway.audit.log import Deed
from practicum_gateway.estate import Estate
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=JsonRoute)


def estate_of(request: Request, house: Services, caller: Caller) -> Estate:
    """The estate, for whoever may run it."""
    caller.require(to="run tenants")
    if house.tenant != MAIN:
        raise ForbiddenError("Tenants are run by the administrators of the main tenant.")
    estate: Estate = request.app.state.estate
    return estate


Operated = Annotated[Estate, Depends(estate_of)]


@router.post("", status_code=201, responses=documented(409, 502))
async def create(request: TenantRequest, estate: Operated) -> NewTenant:
    """Make a tenant; the secret of its administrator's key is shown in this answer and never again."""
    key = await estate.create(request.name, request.admin)
    await estate.main.audit.note(Deed(Action.TENANT_CREATED, request.name, details={"admin": request.admin}))
    return NewTenant(tenant=Tenant(name=request.name), key=key)


@router.get("")
async def tenants(estate: Operated) -> tuple[Tenant, ...]:
    """The tenants, the main one first."""
    return tuple(Tenant(name=name) for name in estate.tenants)


@router.post("/{name}/keys", status_code=201)
async def admin_key(name: str, estate: Operated) -> IssuedKey:
    """Another key of an administrator of a tenant, for one that lost theirs."""
    return await estate.admin_key(name, "admin")


@router.delete("/{name}", status_code=204, responses=documented(409))
async def remove(name: str, estate: Operated) -> None:
    """End a tenant's episodes and destroy all that is kept of it."""
    house = estate.house(name)
    head = None if house is None else str(await house.audit.head())
    await estate.remove(name)
    await estate.main.audit.note(Deed(Action.TENANT_REMOVED, name, details={"head": head}))
