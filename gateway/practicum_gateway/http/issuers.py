"""Issuers: identity providers whose tokens are taken; for administrators."""

from fastapi import APIRouter

from practicum.contracts.access import Role
from practicum.contracts.issuers import Issuer
from practicum.errors import RequestError
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/issuers", tags=["issuers"], route_class=JsonRoute)


@router.get("")
async def issuers(house: Services, caller: Caller) -> tuple[Issuer, ...]:
    """The issuers, by name."""
    caller.require(Role.AUDITOR, to="list issuers")
    return house.issuers.list()


@router.get("/{name}")
async def issuer(name: str, house: Services, caller: Caller) -> Issuer:
    """One issuer."""
    caller.require(Role.AUDITOR, to="see issuers")
    return house.issuers.get(name)


@router.put("/{name}", responses=documented(409))
async def put(name: str, issuer: Issuer, house: Services, caller: Caller) -> Issuer:
    """Take an issuer's tokens from now on, on these terms; its keys are fetched to see that they can be had."""
    caller.require(to="trust issuers")
    if issuer.name != name:
        raise RequestError("The issuer in the body has another name than the path.", mend="Give both the same.")
    return await house.issuers.put(issuer)


@router.delete("/{name}", status_code=204)
async def remove(name: str, house: Services, caller: Caller) -> None:
    """Take its tokens no longer, from the next request on."""
    caller.require(to="remove issuers")
    await house.issuers.remove(name)
