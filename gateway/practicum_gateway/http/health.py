"""Health: is the process alive, and can it work."""

from fastapi import APIRouter

from practicum.errors import ConfigurationError, GatewayUnavailableError
from practicum_gateway.http.dependencies import Services
from practicum_gateway.http.problems import documented

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process is alive."""
    return {"status": "ok"}


@router.get("/readyz", responses=documented(503))
async def readyz(house: Services) -> dict[str, str]:
    """The store answers and the gateway is not shutting down."""
    if house.closing.is_set():
        raise GatewayUnavailableError("The gateway is shutting down.", mend="Ask another one, or wait.")
    try:
        await house.store.check()
    except ConfigurationError as error:
        raise GatewayUnavailableError("The store does not answer.", mend=error.mend) from error
    return {"status": "ready"}
