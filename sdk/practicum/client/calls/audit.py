"""Calls about the audit log."""

from typing import TypedDict, Unpack

from pydantic import AwareDatetime

from practicum.client.call import Call, build, content, query, read
from practicum.contracts.audit import Action, AuditCheck, AuditEntry, AuditHead, AuditQuery, EraseRequest, Erasure


class AuditFilter(TypedDict, total=False):
    """Which entries are asked for; `practicum.contracts.audit.AuditQuery` says what each field means."""

    actor: str | None
    action: Action | None
    subject: str | None
    episode: str | None
    since: AwareDatetime | None
    until: AwareDatetime | None
    after: int | None
    before: int | None
    limit: int


def fetch_all(**wanted: Unpack[AuditFilter]) -> Call[list[AuditEntry]]:
    """Entries of the audit log, newest first.

    Args:
        wanted: which ones; all fields that are given have to fit.

    Raises:
        ForbiddenError: the key is neither an auditor's nor an administrator's.
    """
    asked = build(AuditQuery, "query", **wanted)
    fields = asked.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return Call("GET", "/v1/audit", read(list[AuditEntry]), query=query(**fields))


def head() -> Call[AuditHead]:
    """The last entry: noted outside, it shows later whether entries went missing."""
    return Call("GET", "/v1/audit/head", read(AuditHead))


def verify(*, noted: AuditHead | None = None) -> Call[AuditCheck]:
    """Have the gateway look at every entry; an export can be checked without it, with `practicum.audit`.

    Args:
        noted: a last entry as it was noted outside earlier.
    """
    return Call("GET", "/v1/audit/verify", read(AuditCheck), query=query(head=None if noted is None else str(noted)))


def export(after: int) -> Call[bytes]:
    """The entries behind one, oldest first, each a line of JSON."""
    return Call("GET", "/v1/audit/export", content, query=query(after=after or None))


def erase(subject: str, *, reason: str) -> Call[Erasure]:
    """Erase the details of every entry that names somebody; the answer holds a receipt that is kept nowhere else.

    Args:
        subject: what names them.
        reason: why; it stays in the log, so it must not name them.

    Raises:
        ForbiddenError: the key is no administrator's.
        RequestError: the reason names the subject, or the subject is too short to name anybody.
    """
    request = build(EraseRequest, "erasure", subject=subject, reason=reason)
    return Call(
        "POST",
        "/v1/audit/erase",
        read(Erasure),
        body=request,
        if_lost="Erase again for another receipt: list the log's latest entries to see what was done.",
    )
