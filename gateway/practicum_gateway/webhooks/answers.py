"""Answers through webhooks: known by their signature alone, taken once, and from nobody who asked."""

import re
import time
import unicodedata
from urllib.parse import quote, unquote

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.access import Approval, ApprovalAnswer, Role
from practicum.contracts.base import utc_now
from practicum.contracts.webhooks import WebhookAnswer
from practicum.errors import ConflictError, ForbiddenError, RequestError, UnauthenticatedError
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.principals import WEBHOOK, Principal
from practicum_gateway.audit.who import acting_as
from practicum_gateway.store.webhook_tables import WebhookAnswerRow
from practicum_gateway.webhooks.receivers import Receiver
from practicum_gateway.webhooks.signatures import Envelope, is_signed, new_secret

_LONGEST_NAME = 100
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""What prints, and shows nothing; all else that shows nothing is refused for not printing."""
_UNENCODED = "@|+"  # and letters, digits and _.-~, which are never encoded


class ReplayedError(ConflictError):
    """An answer with this `webhook-id` was taken already."""


def require_signed(receiver: Receiver | None, envelope: Envelope, body: bytes) -> Receiver:
    """The webhook whose answer it is.

    Args:
        receiver: the one that the address names, if there is one; where there is none it takes as long.
        envelope: what came with the body.
        body: exactly what came.

    Raises:
        UnauthenticatedError: it was not signed lately by this webhook; why not, is not said.
    """
    by = (new_secret(),) if receiver is None else receiver.checking
    if not is_signed(body, envelope, at=time.time(), by=by) or receiver is None:
        raise UnauthenticatedError(
            "The answer is not signed by a webhook of this gateway, or not lately.",
            mend="Post it to the `answer_url` of the message, signed with the answer secret, within 5 minutes.",
        )
    return receiver


class Answers:
    """Takes answers whose signature was found right."""

    def __init__(self, approvals: Approvals) -> None:
        """Hand them on to approvals."""
        self._approvals = approvals

    async def take(self, principal: Principal, receiver: Receiver, message: str, answer: WebhookAnswer) -> Approval:
        """Decide an approval as the person says who answered in another system.

        Args:
            principal: that person, as `person_of` names them.
            receiver: through which webhook.
            message: the answer's `webhook-id`.
            answer: what they said.

        Raises:
            NotFoundError: there is no such approval.
            ForbiddenError: it is the person who asked.
            ReplayedError: an answer of this id was taken already.
            ConflictError: it was answered, withdrawn or expired, or the person saw other arguments.
        """
        asked = await self._approvals.get(answer.approval)
        _require_other(answer.answered_by, asked.requested_by)

        async def once(session: AsyncSession) -> None:
            session.add(WebhookAnswerRow(webhook=receiver.name, message=message, at=utc_now()))
            try:
                await session.flush()
            except IntegrityError:
                raise ReplayedError(
                    f"An answer with the webhook-id '{message}' was taken already.",
                    mend="It holds: nothing is left to be done. Give another answer an id of its own.",
                ) from None

        said = ApprovalAnswer(approve=answer.approve, arguments_hash=answer.arguments_hash, reason=answer.reason)
        with acting_as(principal.who):
            try:
                return await self._approvals.answer(asked.id, principal, said, once=once)
            except ReplayedError:
                # Whoever sends it again may have been told that the episode could not be told: it is told again.
                await self._approvals.tell_again(asked.id, principal)
                raise


def person_of(receiver: Receiver, answered_by: str) -> Principal:
    """Who answered: a principal that is named by the webhook and the person, so that it is nobody else's.

    Raises:
        RequestError: the name is too long, or holds what does not print.
    """
    name = f"{WEBHOOK}:{receiver.name}:{quote(answered_by.strip(), safe=_UNENCODED)}"
    if len(name) > _LONGEST_NAME or not answered_by.isprintable():
        raise RequestError(
            "`answered_by` is too long, or holds characters that do not print.", mend="Send a short name or an id."
        )
    return Principal(name=name, role=Role.APPROVER, key_id=f"{WEBHOOK}:{receiver.name}")


def _require_other(person: str, requested_by: str) -> None:
    """Refuse a person who bears the name of who asked, with or without the issuer's before it.

    Raises:
        ForbiddenError: it is the same.
    """
    if _plain(person) in {_plain(requested_by), _plain(unquote(requested_by.partition(":")[2]))}:
        raise ForbiddenError(
            f"The call was asked for on behalf of {requested_by}: somebody else has to answer.",
            mend="Let another person answer.",
        )


def _plain(name: str) -> str:
    """A name without what nobody sees: its case, its spaces and the signs that are drawn as nothing."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(_UNSEEN.sub("", folded).split())
