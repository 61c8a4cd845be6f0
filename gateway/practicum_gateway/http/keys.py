"""API keys: issue, list, revoke; for administrators."""

from fastapi import APIRouter

from practicum.contracts.access import IssuedKey, KeyInfo, KeyRequest, Role
from practicum_gateway.http.dependencies import Caller, Limit, Services

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201)
async def issue(request: KeyRequest, house: Services, caller: Caller) -> IssuedKey:
    """Make a key; its secret is shown in this answer and never again."""
    caller.require(to="issue keys")
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
