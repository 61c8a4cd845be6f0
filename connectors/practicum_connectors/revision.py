"""Two states of a system's document: what is in force while the newer one waits for a decision.

What breaks nobody is taken from the newer state at once. An operation that breaks its callers stays as the older state
has it, and so does everything that says where calls and credentials go.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from practicum.contracts.connectors import (
    Auth,
    Change,
    ChangeKind,
    ConnectorSpec,
    NoAuth,
    OperationReport,
    SchemeAuth,
    SchemesAuth,
)
from practicum_connectors.auth import Keyring, credentials_for, schemes_of
from practicum_connectors.auth.schemes import Scheme, stands_for
from practicum_connectors.catalogue.difference import Compared, State, compared
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.compiled import Compiled, compile_document
from practicum_connectors.document import Document
from practicum_connectors.document.pointers import Node, as_node, is_node
from practicum_connectors.exchange import origin_of
from practicum_connectors.sender import Sender
from practicum_connectors.servers import base_url_of

_SAYS_WHERE = ("type", "in", "name", "scheme", "openIdConnectUrl", "flows")
"""What decides about where a credential goes; scopes and descriptions do not."""
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Side:
    """One state of a document and what it became."""

    document: Document
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class Revision:
    """What is in force of two states.

    Attributes:
        served: the changes that are in force.
        held: those that wait.
        sides: for each tool in force, by exposed name, the state that it is taken from.
        report: what became of each operation.
    """

    served: tuple[Change, ...]
    held: tuple[Change, ...]
    sides: dict[str, Side]
    report: tuple[OperationReport, ...]

    @property
    def plans(self) -> dict[str, ToolPlan]:
        """The tools in force and how they are called, by exposed name."""
        return {tool: side.compiled.plans[tool] for tool, side in self.sides.items()}


def compare(spec: ConnectorSpec, before: Document, after: Document) -> Revision:
    """What a newer state of a document changes for those who call its tools: seconds for the largest.

    Args:
        spec: the registration.
        before: the state that is in force.
        after: the newer one.

    Raises:
        DocumentError: one of them says nowhere where the system listens, or the credential does not fit the older.
    """
    base_url = base_url_of(spec, before)
    keyring = credentials_for(spec.auth, before, base_url, Sender(private_network=spec.private_network))
    older = Side(before, compile_document(spec, before, base_url, keyring))
    return revised(spec, older, compiled_side(spec, after, keyring))


def compiled_side(spec: ConnectorSpec, document: Document, keyring: Keyring) -> Side:
    """A newer state, compiled for the credentials of the state in force.

    Raises:
        DocumentError: it says nowhere where the system listens.
    """
    return Side(document, compile_document(spec, document, base_url_of(spec, document), keyring))


def revised(spec: ConnectorSpec, older: Side, newer: Side) -> Revision:
    """What is in force of two compiled states.

    Args:
        spec: the registration.
        older: the state that is in force as a whole.
        newer: the state that waits.
    """
    all_waits = spec.mcp is not None
    found = list(compared(_state(older, all_waits=all_waits), _state(newer, all_waits=all_waits)))
    sides = {one.older: older for one in found if one.older is not None and one.breaking}
    taken = frozenset(sides)
    places = frozenset(map(origin_of, (older.compiled.base_url, *older.compiled.base_of.values())))
    served, held = list[Change](), list(_of_credentials(spec.auth, older.document, newer.document))
    for one in found:
        waits = one.breaking or _must_wait(one, newer, taken, places)
        (held if waits else served).extend(one.changes)
        if one.newer is not None and not waits:
            sides[one.newer] = newer
    return Revision(tuple(served), tuple(held), sides, tuple(_report(older, newer, sides)))


def _state(side: Side, *, all_waits: bool) -> State:
    return State(side.document, side.compiled.plans, side.compiled.base_of, all_waits)


def _must_wait(one: Compared, newer: Side, taken: frozenset[str], places: frozenset[str]) -> bool:
    """Whether a new operation needs the name of one that stays, or leads to where nothing was sent before."""
    if one.older is not None or one.newer is None:
        return False
    return one.newer in taken or origin_of(newer.compiled.base_of[one.newer]) not in places


def _report(older: Side, newer: Side, sides: dict[str, Side]) -> Iterator[OperationReport]:
    """What is in force, in the order of the newer state; what stays of the older one comes last."""
    for entry in newer.compiled.report:
        if entry.tool is None or sides.get(entry.tool) is newer:
            yield entry
    for entry in older.compiled.report:
        if entry.tool is not None and sides.get(entry.tool) is older:
            yield entry.model_copy(update={"held": True})


def _of_credentials(auth: Auth, before: Document, after: Document) -> Iterator[Change]:
    """What changes about where the connector's credential goes."""
    if isinstance(auth, NoAuth):
        return
    mine, theirs = _by_name(before), _by_name(after)
    # Where no scheme is of its kind, the credential goes wherever any is asked for.
    bound = any(_concerns(auth, scheme) for scheme in mine.values())
    for name in dict.fromkeys((*mine, *theirs)):
        old, new = mine.get(name), theirs.get(name)
        if not bound or any(scheme is not None and _concerns(auth, scheme) for scheme in (old, new)):
            yield from _of_scheme(f"securitySchemes.{name}", old, new)


def _of_scheme(where: str, old: Scheme | None, new: Scheme | None) -> Iterator[Change]:
    """Each thing that a scheme says otherwise now, on its own: whoever decides has to see a new address whole."""
    before, after = (dict[str, str]() if scheme is None else dict(_places(_place(scheme))) for scheme in (old, new))
    for place in sorted(before.keys() | after.keys()):
        if before.get(place) != after.get(place):
            yield Change(
                kind=ChangeKind.ADDED if old is None else ChangeKind.REMOVED if new is None else ChangeKind.RETYPED,
                operation="",
                where=f"{where}.{place}",
                before=before.get(place, "")[:_MOST_SHOWN] or None,
                after=after.get(place, "")[:_MOST_SHOWN] or None,
                breaking=True,
            )


def _by_name(document: Document) -> dict[str, Scheme]:
    return {scheme.name: scheme for scheme in schemes_of(document)}


def _concerns(auth: SchemeAuth | SchemesAuth, scheme: Scheme) -> bool:
    """Whether the connector's credential is sent where this scheme is asked for."""
    return scheme.name in auth.schemes if isinstance(auth, SchemesAuth) else stands_for(auth, scheme)


def _place(scheme: Scheme) -> Node:
    said = {key: scheme.node[key] for key in _SAYS_WHERE if key in scheme.node}
    flows = as_node(said.get("flows"))
    addresses = {
        name: {key: flow[key] for key in flow if key != "scopes"} for name in flows if (flow := as_node(flows[name]))
    }
    return said | ({"flows": addresses} if addresses else {})


def _places(said: Node, above: str = "") -> Iterator[tuple[str, str]]:
    """What is said, by the names that lead there."""
    for key, value in said.items():
        if is_node(value) and value:
            yield from _places(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value if isinstance(value, str) else json.dumps(value, sort_keys=True)
