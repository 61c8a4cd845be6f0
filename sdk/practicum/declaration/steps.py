"""What would have to be done to a gateway, and what is left alone."""

from enum import StrEnum

from practicum.contracts.base import Value
from practicum.contracts.comparison import Difference
from practicum.contracts.connectors import Change


class What(StrEnum):
    """What a step is about."""

    TENANT = "tenant"
    CONNECTOR = "connector"
    RULES = "rules"
    ISSUER = "issuer"
    MODEL = "model"
    FALLBACKS = "fallbacks"
    """Who answers where the model of an alias cannot."""
    WEBHOOK = "webhook"


class Do(StrEnum):
    """What a step does."""

    CREATE = "create"
    CHANGE = "change"
    REPLACE = "replace"
    """Another registration takes the place of a connector's, at once; a webhook is removed and added."""
    HOLD = "hold"
    """Calls of the connectors that change are denied until the new rules are in force."""
    ADD_VERSION = "add_version"
    """A version is registered, and the alias goes on naming the one that somebody promoted."""
    ACCEPT = "accept"
    """Breaking changes that are held are put in force."""
    REMOVE = "remove"


class Step(Value):
    """One thing to be done.

    Attributes:
        tenant: in which tenant.
        what: what it is about.
        name: its name; empty for the rules.
        do: what is done.
        fields: what is said otherwise afterwards.
        served: changes of a document that break no call.
        held: changes of a document that do.
        digest: of the document that was looked at.
        tools: how many tools a system would offer.
        waits: why it is left undone without a further word; the rest is done.
        refused: why nothing is done as long as this stands in the plan.
    """

    tenant: str
    what: What
    name: str = ""
    do: Do
    fields: tuple[Difference, ...] = ()
    served: tuple[Change, ...] = ()
    held: tuple[Change, ...] = ()
    digest: str | None = None
    tools: int | None = None
    waits: str | None = None
    refused: str | None = None


class Left(Value):
    """Something that is on the gateway and left as it is.

    Attributes:
        tenant: in which tenant.
        what: what it is.
        name: its name.
        why: why it is left.
    """

    tenant: str
    what: What
    name: str
    why: str


class Plan(Value):
    """What a gateway differs in from its declaration, in the order in which it is mended.

    Attributes:
        steps: what would be done; none where nothing differs.
        left: what is left as it is.
    """

    steps: tuple[Step, ...] = ()
    left: tuple[Left, ...] = ()
