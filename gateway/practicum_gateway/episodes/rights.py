"""Who may do what with an episode. Pure."""

from practicum.contracts.access import Role
from practicum.contracts.episodes import Driver, Episode
from practicum.errors import ForbiddenError, NotFoundError
from practicum_gateway.access.principals import Principal


def check_sight(principal: Principal, episode: Episode) -> None:
    """Go on only if this principal may see the episode; to an agent, others' episodes do not exist.

    Raises:
        NotFoundError: it may not.
    """
    if principal.episode is not None:
        seen = principal.episode == episode.id
    else:
        seen = principal.role is not Role.AGENT or principal.name == episode.principal
    if not seen:
        raise NotFoundError(f"There is no episode '{episode.id}'.")


def check_driving(principal: Principal, episode: Episode) -> None:
    """Go on only if this principal may take the episode's turns, make its calls and close it.

    A durable episode is driven by the worker; another one by whoever began it, or with its own key.

    Raises:
        ForbiddenError: it may not.
    """
    if principal.role in (Role.ADMIN, Role.WORKER):
        return
    if episode.driver is Driver.TEMPORAL:
        raise ForbiddenError("A durable episode is driven by the worker alone.")
    if principal.role in (Role.APPROVER, Role.AUDITOR) or principal.name != episode.principal:
        raise ForbiddenError(f"{principal.name} does not drive the episode '{episode.id}'.")


def check_owner(principal: Principal, *, to: str) -> None:
    """Go on only if this principal is a person or an app, not an agent within an episode.

    Args:
        principal: who asks.
        to: what is about to be done, for the message.

    Raises:
        ForbiddenError: it is not.
    """
    principal.require(Role.DEVELOPER, to=to)
    if principal.episode is not None:
        raise ForbiddenError(f"An episode key may not {to}.")
