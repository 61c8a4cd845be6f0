"""The door for tokens of identity providers: which tenant one opens, and who shows it."""

from dataclasses import dataclass

from practicum.contracts.tenants import TENANT_HEADER
from practicum.errors import AccessError, ForbiddenError, UnauthenticatedError
from practicum_gateway.access.issuers import Trusted
from practicum_gateway.access.keys import invalid_key
from practicum_gateway.access.principals import Principal
from practicum_gateway.access.tokens import Token
from practicum_gateway.estate import Estate
from practicum_gateway.house import House


@dataclass(frozen=True, slots=True)
class Way:
    """One tenant that a token may open.

    Attributes:
        house: the tenant's.
        trusted: the issuer that the tenant trusts.
    """

    house: House
    trusted: Trusted


def ways_of(estate: Estate, token: Token, tenant: str | None) -> tuple[Way, ...]:
    """Which tenants trust the issuer that a token names, for an audience that it names.

    Args:
        estate: all tenants.
        token: what was shown.
        tenant: the only one that is asked for, if one is.
    """
    houses = [house for name in estate.tenants if (house := estate.house(name)) is not None]
    return tuple(
        Way(house, trusted)
        for house in houses
        if tenant in {None, house.tenant}
        for trusted in house.issuers.trusting(token)
    )


async def principal_by(token: Token, ways: tuple[Way, ...]) -> Principal:
    """Who shows a token that opens exactly one tenant.

    Raises:
        UnauthenticatedError: it is not valid.
        ForbiddenError: it is worth nothing there, or would open several; which of them is not guessed.
    """
    if len(ways) == 1:
        return await ways[0].trusted.principal(token)
    for way in ways:
        try:
            await way.trusted.principal(token)
        except UnauthenticatedError:
            continue
        except AccessError:
            pass  # it is valid there: worth an answer that says more than that
        raise ForbiddenError(
            "More than one tenant, or issuer of a tenant, takes this token.",
            mend=f"Name the tenant in the header {TENANT_HEADER}, or use a token for one audience.",
        )
    raise invalid_key()
