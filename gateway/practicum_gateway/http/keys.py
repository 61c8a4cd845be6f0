"""API keys: issue, list, rotate, revoke; for administrators."""

from datetime import timedelta

from fastapi import APIRouter

from practicum.contracts.access import IssuedKey, KeyInfo, KeyRequest, KeyRotation, Role
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)


@router.post("", status_code=201, responses=documented(409))
async def issue(request: KeyRequest, house: Services, caller: Caller) -> IssuedKey:
    """Make a key; its secret is shown in this answer and never again."""
    caller.require(to="issue keys")
    house.issuers.require_free(request.principal)
    return await house.keys.issue(request)


@router.get("")
async def keys(house: Services, caller: Caller, limit: Limit = 100) -> tuple[KeyInfo, ...]:
    """The keys, newest first, without their secrets."""
    caller.require(Role.AUDITOR, to="list keys")
    return await house.keys.list(limit)


@router.delete("/{key_id}", status_code=204)
async def revoke(key_id: str, house: Services, caller: Caller) -> None:
    """Withdraw a key; what it authorises ends with the next request."""
    caller.require(to="revoke keys")
    await house.keys.revoke(key_id)


@router.post("/{key_id}/rotate", status_code=201, responses=documented(409))
async def rotate(key_id: str, request: KeyRotation, house: Services, caller: Caller) -> IssuedKey:
    """Make a key that takes the place of another, which goes on for a while; its secret is shown this once."""
    caller.require(to="rotate keys")
    return await house.keys.rotate(key_id, timedelta(seconds=request.grace_seconds))
