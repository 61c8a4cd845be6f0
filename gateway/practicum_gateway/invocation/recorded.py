"""Outcomes in the ledger, found by the key of their call alone."""

from sqlalchemy import select

from practicum.contracts.tools import Observation
from practicum_gateway.store.engine import Store
from practicum_gateway.store.ledger_tables import InvocationRow


async def outcome_of(store: Store, scope: str, key: str) -> Observation | None:
    """The recorded outcome of a call; None while it has none.

    Args:
        store: where the ledger is kept.
        scope: an episode's or a principal's, as of an intent.
        key: idempotency key of the call.
    """
    one = select(InvocationRow.observation).where(InvocationRow.scope == scope, InvocationRow.key == key)
    async with store.read() as session:
        found = await session.scalar(one)
        return None if found is None else Observation.model_validate(found)
