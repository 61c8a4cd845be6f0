"""The issuers of a tenant: kept in its store, and in memory with their keys."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.audit import Action
from practicum.contracts.base import utc_now
from practicum.contracts.issuers import Issuer
from practicum.errors import ConflictError, NotFoundError, RequestError, UpstreamError
from practicum_gateway.access.principals import WEBHOOK, Principal
from practicum_gateway.access.provider_keys import ProviderKeys
from practicum_gateway.access.tokens import Token, principal_of
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.store.access_tables import KeyRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.issuer_tables import IssuerRow

MOST_ISSUERS = 50


@dataclass(frozen=True, slots=True)
class Trusted:
    """An issuer, with its keys.

    Attributes:
        issuer: whose tokens are taken, and on which terms.
        keys: its keys.
    """

    issuer: Issuer
    keys: ProviderKeys

    async def principal(self, token: Token) -> Principal:
        """Who shows a token of this issuer; raises as `principal_of` does."""
        return await principal_of(token, self.issuer, self.keys)


class Issuers:
    """Keeps whose tokens are taken.

    They are kept in memory too, and read anew when another gateway tells that they changed.
    """

    def __init__(self, store: Store) -> None:
        """Keep issuers in a store; `open` reads them."""
        self._store = store
        self._trusted: dict[str, Trusted] = {}
        self._changing = asyncio.Lock()

    async def open(self) -> None:
        """Read them, once more where they were changed elsewhere; their keys are fetched with the first token."""
        async with self._changing:
            async with self._store.read() as session:
                found = await _issuers(session)
            former, self._trusted = self._trusted, {}
            for issuer in found:
                known = former.get(issuer.name)
                same = known is not None and known.issuer == issuer
                self._trusted[issuer.name] = former.pop(issuer.name) if same else Trusted(issuer, ProviderKeys(issuer))
        for trusted in former.values():
            await trusted.keys.aclose()

    async def close(self) -> None:
        """Close all connections to them."""
        for trusted in self._trusted.values():
            await trusted.keys.aclose()

    def list(self) -> tuple[Issuer, ...]:
        """All of them, by name."""
        return tuple(self._trusted[name].issuer for name in sorted(self._trusted))

    def get(self, name: str) -> Issuer:
        """One of them.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._found(name).issuer

    def trusting(self, token: Token) -> tuple[Trusted, ...]:
        """Those whose token it says it is, for an audience of theirs."""
        audiences = token.audiences
        return tuple(
            each
            for each in self._trusted.values()
            if each.issuer.issuer == token.issuer and each.issuer.audience in audiences
        )

    def require_free(self, principal: str) -> None:
        """Refuse a name that only tokens of an issuer may bear, or who answers through a webhook.

        Raises:
            ConflictError: it begins as these names do.
        """
        prefix, mark, _ = principal.partition(":")
        if mark and prefix == WEBHOOK:
            raise ConflictError(
                f"Names that begin with '{WEBHOOK}:' are those of people who answer through webhooks.",
                mend="Choose another name for the key's principal.",
            )
        if mark and prefix in self._trusted:
            raise ConflictError(
                f"Names that begin with '{prefix}:' are those of the issuer '{prefix}'.",
                mend="Choose another name for the key's principal.",
            )

    async def put(self, issuer: Issuer) -> Issuer:
        """Take an issuer's tokens from now on, on these terms; its keys are fetched to see that they can be had.

        Raises:
            ConflictError: another one stands for the same tokens, keys bear names of its principals, or there are too
                many.
            RequestError: its keys cannot be had.
        """
        keys = ProviderKeys(issuer)
        try:
            await self._try(issuer, keys)
            async with self._changing:
                await self._keep(issuer)
                former = self._trusted.get(issuer.name)
                self._trusted = {**self._trusted, issuer.name: Trusted(issuer, keys)}
        except BaseException:
            await keys.aclose()
            raise
        if former is not None:
            await former.keys.aclose()
        return issuer

    async def remove(self, name: str) -> None:
        """Take its tokens no longer, from the next request on.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._changing:
            former = self._found(name)
            async with self._store.write() as session:
                row = await session.get(IssuerRow, name)
                if row is not None:
                    await session.delete(row)
                await append(session, Deed(Action.ISSUER_REMOVED, name))
            self._trusted = {other: each for other, each in self._trusted.items() if other != name}
        await former.keys.aclose()

    def _found(self, name: str) -> Trusted:
        trusted = self._trusted.get(name)
        if trusted is None:
            raise NotFoundError(f"There is no issuer '{name}'.")
        return trusted

    async def _try(self, issuer: Issuer, keys: ProviderKeys) -> None:
        _require_apart(issuer, self.list())  # before anything is asked of anybody
        try:
            await keys.fetched()
        except UpstreamError as error:
            raise RequestError(
                f"The keys of '{issuer.name}' cannot be had: {error.detail}",
                mend="Check its URL, give `jwks_url`, or set `private_network` where it is meant to be inside.",
            ) from None

    async def _keep(self, issuer: Issuer) -> None:
        spec = issuer.model_dump(mode="json")
        async with self._store.write(in_turn=True) as session:
            _require_apart(issuer, await _issuers(session))  # another gateway may have taken one meanwhile
            bearing = select(KeyRow.principal).where(
                KeyRow.principal.startswith(f"{issuer.name}:", autoescape=True),
                KeyRow.revoked.is_(None),
                KeyRow.episode.is_(None),
            )
            principal = await session.scalar(bearing.limit(1))
            if principal is not None:
                raise ConflictError(
                    f"A key speaks for '{principal}', as a token of an issuer '{issuer.name}' could.",
                    mend="Choose another name for the issuer, or revoke the key.",
                )
            row = await session.get(IssuerRow, issuer.name)
            if row is None:
                session.add(IssuerRow(name=issuer.name, spec=spec, created=utc_now()))
            else:
                row.spec = spec
            await append(session, Deed(Action.ISSUER_TRUSTED, issuer.name, details=spec))


async def _issuers(session: AsyncSession) -> tuple[Issuer, ...]:
    """All that are stored, by name."""
    rows = await session.scalars(select(IssuerRow).order_by(IssuerRow.name))
    return tuple(Issuer.model_validate(row.spec) for row in rows)


def _require_apart(issuer: Issuer, others: Sequence[Issuer]) -> None:
    """Refuse an issuer that could not be told from others, or is one too many.

    Raises:
        ConflictError: it is.
    """
    if issuer.name == WEBHOOK:
        raise ConflictError("Who answers through a webhook is named so.", mend="Choose another name.")
    for other in others:
        same = (other.issuer, other.audience) == (issuer.issuer, issuer.audience)
        if same and other.name != issuer.name:
            raise ConflictError(
                f"The issuer '{other.name}' stands for the same URL and audience.", mend="Change that one."
            )
    if len(others) >= MOST_ISSUERS and all(other.name != issuer.name for other in others):
        raise ConflictError(f"There are {MOST_ISSUERS} issuers already.", mend="Remove one that is needed no more.")
