"""Comparisons: how a registration that somebody wishes for differs from the one that is there; nothing is changed."""

from pydantic import JsonValue

from practicum.contracts.base import Value
from practicum.contracts.connectors import Change


class Difference(Value):
    """One thing that is said otherwise.

    Attributes:
        where: the field, such as `limits.per_second`.
        before: what stands there now; None where nothing does, or where it is not shown.
        after: what is wished for; None likewise.
        secret: whether it is a credential, of which neither side is shown.
    """

    where: str
    before: JsonValue = None
    after: JsonValue = None
    secret: bool = False


class ConnectorComparison(Value):
    """A registration of a system, beside the one of the same name.

    Attributes:
        known: whether there is one of this name.
        tools: how many tools the system would offer; None where nothing differs.
        fields: what the registration says otherwise, beside its document and its overlay.
        changed: whether the document, overlay included, is another than the latest that the gateway looked at.
        digest: SHA-256 of the document, overlay included.
        served: changes of the document that break no call.
        held: those that do: they wait for a decision, or would.
        rotated: whether the token server has given the gateway another refresh token since the one wished for.
    """

    known: bool
    tools: int | None = None
    fields: tuple[Difference, ...] = ()
    changed: bool = False
    digest: str
    served: tuple[Change, ...] = ()
    held: tuple[Change, ...] = ()
    rotated: bool = False


class ModelComparison(Value):
    """A registration of a model, beside what its alias names.

    Attributes:
        known: whether there is such an alias.
        names: the version that the alias names.
        version: the version that is the same model, wherever it is reached; None where there is none yet.
        fields: what is said otherwise than by that version, or where there is none, than by what the alias names.
    """

    known: bool
    names: str | None = None
    version: str | None = None
    fields: tuple[Difference, ...] = ()


def differences(before: JsonValue, after: JsonValue, where: str = "") -> tuple[Difference, ...]:
    """What two JSON values say differently: objects are compared by their fields, all else as a whole."""
    if before == after:
        return ()
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return (Difference(where=where, before=before, after=after),)
    return tuple(
        found
        for name in dict.fromkeys((*before, *after))
        for found in differences(before.get(name), after.get(name), f"{where}.{name}" if where else name)
    )
