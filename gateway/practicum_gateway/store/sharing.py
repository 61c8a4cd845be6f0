"""What those share who work on one PostgreSQL server: what they tell it of themselves, and turns."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from practicum.errors import GatewayUnavailableError

_SILENT = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25000",
    "idle_in_transaction_session_timeout": "60000",
}
"""The server lets go of all that a gateway held whose machine fell silent: within half a minute, a minute if it
stopped in the middle of a transaction."""
_LOCK = "hashtextextended(current_schema() || ' turn of ' || CAST(:turn AS text), 0)"
_TURN_OF_TRANSACTION = text(f"SELECT pg_advisory_xact_lock({_LOCK})")
_TAKE_TURN, _LEAVE_TURN = text(f"SELECT pg_advisory_lock({_LOCK})"), text(f"SELECT pg_advisory_unlock({_LOCK})")


def settings_of(name: str, schema: str | None = None) -> dict[str, str]:
    """What a connection tells the server of itself.

    Args:
        name: who works on it.
        schema: where the tables are; the default one when absent.
    """
    return {**_SILENT, "application_name": name, **({} if schema is None else {"search_path": schema})}


async def take_turn(session: AsyncSession, of: str, lost: asyncio.Event | None) -> None:
    """Wait for the turn, and have it until the transaction ends.

    Args:
        session: the transaction's.
        of: what it is the turn of.
        lost: set when who asks is cut off from others, and does not know what they have changed since.

    Raises:
        GatewayUnavailableError: it is.
    """
    await session.execute(_TURN_OF_TRANSACTION, {"turn": of})
    if lost is not None and lost.is_set():
        raise GatewayUnavailableError(
            "The gateway's hold on its database was lost: nothing was written.", mend="Ask another gateway, or wait."
        )


@contextlib.asynccontextmanager
async def turn(engine: AsyncEngine, of: str) -> AsyncGenerator[None]:
    """Wait for the turn, and have it while the block lasts, on a connection of its own."""
    async with engine.connect() as connection:
        apart = await connection.execution_options(isolation_level="AUTOCOMMIT")
        await apart.execute(_TAKE_TURN, {"turn": of})
        try:
            yield
        finally:
            await apart.execute(_LEAVE_TURN, {"turn": of})
