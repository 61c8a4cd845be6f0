"""How a registration lies in the store: its document compressed, its credential sealed, its tools as rows."""

import asyncio
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter
from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.connectors import Auth, Connector, ConnectorReport, ConnectorSpec, RefreshReport
from practicum.contracts.tools import Tool
from practicum.errors import ConflictError, NotFoundError
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.document import Document, load_document
from practicum_gateway.audit.log import append
from practicum_gateway.catalogue import rows
from practicum_gateway.catalogue.shelf import Card, Shelf
from practicum_gateway.store.catalogue_tables import ConnectorRow, DocumentRow, OperationRow, WordIndexRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault

_AT_A_TIME = 100
"""Tools that are read at once."""
_AUTH: TypeAdapter[Auth] = TypeAdapter(Auth)


@dataclass(frozen=True)
class Documents:
    """What a connector is compiled from.

    Attributes:
        present: the document in force.
        newer: a newer one of which something waits for a decision.
    """

    present: Document
    newer: Document | None = None

    @property
    def digests(self) -> tuple[str, str | None]:
        """SHA-256 of both."""
        return self.present.digest, None if self.newer is None else self.newer.digest


@dataclass(frozen=True)
class Registration:
    """A system to be registered, or changed.

    Attributes:
        spec: what was asked for.
        documents: what it is compiled from.
        compiled: what they compile to.
        look: what the latest look at its document found, if there was one.
        asked: fingerprint of what is asked for, where a revision asks for something else than before.
        own_credential: whether a revision keeps this credential, and not the one in the store.
    """

    spec: ConnectorSpec
    documents: Documents
    compiled: CompiledConnector
    look: JsonObject | None = None
    asked: str | None = None
    own_credential: bool = False
    _content: list[tuple[str | None, bytes]] = field(default_factory=list[tuple[str | None, bytes]], repr=False)

    def pack(self) -> None:
        """Compress the documents: CPU work, for a thread."""
        given = (self.documents.present, self.documents.newer)
        self._content[:] = [(each.source, zlib.compress(each.canonical)) for each in given if each is not None]

    def document_row(self) -> DocumentRow:
        """The row of its documents, once they are packed."""
        (origin, content), (newer_origin, newer_content) = (*self._content, (None, None))[:2]
        return DocumentRow(
            connector=self.spec.name,
            origin=origin,
            content=content,
            newer_origin=newer_origin,
            newer_content=newer_content,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """A registration that is there.

    Attributes:
        report: what it became.
        fingerprint: of what was asked for beside the document.
        digests: SHA-256 of its document, and of a newer one.
    """

    report: ConnectorReport
    fingerprint: str
    digests: tuple[str, str | None]


class Registrations:
    """Writes and reads registrations, each in one transaction."""

    def __init__(self, store: Store, vault: Vault) -> None:
        """Keep registrations in a store, their credentials sealed by a vault."""
        self._store = store
        self._vault = vault

    def fingerprint(self, spec: ConnectorSpec) -> str:
        """Tells what was asked for beside the document from other wishes; no credential can be read back from it."""
        left_out = {"document", "documents", "overlay"}
        if spec.mcp is None:
            left_out.add("mcp")  # as before there was any
        return self._vault.fingerprint(spec.model_dump_json(exclude=left_out))

    async def find(self, name: str) -> Known | None:
        """A registration, or None where there is no such name."""
        async with self._store.read() as session:
            row = await session.get(ConnectorRow, name)
            if row is None:
                return None
            report = rows.report_of(row, await _reports(session, name))
            return Known(report, row.fingerprint, (row.digest, row.newer_digest))

    async def look(self, name: str) -> RefreshReport:
        """What the latest look at a system's document found.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._store.read() as session:
            row = await _existing(session, name)
            return rows.refresh_report_of(row, await _drift(session, name))

    async def add(self, registration: Registration) -> ConnectorReport:
        """Write a registration whole.

        Raises:
            ConflictError: the name, or the exposed name of one of its tools, is in use.
        """
        name = registration.spec.name
        try:
            async with self._store.write(in_turn=True) as session:
                row = ConnectorRow(
                    name=name, fingerprint=self.fingerprint(registration.spec), created=utc_now(), refreshed=None
                )
                self._write(row, registration)
                session.add(row)
                await session.flush()
                operations = rows.operations_of(name, registration.compiled)
                session.add(registration.document_row())
                session.add_all(operations)
                await session.flush()
                await append(session, rows.deed_of(Action.CONNECTOR_REGISTERED, row))
                return rows.report_of(row, [(each.report, each.drift) for each in operations])
        except IntegrityError:
            raise await self._clash(registration) from None

    async def revise(self, registration: Registration, before: tuple[str, str | None], action: Action) -> RefreshReport:
        """Put a registration in the place of the one before, whole.

        Args:
            registration: the new one, of the same name.
            before: digests of the documents that it was made to replace.
            action: what was done, for the audit log.

        Raises:
            NotFoundError: the connector was removed meanwhile.
            ConflictError: its document was changed meanwhile, or the name of one of its tools is in use.
        """
        name = registration.spec.name
        try:
            async with self._store.write(in_turn=True) as session:
                row = await _existing(session, name, for_update=True)
                if (row.digest, row.newer_digest) != before:
                    raise ConflictError(
                        f"The document of '{name}' was changed by somebody else meanwhile.", mend="Look at it again."
                    )
                counted = await _counted(session, name)
                # The credential in the store counts: a token may have been replaced since the other was read.
                kept = self._open(row.credential, rows.seal_context(name, row.base_url))
                self._write(row, registration, None if registration.own_credential else kept)
                row.fingerprint, row.refreshed = registration.asked or row.fingerprint, utc_now()
                operations = rows.operations_of(name, registration.compiled, counted)
                for table in (OperationRow, DocumentRow):
                    await session.execute(delete(table).where(table.connector == name))
                session.add_all([*operations, registration.document_row()])
                await session.flush()
                await append(session, rows.deed_of(action, row))
                return rows.refresh_report_of(row, sum(each.drift for each in operations))
        except IntegrityError:
            raise await self._clash(registration) from None

    async def refresh_token(self, name: str, scheme: str) -> str:
        """The refresh token in force, `scheme` as for `rotate`.

        Raises:
            NotFoundError: there is no such connector.
            ConfigurationError: the credential was sealed under another master key.
        """
        async with self._store.read() as session:
            row = await _existing(session, name)
            return rows.token_of(self._open(row.credential, rows.seal_context(name, row.base_url)), scheme)

    async def rotate(self, name: str, scheme: str, refresh_token: str, instead_of: str) -> None:
        """Put the refresh token that a token server gave in the place of the one before.

        Args:
            name: the connector.
            scheme: the security scheme that it is for; empty for a single credential.
            refresh_token: the new one.
            instead_of: the one that it replaces.

        Raises:
            NotFoundError: the connector was removed meanwhile, or given another credential.
            ConfigurationError: the credential was sealed under another master key.
        """
        async with self._store.write(in_turn=True) as session:
            row = await _existing(session, name, for_update=True)
            context = rows.seal_context(name, row.base_url)
            changed = rows.with_token(self._open(row.credential, context), scheme, refresh_token, instead_of)
            row.credential = self._seal(changed, context)

    async def seal_anew(self) -> int:
        """Seal every credential that an older key sealed under the present one; how many they were."""
        count = 0
        async with self._store.write(in_turn=True) as session:
            for row in await session.scalars(select(ConnectorRow).with_for_update()):
                sealed = self._vault.sealed_anew(row.credential, rows.seal_context(row.name, row.base_url))
                if sealed is not None:
                    row.credential, count = sealed, count + 1
                practice = rows.practice_of(row)
                if practice is None or row.practice_credential is None:
                    continue
                context = rows.practice_seal_context(row.name, practice.base_url)
                sealed = self._vault.sealed_anew(row.practice_credential, context)
                if sealed is not None:
                    row.practice_credential, count = sealed, count + 1
        return count

    async def drifted(self, tool: str) -> None:
        """Count an answer that departed from the document; of a tool that is gone, nothing is counted."""
        async with self._store.write() as session:
            counted = update(OperationRow).where(OperationRow.tool_name == tool)
            await session.execute(counted.values(drift=OperationRow.drift + 1))

    async def remove(self, name: str) -> None:
        """Forget a registration whole.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._store.write() as session:
            row = await _existing(session, name, for_update=True)
            for table in (OperationRow, DocumentRow):
                await session.execute(delete(table).where(table.connector == name))
            await session.delete(row)
            await append(session, rows.deed_of(Action.CONNECTOR_REMOVED, row))

    async def connectors(self) -> tuple[Connector, ...]:
        """Every connector, newest first."""
        async with self._store.read() as session:
            return await _connectors(session)

    async def shelf(self) -> Shelf:
        """Every connector, and what every tool is found by."""
        async with self._store.read() as session:
            connectors = await _connectors(session)
            changed = [(each.name, each.digest, each.created, each.refreshed) for each in connectors]
            found = select(OperationRow.tool_name, OperationRow.connector, OperationRow.operation)
            tools = await session.execute(found.where(OperationRow.tool_name.is_not(None)))
            cards = [Card(tool, f"{connector}.{operation}") for tool, connector, operation in tools if tool]
        return Shelf.of(connectors, cards, hashlib.sha256(repr(changed).encode()).hexdigest())

    async def tools(self, names: Sequence[str]) -> list[Tool]:
        """Those of some tools that are there, in the order in which they are asked for.

        Args:
            names: exposed names.
        """
        found: dict[str, Tool] = {}
        async with self._store.read() as session:
            for start in range(0, len(names), _AT_A_TIME):
                wanted = OperationRow.tool_name.in_(names[start : start + _AT_A_TIME])
                for row in await session.scalars(select(OperationRow.tool).where(wanted)):
                    tool = Tool.model_validate(row)
                    found[tool.name] = tool
        return [found[name] for name in names if name in found]

    async def index(self, identity: str) -> bytes | None:
        """The index of a shelf as it was kept, if it was."""
        async with self._store.read() as session:
            row = await session.get(WordIndexRow, identity)
            return None if row is None else row.content

    async def keep_index(self, identity: str, content: bytes) -> None:
        """Keep the index of a shelf, in the place of all others."""
        async with self._store.write(in_turn=True) as session:
            await session.execute(delete(WordIndexRow))
            session.add(WordIndexRow(identity=identity, content=content))

    async def load(self, name: str) -> tuple[ConnectorSpec, Documents]:
        """What a connector is compiled from, its credential opened.

        Raises:
            NotFoundError: there is none of that name.
            ConfigurationError: the credential was sealed under another master key.
        """
        async with self._store.read() as session:
            row = await _existing(session, name)
            kept = await session.get_one(DocumentRow, name)
        auth = self._open(row.credential, rows.seal_context(name, row.base_url))
        practice = rows.practice_of(row)
        if practice is not None and row.practice_credential is not None:
            opened = self._open(row.practice_credential, rows.practice_seal_context(name, practice.base_url))
            practice = practice.model_copy(update={"auth": opened})
        spec = ConnectorSpec.model_validate(row.spec | {"auth": auth, "practice": practice})
        return spec, await asyncio.to_thread(_documents, kept)

    async def _clash(self, registration: Registration) -> ConflictError:
        """Why a registration cannot be written: somebody else has its name, or that of one of its tools."""
        name = registration.spec.name
        async with self._store.read() as session:
            taken = select(OperationRow.tool_name, OperationRow.connector).where(OperationRow.connector != name)
            for tool, other in await session.execute(taken.where(OperationRow.tool_name.is_not(None))):
                if tool in registration.compiled.tools:
                    return ConflictError(
                        f"The tool '{tool}' that '{name}' brings is called as one of the connector '{other}'.",
                        mend="Give the operation another name in an overlay (`x-practicum: {name: ...}`), or the "
                        "connector.",
                    )
        return ConflictError(f"The name '{name}' is in use.", mend="Choose another name for the connector.")

    def _open(self, sealed: str, context: str) -> Auth:
        return _AUTH.validate_json(self._vault.open(sealed, context))

    def _seal(self, auth: Auth, context: str) -> str:
        return self._vault.seal(_AUTH.dump_json(auth).decode(), context)

    def _write(self, row: ConnectorRow, registration: Registration, auth: Auth | None = None) -> None:
        """What a registration says, into its row; `auth` goes before its own credential."""
        spec, compiled = registration.spec, registration.compiled
        row.title, row.version, row.base_url = compiled.title, compiled.version, compiled.base_url
        row.mode, row.auth, row.tools = spec.mode, spec.auth.kind, len(compiled.tools)
        row.digest, row.newer_digest = registration.documents.digests
        row.look = registration.look
        row.spec = rows.kept_spec(spec, compiled)
        row.credential = self._seal(auth or spec.auth, rows.seal_context(spec.name, compiled.base_url))
        practice = rows.practice_of(row)
        row.practice_credential = None
        if spec.practice is not None and practice is not None:
            context = rows.practice_seal_context(spec.name, practice.base_url)
            row.practice_credential = self._seal(spec.practice.auth, context)


async def _existing(session: AsyncSession, name: str, *, for_update: bool = False) -> ConnectorRow:
    row = await session.get(ConnectorRow, name, with_for_update=for_update)
    if row is None:
        raise NotFoundError(f"There is no connector '{name}'.")
    return row


async def _reports(session: AsyncSession, name: str) -> list[tuple[JsonObject, int]]:
    """What became of each operation of a connector, and how many of its answers departed from the document."""
    found = select(OperationRow.report, OperationRow.drift).where(OperationRow.connector == name)
    return [(report, drift) for report, drift in await session.execute(found.order_by(OperationRow.position))]


async def _counted(session: AsyncSession, name: str) -> dict[str, rows.Counted]:
    """The tools of a connector of which an answer departed from the document."""
    found = select(OperationRow.tool_name, OperationRow.tool, OperationRow.drift).where(
        OperationRow.connector == name, OperationRow.drift > 0
    )
    return {tool: rows.Counted(known, drift) for tool, known, drift in await session.execute(found) if tool and known}


async def _drift(session: AsyncSession, name: str) -> int:
    counted = select(func.sum(OperationRow.drift)).where(OperationRow.connector == name)
    return int(await session.scalar(counted) or 0)


async def _connectors(session: AsyncSession) -> tuple[Connector, ...]:
    found = await session.scalars(select(ConnectorRow).order_by(ConnectorRow.created.desc(), ConnectorRow.name))
    counted = select(OperationRow.connector, func.sum(OperationRow.drift)).group_by(OperationRow.connector)
    drift = {name: int(count) for name, count in await session.execute(counted)}
    return tuple(rows.connector_of(row, drift.get(row.name, 0)) for row in found)


def _documents(kept: DocumentRow) -> Documents:
    present = load_document(zlib.decompress(kept.content), origin=kept.origin)
    if kept.newer_content is None:
        return Documents(present)
    return Documents(present, load_document(zlib.decompress(kept.newer_content), origin=kept.newer_origin))
