"""Principals: who a request comes from, once its key was recognised."""

from dataclasses import dataclass

from practicum.contracts.access import Role
from practicum.errors import ForbiddenError
from practicum_gateway.audit.who import Who

CALLERS = frozenset({Role.ADMIN, Role.DEVELOPER, Role.AGENT})
"""The roles that may call tools. A worker calls only for an episode, in the name of that episode's principal."""

WEBHOOK = "webhook"
"""How the names of people begin who answer through a webhook: `webhook:chat:ada`. No key and no token bears one."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody whose key was recognised.

    Attributes:
        name: whom the key speaks for.
        role: what it may do in principle.
        key_id: the key that was shown.
        episode: the only episode it may act in, for an episode key.
    """

    name: str
    role: Role
    key_id: str
    episode: str | None = None

    @property
    def who(self) -> Who:
        """This principal as the audit log names it."""
        return Who(self.name, self.role, self.key_id)

    def require(self, *roles: Role, to: str) -> None:
        """Go on only if this principal has one of the roles; an admin has all of them.

        Args:
            roles: roles that may.
            to: what is about to be done, for the message: "register a connector".

        Raises:
            ForbiddenError: it has none of them.
        """
        if self.role is Role.ADMIN or self.role in roles:
            return
        allowed = ", ".join(sorted({Role.ADMIN, *roles}))
        raise ForbiddenError(
            f"The role '{self.role}' of {self.name} may not {to}.", mend=f"Use a key of one of these roles: {allowed}."
        )

    def require_episode(self, episode: str | None) -> None:
        """Go on only if this principal may act there: an episode key acts in its own episode and nowhere else.

        Args:
            episode: the episode in which it wants to act, None for outside of any.

        Raises:
            ForbiddenError: its key is bound to another episode.
        """
        if self.episode is not None and self.episode != episode:
            raise ForbiddenError(f"The key of {self.name} acts in its own episode only.")


@dataclass(frozen=True, slots=True)
class Actor:
    """On whose behalf a call would be made.

    Attributes:
        name: the principal.
        role: in which role.
    """

    name: str
    role: Role
