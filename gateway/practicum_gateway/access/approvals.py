"""Approvals: a question to a person about exactly one call, answered once.

A question is bound to whoever wants the call, the tool, the canonical arguments and the rule that asked. Its answer
holds for that call alone, once, and only until it expires. Nobody answers what was asked on their own behalf, an
administrator no more than anybody else: where one person runs everything, that person answers with a second key that
speaks for another name (a new installation has one in `approver.key`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, cast

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.access import Approval, ApprovalAnswer, ApprovalStatus, Role
from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tools import Tool
from practicum.errors import ConflictError, ForbiddenError, NotFoundError
from practicum_gateway.access.principals import Principal
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.engine import Store, new_id

OnAnswer = Callable[[Approval], Awaitable[None]]
"""Told of an approval after its answer is stored. If it raises, the answer holds all the same, and whoever answered
may repeat the same answer, which tells it again."""

Once = Callable[[AsyncSession], Awaitable[None]]
"""Looks, in the transaction of an answer, whether that was taken before; what it raises undoes the answer."""

_TABLE = cast("Table", ApprovalRow.__table__)
_OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked.

    Attributes:
        scope: whose key `key` is one of.
        key: idempotency key of the call.
        requested_by: on whose behalf the call would be made.
        tool: the tool.
        arguments: its arguments as they may be shown.
        arguments_hash: hash of the arguments as they would be sent.
        rule: the rule that asks.
        revision: which revision of it.
        episode: the episode that waits, if one does.
        step: its step.
        call: the index of the call in the step.
    """

    scope: str
    key: str
    requested_by: str
    tool: Tool
    arguments: JsonObject
    arguments_hash: str
    rule: str
    revision: str
    episode: str | None = None
    step: int | None = None
    call: int | None = None


async def _nobody(_approval: Approval) -> None:
    """Nobody waits to be told."""


class Notices(Protocol):
    """Tells others of questions: what is to be told is written in the transaction of what it tells of."""

    async def asked(self, session: AsyncSession, approval: Approval) -> None:
        """Write that a question was asked."""
        ...

    async def closed(self, session: AsyncSession, approval: Approval) -> None:
        """Write that a question was answered or withdrawn."""
        ...

    def announce(self) -> None:
        """Have what was written told; after the transaction."""
        ...


class _Silence:
    """Nobody is told."""

    async def asked(self, session: AsyncSession, approval: Approval) -> None:
        _ = session, approval

    async def closed(self, session: AsyncSession, approval: Approval) -> None:
        _ = session, approval

    def announce(self) -> None:
        pass


