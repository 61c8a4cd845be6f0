"""Looks at approvals, by those who asked: they see where one stands and cannot answer it."""

import asyncio

from practicum.contracts.access import ApprovalStatus
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.access.principals import Principal
from practicum_gateway.access.questions import Asked, asked_as
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import scope_of
from practicum_gateway.invocation.outcomes import unapproved
from practicum_gateway.invocation.recorded import outcome_of
from practicum_gateway.mcp.shown import LONGEST_WAIT

_EVERY_SECONDS = 1.0
_SHOWN = 60


async def look(house: House, caller: Principal, arguments: JsonObject) -> Observation:
    """Where an approval of the caller's stands; of a call that was made, its outcome."""
    approval, seconds = arguments.get("approval"), arguments.get("wait_seconds", 0)
    if not isinstance(approval, str) or set(arguments) - {"approval", "wait_seconds"}:
        return _mendable("Give `approval`, the id that the waiting call was answered with, and perhaps `wait_seconds`.")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 <= seconds <= LONGEST_WAIT:
        return _mendable(f"`wait_seconds` is a whole number from 0 to {LONGEST_WAIT}.")
    scope = scope_of(caller, caller.episode)
    asked = await asked_as(house.store, scope, approval)
    if asked is None:
        return _mendable(f"There is no approval '{approval[:_SHOWN]}' of yours.")
    if seconds and asked.approval.status is ApprovalStatus.PENDING:
        await wait_for_answer(house, approval, seconds)
        asked = await asked_as(house.store, scope, approval) or asked
    return await _told(house, scope, asked)


async def wait_for_answer(house: House, approval: str, seconds: float) -> None:
    """Wait until an approval is answered, for so long at most; not beyond the gateway's end."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (await house.approvals.get(approval)).status is ApprovalStatus.PENDING:
        left = end - loop.time()
        if left <= 0 or house.closing.is_set():
            return
        try:
            async with asyncio.timeout(min(left, _EVERY_SECONDS)):
                await house.closing.wait()
        except TimeoutError:
            continue


def waiting_text(tool: str, approval: str) -> str:
    """What the model is told of a call that waits."""
    return (
        f"This call waits for a person to approve it ({approval}). Nothing was sent. To look again, call {tool} once "
        f"more with the same arguments: once it was approved, that makes the call and answers with its outcome."
    )


async def _told(house: House, scope: str, asked: Asked) -> Observation:
    approval = asked.approval
    if approval.status is ApprovalStatus.PENDING:
        return _fine(f"The call of {approval.tool} still waits for a person's answer; nothing was sent.")
    if approval.status is ApprovalStatus.APPROVED:
        return _fine(
            f"The call of {approval.tool} was approved and is not made yet. Call {approval.tool} again with the same "
            f"arguments: that makes it."
        )
    if approval.status is not ApprovalStatus.USED:
        return unapproved(approval)
    outcome = await outcome_of(house.store, scope, asked.key)
    return outcome or _fine(f"The call of {approval.tool} was approved and is being made.")


def _fine(text: str) -> Observation:
    return Observation(status=CallStatus.OK, content=text)


def _mendable(text: str) -> Observation:
    return Observation(status=CallStatus.ERROR, content=text)
