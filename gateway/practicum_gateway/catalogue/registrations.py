"""How a registration lies in the store: its document compressed, its credential sealed, its tools as rows."""

import asyncio
import json
import zlib
from dataclasses import dataclass
from typing import Self

from pydantic import TypeAdapter
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.connectors import (
    Auth,
    Connector,
    ConnectorReport,
    ConnectorSpec,
    Mode,
    OperationReport,
    PracticeSpec,
    SchemesAuth,
)
from practicum.contracts.tools import Tool
from practicum.errors import ConflictError, NotFoundError
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.document import Document, load_document
from practicum_connectors.exchange import origin_of
from practicum_gateway.catalogue.shelf import Shelf
from practicum_gateway.store.catalogue_tables import ConnectorRow, DocumentRow, OperationRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault

_AUTH: TypeAdapter[Auth] = TypeAdapter(Auth)


@dataclass(frozen=True)
class Registration:
    """A system to be registered: what was asked for, the document it came with, and what they compile to."""

    spec: ConnectorSpec
    document: Document
    compiled: CompiledConnector
    content: bytes
    """The document compressed."""

    @classmethod
    def of(cls, spec: ConnectorSpec, document: Document, compiled: CompiledConnector) -> Self:
        """Compress the document: CPU work."""
        return cls(spec, document, compiled, zlib.compress(document.canonical))