class Approvals:
    """Keeps the questions and takes the answers.

    Attributes:
        on_answer: whom to tell of answers; the composition root sets it.
        meter: counts questions and answers; the composition root sets it.
    """

    def __init__(self, store: Store, *, seconds: int = 86_400, notices: Notices | None = None) -> None:
        """Keep approvals in a store.

        Args:
            store: where.
            seconds: how long a question can be answered, and then how long a yes can be used.
            notices: tells others of questions; nobody is told when absent.
        """
        self._store = store
        self._notices = notices or _Silence()
        self._lifetime = timedelta(seconds=seconds)
        self.on_answer: OnAnswer = _nobody
        self.meter = Meter()

    async def ask(self, question: Question) -> tuple[Approval, bool]:
        """Ask, or find the same question already asked; the flag says whether it is new.

        A question that was asked for the same key by another rule, or by another revision of it, is withdrawn: its
        answer would not hold.

        Raises:
            ConflictError: the key was used to ask about another tool or other arguments.
        """
        try:
            return await self._ask_once(question)
        except IntegrityError:  # another gateway asked at the same moment
            return await self._ask_once(question)

    async def _ask_once(self, question: Question) -> tuple[Approval, bool]:
        async with self._store.write() as session:
            row = await self._latest(session, question.scope, question.key)
            if row is not None:
                if (row.tool, row.arguments_hash) != (question.tool.name, question.arguments_hash):
                    raise ConflictError(
                        f"The key '{question.key}' was used to ask about another call.", mend="Use a new key."
                    )
                asked = (row.rule, row.rule_revision, row.requested_by)
                if asked == (question.rule, question.revision, question.requested_by):
                    return _approval(row), False
            if row is not None and row.status in _OPEN:
                await self._withdraw(session, row)
            fresh = self._row(question, serial=1 if row is None else row.serial + 1)
            session.add(fresh)
            new = _approval(fresh)
            await self._notices.asked(session, new)
            await append(session, _asked(fresh))
        self._notices.announce()
        return new, True

    def use(self, connection: Connection, approval: str) -> None:
        """Spend a yes, inside the transaction that claims the call.

        Raises:
            ConflictError: it is spent, expired, withdrawn or was never given.
        """
        one = _TABLE.c.id == approval
        row = connection.execute(select(_TABLE).where(one).with_for_update()).one_or_none()
        if row is None or _status(row, utc_now()) is not ApprovalStatus.APPROVED:
            raise ConflictError(f"The approval '{approval}' cannot be used (any more).")
        connection.execute(update(_TABLE).where(one).values(status=ApprovalStatus.USED))

    async def get(self, approval: str) -> Approval:
        """One approval; an open one past its time reads as expired.

        Raises:
            NotFoundError: there is none of that id.
        """
        async with self._store.read() as session:
            row = await session.get(ApprovalRow, approval)
        if row is None:
            raise NotFoundError(f"There is no approval '{approval}'.")
        return _approval(row)

    async def list(
        self, *, status: ApprovalStatus | None = None, episode: str | None = None, limit: int = 100
    ) -> tuple[Approval, ...]:
        """Approvals, newest first."""
        query = select(ApprovalRow).order_by(ApprovalRow.created.desc(), ApprovalRow.id.desc()).limit(limit)
        if status is not None:
            query = query.where(_reads_as(status, utc_now()))
        if episode is not None:
            query = query.where(ApprovalRow.episode == episode)
        async with self._store.read() as session:
            return tuple(_approval(row) for row in await session.scalars(query))

    async def answer(
        self, approval: str, principal: Principal, answer: ApprovalAnswer, *, once: Once | None = None
    ) -> Approval:
        """Take a person's answer, store it, then tell `on_answer`. The same person may repeat the same answer.

        Args:
            approval: id of the question.
            principal: who answers.
            answer: what they say.
            once: makes sure that it was not taken before, where it came in a way in which it could come again.

        Raises:
            NotFoundError: there is no such approval.
            ForbiddenError: the principal is no approver, or the call is made on its own behalf.
            ConflictError: it was answered, withdrawn or expired, or the approver saw other arguments.
        """
        principal.require(Role.APPROVER, to="answer approvals")
        async with self._store.write() as session:
            row = await session.get(ApprovalRow, approval, with_for_update=True)
            if row is None:
                raise NotFoundError(f"There is no approval '{approval}'.")
            if row.requested_by == principal.name:
                raise ForbiddenError(
                    f"The call was asked for on behalf of {principal.name}: somebody else has to answer.",
                    mend="Answer with a key that speaks for another principal, with the role approver or admin.",
                )
            if answer.arguments_hash != row.arguments_hash:
                raise ConflictError(
                    "The answer is about other arguments than the question.",
                    mend="Read the approval again and answer with its arguments_hash.",
                )
            repeated = _is_repeated(row, principal, answer)
            if not repeated:
                self._take(row, principal, answer)
            if once is not None:
                await once(session)
            answered = _approval(row)
            if not repeated:
                await self._notices.closed(session, answered)
                await append(session, _decided(row, principal))
        self._notices.announce()
        await self.on_answer(answered)
        return answered

    async def tell_again(self, approval: str, principal: Principal) -> None:
        """Tell `on_answer` of an approval once more, where it is this principal's answer that stands.

        Raises:
            NotFoundError: there is no such approval.
        """
        answered = await self.get(approval)
        if answered.decided_by == principal.name:
            await self.on_answer(answered)

    async def cancel_of_episode(self, episode: str) -> None:
        """Withdraw the open questions of an episode: nobody waits for their answers any more."""
        waiting = select(ApprovalRow).where(ApprovalRow.episode == episode, ApprovalRow.status.in_(_OPEN))
        async with self._store.write() as session:
            for row in (await session.scalars(waiting.order_by(ApprovalRow.id).with_for_update())).all():
                await self._withdraw(session, row)
        self._notices.announce()

    async def _withdraw(self, session: AsyncSession, row: ApprovalRow) -> None:
        unanswered = row.status == ApprovalStatus.PENDING
        row.status = ApprovalStatus.CANCELLED
        if unanswered:
            self.meter.approvals.add(row.status)
            await self._notices.closed(session, _approval(row))

    def _take(self, row: ApprovalRow, principal: Principal, answer: ApprovalAnswer) -> None:
        now = utc_now()
        if (status := _status(row, now)) is not ApprovalStatus.PENDING:
            raise ConflictError(f"The approval '{row.id}' is {status} and takes no answer.")
        row.status = ApprovalStatus.APPROVED if answer.approve else ApprovalStatus.DENIED
        row.decided_by, row.decided, row.reason = principal.name, now, answer.reason
        row.expires = now + self._lifetime
        self.meter.approvals.add(row.status)

    def _row(self, question: Question, *, serial: int) -> ApprovalRow:
        now = utc_now()
        self.meter.approvals.add("asked")
        return ApprovalRow(
            id=new_id("apr"),
            scope=question.scope,
            key=question.key,
            serial=serial,
            episode=question.episode,
            step=question.step,
            call=question.call,
            tool=question.tool.name,
            effect=question.tool.effect,
            arguments=question.arguments,
            arguments_hash=question.arguments_hash,
            rule=question.rule,
            rule_revision=question.revision,
            requested_by=question.requested_by,
            status=ApprovalStatus.PENDING,
            decided_by=None,
            decided=None,
            reason=None,
            created=now,
            expires=now + self._lifetime,
        )

    @staticmethod
    async def _latest(session: AsyncSession, scope: str, key: str) -> ApprovalRow | None:
        return await session.scalar(
            select(ApprovalRow)
            .where(ApprovalRow.scope == scope, ApprovalRow.key == key)
            .order_by(ApprovalRow.serial.desc())
            .limit(1)
            .with_for_update()
        )


