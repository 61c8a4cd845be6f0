"""Health: is the process alive, and can it work."""

import asyncio
import time

from fastapi import APIRouter, Request
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from practicum.contracts.base import Value
from practicum.contracts.problems import FieldProblem
from practicum.errors import GatewayUnavailableError
from practicum_gateway.estate import Estate
from practicum_gateway.http.drain import Drain
from practicum_gateway.http.problems import documented
from practicum_gateway.store.migrate import head

router = APIRouter(tags=["health"])

_OK = "ok"
_GOOD_FOR_SECONDS = 1.0
_STORE_SECONDS = 3.0
_REVISION = text("SELECT version_num FROM alembic_version")


class Ready(Value):
    """What was looked at.

    Attributes:
        status: `ready`; what is not answers 503, with a problem that names each check that failed.
        checks: each check and how it went.
    """

    status: str = "ready"
    checks: dict[str, str]


class Readiness:
    """Looks whether the gateway can work; anybody may ask, so it looks at most once a second."""

    def __init__(self, drain: Drain) -> None:
        """Look at the way in which the gateway leaves, and at what it is given."""
        self._drain = drain
        self._store: dict[str, str] = {}
        self._looked = 0.0
        self._looking = asyncio.Lock()
        self._head: str | None = None

    async def checks(self, estate: Estate) -> dict[str, str]:
        """Each check and how it went: `ok`, or what is wrong in words that tell nothing secret."""
        serving = "The gateway is shutting down." if self._drain.leaving or estate.main.closing.is_set() else _OK
        async with self._looking:
            if time.monotonic() - self._looked > _GOOD_FOR_SECONDS:
                self._store = await self._look(estate)
                self._looked = time.monotonic()
        return {"serving": serving, **self._store}

    async def ready(self, estate: Estate) -> bool:
        """Whether it can work."""
        return all(said == _OK for said in (await self.checks(estate)).values())

    async def _look(self, estate: Estate) -> dict[str, str]:
        store = estate.main.store
        if estate.main.replica.lost.is_set():
            return {"store": "The gateway's hold on it was lost.", "migrations": "Not looked at."}
        if self._head is None:
            self._head = await asyncio.to_thread(head)
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                revision = await store.look(_revision)
        except (SQLAlchemyError, OSError, TimeoutError):
            return {"store": "It does not answer.", "migrations": "Not looked at."}
        done = _OK if revision == self._head else "The store is not of this release."
        return {"store": _OK, "migrations": done}


def _revision(connection: Connection) -> str | None:
    return connection.scalar(_REVISION)


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process is alive."""
    return {"status": "ok"}


@router.get("/readyz", responses=documented(503))
async def readyz(request: Request) -> Ready:
    """The store answers, its tables are those of this release, and the gateway is not shutting down."""
    readiness: Readiness = request.app.state.readiness
    checks = await readiness.checks(request.app.state.estate)
    faults = tuple(FieldProblem(where=name, what=what) for name, what in checks.items() if what != _OK)
    if faults:
        raise GatewayUnavailableError("The gateway cannot work now.", errors=faults, mend="Ask another one, or wait.")
    return Ready(checks=checks)
