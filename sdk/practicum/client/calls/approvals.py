"""Calls about approvals."""

from practicum.client.call import Call, build, path, query, read
from practicum.contracts.access import Approval, ApprovalAnswer, ApprovalStatus, Preview


def fetch_all(
    *, status: ApprovalStatus | None = None, episode: str | None = None, limit: int | None = None
) -> Call[list[Approval]]:
    """Approvals, newest first.

    Args:
        status: only those that stand so.
        episode: only those of this episode.
        limit: the most to return; the gateway's own bound when absent.
    """
    return Call("GET", "/v1/approvals", read(list[Approval]), query=query(status=status, episode=episode, limit=limit))


def get(approval: str) -> Call[Approval]:
    """One approval by its id.

    Raises:
        NotFoundError: there is none of this id.
    """
    return Call("GET", path("/v1/approvals/{}", approval), read(Approval))


def preview(approval: str) -> Call[Preview]:
    """What the call that waits would change, as far as a read of the same system can tell.

    Raises:
        NotFoundError: there is none of this id, or its tool is gone.
    """
    return Call("GET", path("/v1/approvals/{}/preview", approval), read(Preview))


def approve(approval: Approval, *, reason: str | None = None) -> Call[Approval]:
    """Say yes to exactly the call that `approval` shows.

    Args:
        approval: the approval as it was read; the answer holds for its arguments only.
        reason: why, for the record.

    Raises:
        ForbiddenError: the key may not approve, or asked for the call itself.
        ConflictError: it was answered already, expired, or its arguments changed.
    """
    return _answer(approval, approve=True, reason=reason)


def deny(approval: Approval, *, reason: str | None = None) -> Call[Approval]:
    """Say no to the call that `approval` shows; the model is told the reason.

    Raises:
        ForbiddenError: the key may not answer.
        ConflictError: it was answered already, or expired.
    """
    return _answer(approval, approve=False, reason=reason)


def _answer(approval: Approval, *, approve: bool, reason: str | None) -> Call[Approval]:
    answer = build(ApprovalAnswer, "answer", approve=approve, arguments_hash=approval.arguments_hash, reason=reason)
    return Call(
        "POST",
        path("/v1/approvals/{}", approval.id),
        read(Approval),
        body=answer,
        if_lost=f"Look whether the answer arrived: approvals.get('{approval.id}').",
    )