def _asked(row: ApprovalRow) -> Deed:
    details: JsonObject = {
        "tool": row.tool,
        "arguments": row.arguments,
        "arguments_hash": row.arguments_hash,
        "rule": row.rule,
        "requested_by": row.requested_by,
    }
    return Deed(Action.APPROVAL_ASKED, row.id, episode=row.episode, details=details)


def _decided(row: ApprovalRow, principal: Principal) -> Deed:
    action = Action.APPROVAL_APPROVED if row.status == ApprovalStatus.APPROVED else Action.APPROVAL_DENIED
    details: JsonObject = {
        "tool": row.tool,
        "arguments_hash": row.arguments_hash,
        "requested_by": row.requested_by,
        "reason": row.reason,
    }
    return Deed(action, row.id, episode=row.episode, details=details, who=principal.who)


def _is_repeated(row: ApprovalRow, principal: Principal, answer: ApprovalAnswer) -> bool:
    given = {ApprovalStatus.APPROVED: True, ApprovalStatus.USED: True, ApprovalStatus.DENIED: False}
    return row.decided_by == principal.name and given.get(ApprovalStatus(row.status)) is answer.approve


def _status(row: ApprovalRow | Row[Any], now: datetime) -> ApprovalStatus:
    status = ApprovalStatus(row.status)
    return ApprovalStatus.EXPIRED if status in _OPEN and row.expires <= now else status


def _reads_as(status: ApprovalStatus, now: datetime) -> ColumnElement[bool]:
    stored = ApprovalRow.status == status
    if status in _OPEN:
        return and_(stored, ApprovalRow.expires > now)
    if status is ApprovalStatus.EXPIRED:
        return or_(stored, and_(ApprovalRow.status.in_(_OPEN), ApprovalRow.expires <= now))
    return stored


def _approval(row: ApprovalRow) -> Approval:
    return Approval.model_validate(
        {name: getattr(row, name) for name in Approval.model_fields} | {"status": _status(row, utc_now())}
    )
