"""Approvals: what waits for a person, and the answer."""

from fastapi import APIRouter

from practicum.contracts.access import Approval, ApprovalAnswer, ApprovalStatus, Role
from practicum.errors import NotFoundError
from practicum_gateway.access.principals import Principal
from practicum_gateway.http.dependencies import Caller, Limit, Services

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])

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


@router.post("/{approval_id}")
async def answer(approval_id: str, answer: ApprovalAnswer, house: Services, caller: Caller) -> Approval:
    """Answer, once, for exactly the arguments that were shown; nobody answers what was asked on their own behalf."""
    return await house.approvals.answer(approval_id, caller, answer)


def _sees(caller: Principal, approval: Approval) -> bool:
    if caller.episode is not None:
        return approval.episode == caller.episode
    return caller.role is Role.ADMIN or caller.role in _SEEING or approval.requested_by == caller.name
