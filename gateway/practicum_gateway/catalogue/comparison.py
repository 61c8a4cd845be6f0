"""How a wished-for registration of a system differs from the one that is there; nothing is written."""

import asyncio
import json
from dataclasses import dataclass

from practicum.contracts.base import JsonObject
from practicum.contracts.comparison import ConnectorComparison, Difference, differences
from practicum.contracts.connectors import ConnectorSpec, PracticeSpec, SchemesAuth
from practicum_connectors.document import Document
from practicum_connectors.revision import compare
from practicum_gateway.catalogue.registrations import Documents, Known, Registrations


@dataclass(frozen=True, slots=True)
class Kept:
    """A registration that is there, whole.

    Attributes:
        spec: as it is kept, its credential opened.
        documents: what it is compiled from.
        known: what the store says of it.
    """

    spec: ConnectorSpec
    documents: Documents
    known: Known


async def compared(
    registrations: Registrations, kept: Kept, wish: ConnectorSpec, document: Document, digest: str
) -> ConnectorComparison:
    """What is wished for, beside what is kept.

    Args:
        registrations: where it is kept.
        kept: the registration of the same name.
        wish: the registration that is wished for.
        document: its document, as it is now.
        digest: of that document.
    """
    fields, rotated = _registration(registrations, kept, wish)
    look = await registrations.look(wish.name)
    last = kept.documents.digests[1] or kept.documents.digests[0]
    if digest == last:
        return ConnectorComparison(known=True, fields=fields, digest=digest, held=look.held, rotated=rotated)
    revision = await asyncio.to_thread(compare, kept.spec, kept.documents.present, document)
    return ConnectorComparison(
        known=True,
        fields=fields,
        changed=True,
        digest=digest,
        served=revision.served,
        held=revision.held,
        rotated=rotated,
    )


def _registration(registrations: Registrations, kept: Kept, wish: ConnectorSpec) -> tuple[tuple[Difference, ...], bool]:
    """What is said otherwise beside the document, and whether a refresh token was exchanged since."""
    asked, spec = kept.known.fingerprint, kept.spec
    alike = spec.auth == wish.auth
    # Token servers exchange refresh tokens: what was asked for at first is told by its fingerprint alone.
    as_kept = [
        registrations.fingerprint(spec.model_copy(update={"auth": wish.auth, "practice": practice}))
        for practice in _as_written(spec.practice)
    ]
    as_asked = alike or asked in (registrations.fingerprint(wish), *as_kept)
    found = [*differences(_shown(spec), _shown(wish))]
    if not as_asked:
        found.append(_credential("auth", _kinds(spec), _kinds(wish)))
    if spec.practice and wish.practice and spec.practice.auth != wish.practice.auth:
        found.append(_credential("practice.auth", spec.practice.auth.kind, wish.practice.auth.kind))
    return tuple(found), as_asked and not alike


def _as_written(kept: PracticeSpec | None) -> tuple[PracticeSpec | None, ...]:
    """The copies that are kept, as they may have been asked for: their address was cleaned of a slash at its end."""
    return (kept,) if kept is None else (kept, kept.model_copy(update={"base_url": f"{kept.base_url}/"}))


def _shown(spec: ConnectorSpec) -> JsonObject:
    """All but documents and credentials; an address with or without a slash at its end is the same place."""
    practice = spec.practice
    if practice is not None:
        practice = practice.model_copy(update={"base_url": practice.base_url.rstrip("/")})
    said: JsonObject = json.loads(
        spec.model_copy(update={"practice": practice}).model_dump_json(
            exclude={"name": True, "document": True, "documents": True, "overlay": True, "auth": True}
            | {"practice": {"auth"}}
        )
    )
    return said


def _credential(where: str, before: str, after: str) -> Difference:
    """Two credentials that differ: their kinds may be told, and nothing else."""
    if before == after:
        return Difference(where=where, secret=True)
    return Difference(where=where, before=before, after=after, secret=True)


def _kinds(spec: ConnectorSpec) -> str:
    auth = spec.auth
    if not isinstance(auth, SchemesAuth):
        return auth.kind
    return ", ".join(f"{name}: {one.kind}" for name, one in sorted(auth.schemes.items()))
