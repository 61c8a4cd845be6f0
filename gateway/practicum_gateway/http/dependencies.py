"""What routers ask for: the house, and who is calling."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from practicum.errors import UnauthenticatedError
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House

_bearer = HTTPBearer(auto_error=False, description="A key of this gateway: `Authorization: Bearer prk_...`")


def house_of(request: Request) -> House:
    """The services of the running gateway."""
    house: House = request.app.state.house
    return house


async def principal_of(
    house: Annotated[House, Depends(house_of)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    """Who is calling.

    Raises:
        UnauthenticatedError: no key, or no valid one, came with the request.
    """
    if credentials is None:
        raise UnauthenticatedError(
            "No key came with the request.", mend="Send it as a header: Authorization: Bearer prk_..."
        )
    return await house.keys.authenticate(credentials.credentials)


Services = Annotated[House, Depends(house_of)]
"""The house, as a router's parameter: `house: Services`."""

Caller = Annotated[Principal, Depends(principal_of)]
"""The authenticated principal, as a router's parameter: `caller: Caller`."""
