"""What was spent of the budgets, and whether there is room for more."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection, Table, delete, func, insert, select, text

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tools import Tool
from practicum.errors import BudgetError
from practicum_gateway.access.budgets import Spending, spendings, tokens_of
from practicum_gateway.access.principals import Actor
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.store.budget_tables import SpendingRow
from practicum_gateway.store.engine import Store, new_id

_INSERT = insert(cast("Table", SpendingRow.__table__))


class Budgets:
    """Keeps what was spent."""

    def __init__(self, store: Store, rulebook: Rulebook) -> None:
        """Keep spendings in a store, by the budgets of a rulebook."""
        self._store = store
        self._rulebook = rulebook

    async def of_call(
        self, tool: Tool, actor: Actor, episode: str | None, arguments: JsonObject
    ) -> tuple[Spending, ...]:
        """What a tool call would spend."""
        return spendings(await self._rulebook.current(), tool, actor, episode, arguments)

    async def require_tokens(self, actor: Actor, episode: str | None) -> None:
        """Go on only if there are tokens left for another turn.

        Raises:
            BudgetError: a budget is used up.
        """
        wanted = tokens_of(await self._rulebook.current(), actor, episode, 0)
        if not wanted:
            return
        for spending in wanted:
            spent, oldest = await self._store.look(partial(_spent, spending=spending))
            if spent >= spending.most:
                raise _used_up(spending, oldest)

    async def spend_tokens(self, actor: Actor, episode: str | None, tokens: int) -> None:
        """Write down what a turn took."""
        taken = tokens_of(await self._rulebook.current(), actor, episode, tokens)
        if taken and tokens:
            rows = [_row(spending, None) for spending in taken]
            await self._store.change(lambda at: at.execute(_INSERT, rows))


def spend(connection: Connection, wanted: tuple[Spending, ...], invocation: str) -> None:
    """Take what a call spends, inside the transaction that claims it; once for each call.

    Raises:
        BudgetError: a budget has no room for it.
    """
    if not wanted:
        return
    present = connection.scalar(select(SpendingRow.id).where(SpendingRow.invocation == invocation).limit(1))
    if present is not None:
        return
    for spending in sorted(wanted, key=lambda one: (one.budget.id, one.pot)):
        if connection.dialect.name == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:pot, 0))")
            connection.execute(lock, {"pot": f"{spending.budget.id} {spending.pot}"})
        if spending.amount is None:
            raise BudgetError(
                f"The budget '{spending.budget.id}' cannot tell what this call spends: "
                f"there is no amount at {spending.budget.amount} of its arguments."
            )
        spent, oldest = _spent(connection, spending)
        if spent + spending.amount > spending.most:
            raise _used_up(spending, oldest)
    connection.execute(_INSERT, [_row(spending, invocation) for spending in wanted])


def give_back(connection: Connection, invocation: str) -> None:
    """Give back the money of a call by which surely nothing was done."""
    connection.execute(delete(SpendingRow).where(SpendingRow.invocation == invocation, SpendingRow.returnable))


def _spent(connection: Connection, spending: Spending) -> tuple[float, datetime | None]:
    """What was spent from a pot in the time that is looked back, and when first."""
    query = select(func.coalesce(func.sum(SpendingRow.amount), 0.0), func.min(SpendingRow.at)).where(
        SpendingRow.budget == spending.budget.id, SpendingRow.pot == spending.pot
    )
    if spending.budget.seconds is not None:
        query = query.where(SpendingRow.at > utc_now() - timedelta(seconds=spending.budget.seconds))
    spent, oldest = connection.execute(query).one()
    return float(spent), oldest


def _used_up(spending: Spending, oldest: datetime | None) -> BudgetError:
    budget = spending.budget
    what = "calls" if budget.calls is not None else "tokens" if budget.tokens is not None else "in money"
    span = "" if budget.seconds is None else f" in {budget.seconds:g} s"
    wait = None
    if budget.seconds is not None and oldest is not None:
        wait = max(1.0, (oldest + timedelta(seconds=budget.seconds) - utc_now()).total_seconds())
    return BudgetError(
        f"The budget '{budget.id}' of {spending.most:g} {what}{span} for {spending.pot} has no room for this.",
        mend="Wait until it has, or have it raised (`practicum rules set`).",
        retry_after=wait,
    )


def _row(spending: Spending, invocation: str | None) -> dict[str, Any]:
    return {
        "id": new_id("sp"),
        "budget": spending.budget.id,
        "pot": spending.pot,
        "at": utc_now(),
        "amount": spending.amount or 0.0,
        "invocation": invocation,
        "returnable": spending.budget.money is not None,
    }
