"""The catalogue: which systems are registered, which tools they offer, and how to reach them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace

from practicum.contracts.audit import Action
from practicum.contracts.comparison import ConnectorComparison
from practicum.contracts.connectors import Connector, ConnectorReport, ConnectorSpec, RefreshReport, RefreshRequest
from practicum.contracts.tools import Tool
from practicum.errors import ConflictError, NotFoundError
from practicum_connectors.auth import references_in
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.document import Document
from practicum_gateway.catalogue import rows
from practicum_gateway.catalogue.comparison import Kept, compared
from practicum_gateway.catalogue.held import Held, close_if_unused
from practicum_gateway.catalogue.reading import document_of, require_place
from practicum_gateway.catalogue.refusals import breaks_calls, require_tools, unchanged
from practicum_gateway.catalogue.registrations import Documents, Registration, Registrations
from practicum_gateway.catalogue.shelf import Shelf
from practicum_gateway.catalogue.turns import Turns
from practicum_gateway.catalogue.words import Words
from practicum_gateway.secrets.source import Secrets
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault


class Catalogue:
    """The registered connectors and their tools.

    A tool is found by what is in memory and read when it is asked for; a connector is compiled from its stored document
    when one of its tools is first called. So a gateway with ten thousands of tools starts at once.
    """

    def __init__(self, store: Store, vault: Vault, secrets: Secrets | None = None) -> None:
        """Keep connectors in a store, their credentials sealed by a vault; what stays outside is read there."""
        self._secrets = secrets or Secrets({})
        self._store = store
        self._registrations = Registrations(store, vault)
        self._words = Words(self._registrations)
        self._vault = vault
        self._shelf: Shelf | None = None
        self._changing = asyncio.Lock()
        self._held: dict[str, Held] = {}
        self._turns: dict[str, Turns] = {}

    async def register(self, spec: ConnectorSpec) -> tuple[ConnectorReport, bool]:
        """Register a system; the flag says whether it is new (False: the same registration was there already).

        The document is read, compiled and written whole, or nothing is.

        Raises:
            DocumentError: there is no document, or it cannot be fetched or used.
            ConflictError: the name is in use with other content.
        """
        document = await document_of(spec, self._secrets, self._registrations)
        fingerprint, digest = self._registrations.fingerprint(spec), await asyncio.to_thread(lambda: document.digest)
        known = await self._registrations.find(spec.name)
        if known is not None:
            return unchanged(known, fingerprint, digest), False
        await self._secrets.require(references_in(spec))
        registration = await self._registration(spec, Documents(document))
        async with self._changing:
            known = await self._registrations.find(spec.name)
            if known is not None:  # somebody else was faster
                return unchanged(known, fingerprint, digest), False
            report = await self._registrations.add(registration)
            self._changed()
            self._held[spec.name] = Held(compiled=registration.compiled)
        return report, True

    async def kept(self, name: str) -> tuple[ConnectorSpec, Documents]:
        """A registration as it is kept, its credential opened."""
        return await self._registrations.load(name)

    async def refresh(self, name: str, request: RefreshRequest) -> RefreshReport:
        """Look at a system's document again: what breaks no call is put in force, what does waits.

        Raises:
            NotFoundError: there is none of that name.
            RequestError: the gateway has no place to fetch the document from.
            DocumentError: the document cannot be fetched or used; everything stays as it was.
            ConflictError: somebody else changed it meanwhile, or a new tool's name is in use.
        """
        spec, documents = await self._registrations.load(name)
        require_place(spec, request)
        if request.overlay is not None:
            spec = spec.model_copy(update={"overlay": request.overlay or None})
        wish = spec.model_copy(update={"document": request.document, "documents": request.documents})
        found = await document_of(wish, self._secrets, self._registrations, accept=request.accept)
        registration = await self._revised(spec, documents, found, accept=request.accept)
        action = Action.CONNECTOR_ACCEPTED if request.accept else Action.CONNECTOR_REFRESHED
        return await self._put(registration, documents, action)

    async def compare(self, wish: ConnectorSpec) -> ConnectorComparison:
        """How a registration differs from the one of its name; it is compiled, so that it is seen to be usable.

        Raises:
            DocumentError: it could not be registered.
        """
        return await self._compared(wish, await document_of(wish, self._secrets, self._registrations))

    async def _compared(self, wish: ConnectorSpec, document: Document) -> ConnectorComparison:
        digest, found = await asyncio.to_thread(lambda: document.digest), ConnectorComparison(known=False, digest="")
        if known := await self._registrations.find(wish.name):
            kept = Kept(*await self._registrations.load(wish.name), known)
            found = await compared(self._registrations, kept, wish, document, digest)
            if not found.fields and not found.changed:
                return found
        await self._secrets.require(references_in(wish))
        compiled = (await self._registration(wish, Documents(document))).compiled
        await compiled.aclose()
        return found.model_copy(update={"tools": len(compiled.tools), "digest": digest})

    async def replace(self, wish: ConnectorSpec, *, accept: bool) -> RefreshReport:
        """Put another registration in the place of the one of its name, at once: no call finds none.

        A refresh token that its server has exchanged since stays, where the credential is the one asked for before.

        Args:
            wish: the new one.
            accept: whether it may break calls that were right.

        Raises:
            NotFoundError: there is none of that name.
            DocumentError: it could not be registered; everything stays as it was.
            ConflictError: it breaks calls, somebody else changed it meanwhile, or a new tool's name is in use.
        """
        spec, documents = await self._registrations.load(wish.name)
        document = await document_of(wish, self._secrets, self._registrations, accept=accept)
        found = await self._compared(wish, document)  # the same that is put in force: it may be another the next time
        if found.held and not accept:
            raise breaks_calls(wish.name, len(found.held))
        own = any(each.where == "auth" for each in found.fields)
        kept = wish if own else wish.model_copy(update={"auth": spec.auth})
        registration = await self._registration(kept, Documents(document))
        registration = replace(registration, asked=self._registrations.fingerprint(wish), own_credential=own)
        return await self._put(registration, documents, Action.CONNECTOR_REGISTERED)

    async def accept(self, name: str, digest: str) -> RefreshReport:
        """Put the changes that wait in force.

        Args:
            name: the connector.
            digest: of the document whose changes were looked at.

        Raises:
            NotFoundError: there is none of that name.
            ConflictError: nothing waits, or the document was changed since.
            DocumentError: the connector's credential does not fit the newer document.
        """
        spec, documents = await self._registrations.load(name)
        if documents.newer is None:
            raise ConflictError(f"No change of '{name}' waits for a decision.", mend="Refresh it to look again.")
        if digest != documents.digests[1]:
            raise ConflictError(
                f"The changes of '{name}' that wait are of another document than the one you looked at.",
                mend="Look at the changes and accept their digest.",
            )
        registration = await self._revised(spec, documents, documents.newer, accept=True)
        return await self._put(registration, documents, Action.CONNECTOR_ACCEPTED)

    async def changes(self, name: str) -> RefreshReport:
        """What the latest look at a system's document found.

        Raises:
            NotFoundError: there is none of that name.
        """
        return await self._registrations.look(name)

    async def seal_anew(self) -> int:
        """Seal every credential that an older key sealed under the present one; how many they were."""
        async with self._changing:  # none is added meanwhile under the older key
            return await self._registrations.seal_anew()

    async def drifted(self, tool: str) -> None:
        """Count an answer that departed from what the document says of it."""
        await self._registrations.drifted(tool)

    async def remove(self, name: str) -> None:
        """Forget a system, its document and its credential; calls under way end as they would have.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._changing:
            await self._registrations.remove(name)
            if name in self._turns:
                self._turns.pop(name).ended = True
            self._changed()
        await self._retire(name)

    async def changed_elsewhere(self, name: str) -> None:
        """Look at a connector anew, which another gateway registered, changed or removed."""
        async with self._changing:
            self._shelf = None
        await self._retire(name)

    async def connectors(self) -> tuple[Connector, ...]:
        """The registered systems, newest first."""
        return await self._registrations.connectors()

    async def connector(self, name: str) -> Connector:
        """One registered system.

        Raises:
            NotFoundError: there is none of that name.
        """
        found = (await self._present()).connectors.get(name)
        if found is None:
            raise NotFoundError(f"There is no connector '{name}'.")
        return found

    async def report(self, name: str) -> ConnectorReport:
        """A registration and what became of each operation.

        Raises:
            NotFoundError: there is none of that name.
        """
        known = await self._registrations.find(name)
        if known is None:
            raise NotFoundError(f"There is no connector '{name}'.")
        return known.report

    async def identity(self) -> str:
        """What changes with every registration, refresh and removal."""
        return (await self._present()).identity

    async def names(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Exposed names of the tools that any of the glob patterns names; sorted."""
        return (await self._present()).matching(patterns)

    async def tools(
        self, patterns: Sequence[str], limit: int | None = None, within: Collection[str] | None = None
    ) -> tuple[Tool, ...]:
        """The tools that any of the glob patterns names, over `connector.operation` or the exposed name; sorted.

        Args:
            patterns: the patterns.
            limit: most tools to return.
            within: exposed names of the tools that may be returned; None for all.
        """
        shelf = await self._present()
        names = (name for name in shelf.matching(patterns) if within is None or name in within)
        return tuple(await self._taken(shelf, tuple(names)[:limit]))

    async def tool(self, name: str) -> Tool:
        """The tool of an exposed name, or of `connector.operation`.

        Raises:
            NotFoundError: there is none; the message names the nearest.
        """
        shelf = await self._present()
        taken = await self._taken(shelf, (shelf.name_of(name),))
        if not taken:
            raise NotFoundError(f"The tool '{name}' has just been removed.", mend="List the tools to see their names.")
        return taken[0]

    async def search(
        self,
        query: str,
        limit: int = 20,
        patterns: Sequence[str] = ("*",),
        within: Collection[str] | None = None,
    ) -> tuple[Tool, ...]:
        """The tools that fit the words best, best first.

        Args:
            query: words.
            limit: most tools to return.
            patterns: glob patterns of which one has to name a tool.
            within: exposed names of the tools that may be found; None for all.
        """
        while True:
            shelf = await self._present()
            found = await self._words.find(shelf, query, limit, patterns, within)
            if found is not None:
                return tuple(await self._taken(shelf, found))
            if self._shelf is shelf:
                self._shelf = None

    @contextlib.asynccontextmanager
    async def reach(self, name: str, *, copy: str | None = None) -> AsyncGenerator[CompiledConnector]:
        """A connector, ready to be called for as long as the block lasts.

        Args:
            name: the connector's name.
            copy: the practice copy that is reached instead of the system that is registered.

        Raises:
            NotFoundError: it is not registered.
            ForbiddenError: it has no practice copies.
            ConfigurationError: its credential was sealed under another master key.
        """
        held = self._held.setdefault(name, Held())
        held.users += 1
        try:
            async with held.lock:
                if held.compiled is None:
                    held.compiled = await self._compiled(*await self._registrations.load(name))
            yield held.compiled if copy is None else held.compiled.at_practice(copy)
        finally:
            held.users -= 1
            await close_if_unused(held)

    async def close(self) -> None:
        """Close every connection to the systems."""
        await self._words.close()
        held, self._held = tuple(self._held.values()), {}
        for each in held:
            each.retired = True
        await asyncio.gather(*map(close_if_unused, held))  # some say goodbye to a system that does not listen any more

    async def _compiled(self, spec: ConnectorSpec, documents: Documents) -> CompiledConnector:
        turns = self._turns.setdefault(spec.name, Turns(spec.name, self._registrations, self._store))
        # Seconds of work for the largest: in a thread, so that others are served meanwhile.
        compiled = await asyncio.to_thread(
            CompiledConnector.compile,
            spec,
            documents.present,
            newer=documents.newer,
            page_key=self._vault.page_key,
            on_rotated=turns.rotated,
            turn=turns.take,
            resolve=self._secrets.resolve,
        )
        await compiled.learn()
        return compiled

    async def _registration(self, spec: ConnectorSpec, documents: Documents) -> Registration:
        """A registration, compiled and ready to be written.

        Raises:
            DocumentError: nothing becomes a tool, or the credential does not fit.
        """
        compiled = await self._compiled(spec, documents)
        require_tools(compiled)
        registration = Registration(spec, documents, compiled)
        await asyncio.to_thread(registration.pack)
        return registration

    async def _revised(
        self, spec: ConnectorSpec, documents: Documents, found: Document, *, accept: bool
    ) -> Registration:
        """The registration with a newer document: beside the one in force while something waits, else in its place."""
        digest = await asyncio.to_thread(lambda: found.digest)
        last = documents.digests[1] or documents.digests[0]
        both = await self._registration(spec, Documents(documents.present, found))
        served, held = both.compiled.served, both.compiled.held
        waits = bool(held) and not accept
        alone = both if waits else await self._registration(spec, Documents(found))
        if not waits:
            await both.compiled.aclose()
            served, held = (*served, *held), ()
        look = rows.look_of(digest, served, held, changed=digest != last)
        return replace(alone, look=look)

    async def _put(self, registration: Registration, before: Documents, action: Action) -> RefreshReport:
        """Write a changed registration; calls under way end as they would have."""
        name = registration.spec.name
        # Compiled anew by the next call, with the credential as the calls under way leave it.
        await registration.compiled.aclose()
        async with self._changing:
            report = await self._registrations.revise(registration, before.digests, action)
            if registration.own_credential and name in self._turns:
                self._turns.pop(name).ended = True  # a token given for the credential of before is not for this one
            self._changed()
        await self._retire(name)
        return report

    def _changed(self) -> None:
        """What is at hand is of before; words are indexed anew before somebody asks."""
        self._shelf = None
        self._words.prepare(self._present)

    async def _retire(self, name: str) -> None:
        held = self._held.pop(name, None)
        if held is not None:
            held.retired = True
            await close_if_unused(held)

    async def _taken(self, shelf: Shelf, names: Sequence[str]) -> list[Tool]:
        """Those of some tools that are still there."""
        known = shelf.known(names)
        missing = [name for name in names if name not in known]
        if missing:
            read = await self._registrations.tools(missing)
            shelf.keep(read)
            known |= {tool.name: tool for tool in read}
        return [known[name] for name in names if name in known]

    async def _present(self) -> Shelf:
        shelf = self._shelf
        if shelf is None:
            async with self._changing:
                shelf = self._shelf = self._shelf or await self._registrations.shelf()
        return shelf
