"""The audit log: read, check, export and erase from it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from practicum.contracts.access import Role
from practicum.contracts.audit import LARGEST, AuditCheck, AuditEntry, AuditHead, AuditQuery, EraseRequest, Erasure
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Services

router = APIRouter(prefix="/v1/audit", tags=["audit"], route_class=JsonRoute)

_HEAD = r"^[0-9]{1,18}:[0-9a-f]{64}$"
_LINES = "application/jsonl"
_EXPORTED: dict[int | str, dict[str, Any]] = {200: {"description": "A line an entry.", "content": {_LINES: {}}}}


@router.get("")
async def entries(house: Services, caller: Caller, wanted: Annotated[AuditQuery, Query()]) -> tuple[AuditEntry, ...]:
    """Entries, newest first."""
    caller.require(Role.AUDITOR, to="read the audit log")
    return await house.audit.list(wanted)


@router.get("/head")
async def head(house: Services, caller: Caller) -> AuditHead:
    """The last entry: noted outside, it shows later whether entries went missing."""
    caller.require(Role.AUDITOR, to="read the audit log")
    return await house.audit.head()


@router.get("/verify")
async def verify(
    house: Services,
    caller: Caller,
    head: Annotated[
        str | None, Query(pattern=_HEAD, description="`SEQUENCE:HASH` of a last entry noted earlier.")
    ] = None,
) -> AuditCheck:
    """Look at every entry: was one changed, removed, inserted or moved?"""
    caller.require(Role.AUDITOR, to="check the audit log")
    return await house.audit.verify(None if head is None else AuditHead.parse(head))


@router.get("/export", response_class=StreamingResponse, responses=_EXPORTED)
async def export(
    house: Services, caller: Caller, after: Annotated[int, Query(ge=0, le=LARGEST)] = 0
) -> StreamingResponse:
    """Every entry, or those after one, oldest first, each a line of JSON that can be checked outside."""
    caller.require(Role.AUDITOR, to="export the audit log")
    lines = house.audit.export(after)
    return StreamingResponse(lines, media_type=_LINES, headers={"Cache-Control": "no-store"})


@router.post("/erase")
async def erase(request: EraseRequest, house: Services, caller: Caller) -> Erasure:
    """Erase what the log says of somebody; that it was erased, and where, is added to the log."""
    caller.require(to="erase from the audit log")
    return await house.audit.erase(request)
