"""What routers ask for: the house, and who is calling."""

from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.security import HTTPBearer

from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House

# Says in the OpenAPI document how to authenticate; the door in `middleware.py` has done it before a router is reached.
_bearer = HTTPBearer(auto_error=False, description="A key of this gateway (`prk_...`), or a token of an issuer.")


async def house_of(request: Request) -> House:
    """The services of the tenant whose key came with the request; the main one's where none is asked for."""
    house: House | None = getattr(request.state, "house", None)
    return request.app.state.estate.main if house is None else house


async def principal_of(request: Request, _: Annotated[object, Depends(_bearer)]) -> Principal:
    """Who is calling."""
    principal: Principal = request.state.principal
    return principal


Services = Annotated[House, Depends(house_of)]
"""The house, as a router's parameter: `house: Services`."""

Caller = Annotated[Principal, Depends(principal_of)]
"""The authenticated principal, as a router's parameter: `caller: Caller`."""

Limit = Annotated[int, Query(ge=1, le=1000, description="The most that is returned.")]
"""The length of a list, as a router's parameter: `limit: Limit = 100`."""