class Registrations:
    """Writes and reads registrations, each in one transaction."""

    def __init__(self, store: Store, vault: Vault) -> None:
        """Keep registrations in a store, their credentials sealed by a vault."""
        self._store = store
        self._vault = vault

    def fingerprint(self, spec: ConnectorSpec, document: Document) -> str:
        """Tells a repeated registration from another one; the credential counts, and cannot be read back from it."""
        asked = spec.model_dump_json(exclude={"document"})
        return self._vault.fingerprint(f"{asked}\n{document.digest}")

    async def find(self, name: str) -> tuple[ConnectorReport, str] | None:
        """A registration's report and fingerprint, or None where there is no such name."""
        async with self._store.read() as session:
            row = await session.get(ConnectorRow, name)
            return None if row is None else (await _report(session, row), row.fingerprint)

    async def add(self, registration: Registration) -> ConnectorReport:
        """Write a registration whole.

        Raises:
            ConflictError: the name, or the exposed name of one of its tools, is in use.
        """
        try:
            async with self._store.write() as session:
                row = self._row(registration)
                session.add(row)
                await session.flush()
                origin = registration.document.source
                session.add(DocumentRow(connector=row.name, origin=origin, content=registration.content))
                session.add_all(_operations(registration))
                await session.flush()
                return await _report(session, row)
        except IntegrityError:
            raise ConflictError(
                f"The name '{registration.spec.name}', or one of its tools' names, is in use.",
                mend="Choose another name for the connector.",
            ) from None

    async def rotate(self, name: str, scheme: str, refresh_token: str) -> None:
        """Put the refresh token that a token server gave in the place of the one before.

        Args:
            name: the connector.
            scheme: the security scheme that it is for; empty for a single credential.
            refresh_token: the new one.

        Raises:
            NotFoundError: the connector was removed meanwhile.
            ConfigurationError: the credential was sealed under another master key.
        """
        async with self._store.write() as session:
            row = await session.get(ConnectorRow, name, with_for_update=True)
            if row is None:
                raise NotFoundError(f"There is no connector '{name}'.")
            context = _context(name, row.base_url)
            row.credential = self._seal(_rotated(self._open(row.credential, context), scheme, refresh_token), context)

    async def remove(self, name: str) -> None:
        """Forget a registration whole.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._store.write() as session:
            row = await session.get(ConnectorRow, name)
            if row is None:
                raise NotFoundError(f"There is no connector '{name}'.")
            for table in (OperationRow, DocumentRow):
                await session.execute(delete(table).where(table.connector == name))
            await session.delete(row)

    async def shelf(self) -> Shelf:
        """Every connector and tool, without documents and credentials."""
        async with self._store.read() as session:
            rows = await session.scalars(select(ConnectorRow).order_by(ConnectorRow.created.desc(), ConnectorRow.name))
            connectors = [_connector(row) for row in rows]
            tools = await session.scalars(select(OperationRow.tool).where(OperationRow.tool_name.is_not(None)))
            return Shelf.of(connectors, [Tool.model_validate(tool) for tool in tools])

    async def load(self, name: str) -> tuple[ConnectorSpec, Document]:
        """What a connector is compiled from, its credential opened.

        Raises:
            NotFoundError: there is none of that name.
            ConfigurationError: the credential was sealed under another master key.
        """
        async with self._store.read() as session:
            row = await session.get(ConnectorRow, name)
            if row is None:
                raise NotFoundError(f"There is no connector '{name}'.")
            kept = await session.get_one(DocumentRow, name)
        auth = self._open(row.credential, _context(name, row.base_url))
        practice = _practice(row)
        if practice is not None and row.practice_credential is not None:
            opened = self._open(row.practice_credential, _practice_context(name, practice.base_url))
            practice = practice.model_copy(update={"auth": opened})
        spec = ConnectorSpec.model_validate(row.spec | {"auth": auth, "practice": practice})
        return spec, await asyncio.to_thread(_document, kept)

    def _open(self, sealed: str, context: str) -> Auth:
        return _AUTH.validate_json(self._vault.open(sealed, context))

    def _seal(self, auth: Auth, context: str) -> str:
        return self._vault.seal(_AUTH.dump_json(auth).decode(), context)

    def _row(self, registration: Registration) -> ConnectorRow:
        spec, compiled = registration.spec, registration.compiled
        practice = None
        if spec.practice is not None and compiled.practice is not None:
            practice = spec.practice.model_copy(update={"base_url": compiled.practice.base_url})
        return ConnectorRow(
            name=spec.name,
            title=compiled.title,
            version=compiled.version,
            base_url=compiled.base_url,
            mode=spec.mode,
            auth=spec.auth.kind,
            tools=len(compiled.tools),
            digest=compiled.digest,
            fingerprint=self.fingerprint(spec, registration.document),
            spec=_without_secrets(spec.model_copy(update={"practice": practice})),
            credential=self._seal(spec.auth, _context(spec.name, compiled.base_url)),
            practice_credential=None
            if practice is None
            else self._seal(practice.auth, _practice_context(spec.name, practice.base_url)),
            created=utc_now(),
        )


def _rotated(auth: Auth, scheme: str, refresh_token: str) -> Auth:
    changed = {"refresh_token": refresh_token}
    if isinstance(auth, SchemesAuth):
        return auth.model_copy(
            update={"schemes": auth.schemes | {scheme: auth.schemes[scheme].model_copy(update=changed)}}
        )
    return auth.model_copy(update=changed)


def _context(name: str, base_url: str) -> str:
    # The credential opens only together with the origin it was given for.
    return f"connector {name} at {origin_of(base_url)}"


def _practice_context(name: str, base_url: str) -> str:
    return f"practice copies of connector {name} at {origin_of(base_url)}"


def _without_secrets(spec: ConnectorSpec) -> JsonObject:
    kept: JsonObject = json.loads(
        spec.model_dump_json(exclude={"document": True, "documents": True, "auth": True, "practice": {"auth"}})
    )
    return kept


def _practice(row: ConnectorRow) -> PracticeSpec | None:
    """Where a connector's copies are, without their credential."""
    kept = row.spec.get("practice")
    return None if kept is None else PracticeSpec.model_validate(kept)


def _document(kept: DocumentRow) -> Document:
    return load_document(zlib.decompress(kept.content), origin=kept.origin)


def _operations(registration: Registration) -> list[OperationRow]:
    tools = registration.compiled.tools
    return [
        OperationRow(
            connector=registration.spec.name,
            position=position,
            tool_name=report.tool,
            report=report.model_dump(mode="json"),
            tool=None if report.tool is None else tools[report.tool].model_dump(mode="json"),
        )
        for position, report in enumerate(registration.compiled.report)
    ]


async def _report(session: AsyncSession, row: ConnectorRow) -> ConnectorReport:
    reports = await session.scalars(
        select(OperationRow.report).where(OperationRow.connector == row.name).order_by(OperationRow.position)
    )
    return ConnectorReport(
        connector=_connector(row), operations=tuple(OperationReport.model_validate(report) for report in reports)
    )


def _connector(row: ConnectorRow) -> Connector:
    practice = _practice(row)
    return Connector(
        name=row.name,
        title=row.title,
        version=row.version,
        base_url=row.base_url,
        mode=Mode(row.mode),
        practice=None if practice is None else practice.base_url,
        auth=row.auth,
        tools=row.tools,
        created=row.created,
        digest=row.digest,
    )
