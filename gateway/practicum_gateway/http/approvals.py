"""Approvals: what waits for a person, and the answer."""

from fastapi import APIRouter

from practicum.contracts.access import Approval, ApprovalAnswer, ApprovalStatus, Preview, Role
from practicum.errors import NotFoundError
from practicum_gateway.access.principals import Principal
from practicum_gateway.http.bodies import JsonRoute
from practicum_gateway.http.dependencies import Caller, Limit, Services
from practicum_gateway.http.problems import documented

router = APIRouter(prefix="/v1/approvals", tags=["approvals"], route_class=JsonRoute)

_SEEING = (Role.APPROVER, Role.DEVELOPER, Role.WORKER, Role.AUDITOR)


@router.get("")
async def approvals(
    house: Services,
    caller: Caller,
    status: ApprovalStatus | None = None,
    episode: str | None = None,
    limit: Limit = 100,
) -> tuple[Approval, ...]:
    """What was asked, newest first; an agent sees what was asked on its own behalf."""
    found = await house.approvals.list(status=status, episode=caller.episode or episode, limit=limit)
    return tuple(approval for approval in found if _sees(caller, approval))


@router.get("/{approval_id}")
async def approval(approval_id: str, house: Services, caller: Caller) -> Approval:
    """One question and where it stands."""
    found = await house.approvals.get(approval_id)
    if not _sees(caller, found):
        raise NotFoundError(f"There is no approval '{approval_id}'.")
    return found


@router.get("/{approval_id}/preview")
async def preview(approval_id: str, house: Services, caller: Caller) -> Preview:
    """What the call would change, as far as a read of the same system can tell; for people, not for agents."""
    # The read may be one that an agent's episode is not offered, and more than an auditor is to see.
    caller.require(Role.APPROVER, Role.DEVELOPER, to="look at what a call would change")
    return await house.previews.of(await approval(approval_id, house, caller))


@router.post("/{approval_id}", responses=documented(409))
async def answer(approval_id: str, answer: ApprovalAnswer, house: Services, caller: Caller) -> Approval:
    """Answer, once, for exactly the arguments that were shown; nobody answers what was asked on their own behalf."""
    return await house.approvals.answer(approval_id, caller, answer)


def _sees(caller: Principal, approval: Approval) -> bool:
    if caller.episode is not None:
        return approval.episode == caller.episode
    return caller.role is Role.ADMIN or caller.role in _SEEING or approval.requested_by == caller.name
