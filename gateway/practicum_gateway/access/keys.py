"""API keys: shown once, kept as a hash, recognised in constant time."""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, update

from practicum.contracts.access import IssuedKey, KeyInfo, KeyRequest, Role
from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tenants import MAIN
from practicum.errors import ConfigurationError, ConflictError, NotFoundError, UnauthenticatedError
from practicum_gateway.access.principals import Principal
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.store.access_tables import KeyRow
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.notices import Topic, tell

KEY_PREFIX = "prk_"
_SHOWN = 8
"""How many random characters of a key are kept to recognise it by."""
_MARK = "."
"""Stands between the tenant of a key and its random part; no tenant's name and no random part holds one."""
_SHORTEST = 24
_INSTALLED = "boot_"
"""How the ids of keys begin that are configured, not issued."""
_REMEMBERED = 1024


def new_secret(tenant: str = MAIN) -> str:
    """A fresh key of 256 random bits, which says of which tenant it is."""
    owner = "" if tenant == MAIN else f"{tenant}{_MARK}"
    return f"{KEY_PREFIX}{owner}{secrets.token_urlsafe(32)}"


def tenant_of(secret: str) -> str:
    """The tenant that a key says it is of, whether it is valid or not."""
    owner, mark, _ = secret.removeprefix(KEY_PREFIX).partition(_MARK)
    return owner if mark and secret.startswith(KEY_PREFIX) else MAIN


def shown_of(secret: str) -> str:
    """What is kept of a key to recognise it by, for people too."""
    random = secret.removeprefix(KEY_PREFIX).rpartition(_MARK)[2]
    return f"{KEY_PREFIX if secret.startswith(KEY_PREFIX) else ''}{random[:_SHOWN]}"


def hash_of(secret: str) -> str:
    """What is kept of a key. Keys are long random numbers: a fast hash cannot be guessed backwards."""
    return hashlib.sha256(secret.encode()).hexdigest()


def invalid_key() -> UnauthenticatedError:
    """What is answered to whatever opens nothing: it does not say why."""
    return UnauthenticatedError(
        "The key is not valid: unknown, expired or revoked.", mend="Ask an administrator for a key."
    )


@dataclass(frozen=True, slots=True)
class _Recognised:
    principal: Principal
    expires: datetime | None


class Keys:
    """Issues, recognises, rotates and revokes API keys.

    Keys that were shown lately are recognised from memory, by their hash, until one is withdrawn, here or by another
    gateway that tells so.
    """

    def __init__(self, store: Store, tenant: str = MAIN) -> None:
        """Keep the keys of a tenant in a store."""
        self._store = store
        self._tenant = tenant
        self._recognised: OrderedDict[str, _Recognised] = OrderedDict()
        self._withdrawals = 0

    async def authenticate(self, secret: str) -> Principal:
        """Who shows this key.

        Raises:
            UnauthenticatedError: it is unknown, expired or revoked; which of them is not said.
        """
        offered = hash_of(secret)
        known = self._recognised.get(offered) or await self._look_up(secret, offered)
        if known is None or (known.expires is not None and known.expires <= utc_now()):
            raise invalid_key()
        return known.principal

    async def issue(self, request: KeyRequest, *, episode: str | None = None) -> IssuedKey:
        """Make a key.

        Args:
            request: for whom, with which role, for how long.
            episode: the only episode it may act in.
        """
        return await self._add(new_secret(self._tenant), request, episode)

    async def install(self, secret: str, principal: str, role: Role, *, replaces: bool = True) -> KeyInfo:
        """Make sure that a given key is valid: how the first keys of an installation come to be.

        A key installed earlier for the same principal and role, and another one, is revoked: changing the configured
        key is how it is rotated.

        Args:
            secret: the key.
            principal: for whom.
            role: in which role.
            replaces: whether it may take the place of another one.

        Raises:
            ConfigurationError: it is too short to be a secret, says that it is of another tenant, or would take the
                place of one that it may not.
        """
        if len(secret) < _SHORTEST:
            raise ConfigurationError(
                f"The key configured for '{principal}' has {len(secret)} characters; {_SHORTEST} is the least.",
                mend="Use a longer random value, or leave it out and one is made.",
            )
        if tenant_of(secret) != self._tenant:
            raise ConfigurationError(
                f"The key configured for '{principal}' says that it is of another tenant.",
                mend=f"Use a value that does not begin with {KEY_PREFIX}, or leave it out and one is made.",
            )
        issuer = f"{_INSTALLED}{principal}"[:40]
        async with self._store.write() as session:
            row = await session.get(KeyRow, issuer)
            changed = row is None or row.revoked is not None or row.hash != hash_of(secret)
            if row is not None and changed and not replaces:
                raise ConfigurationError(
                    f"Another gateway on this database has another key of '{principal}' than the one made here.",
                    mend=f"Give all of them the same: PRACTICUM_{principal.upper()}_KEY.",
                )
            if row is None:
                row = KeyRow(id=issuer, episode=None, created=utc_now(), expires=None)
                session.add(row)
            row.prefix, row.hash, row.revoked = shown_of(secret), hash_of(secret), None
            row.principal, row.role = principal, role
            info = _info(row)
            if changed:
                await append(session, _issued(row))
                await tell(session, Topic.KEYS, issuer)  # the one before opens nothing any more
        self.forget()
        return info

    async def list(self, limit: int = 100) -> tuple[KeyInfo, ...]:
        """The newest keys first, without their secrets."""
        async with self._store.read() as session:
            rows = await session.scalars(select(KeyRow).order_by(KeyRow.created.desc(), KeyRow.id.desc()).limit(limit))
            return tuple(_info(row) for row in rows)

    async def revoke(self, key_id: str) -> None:
        """Withdraw a key; what it authorises ends with the next request.

        Raises:
            NotFoundError: there is no such key.
        """
        async with self._store.write() as session:
            row = await session.get(KeyRow, key_id)
            if row is None:
                raise NotFoundError(f"There is no key '{key_id}'.")
            if row.revoked is None:
                row.revoked = utc_now()
                await append(session, Deed(Action.KEY_REVOKED, key_id, details={"principal": row.principal}))
        self.forget()

    async def rotate(self, key_id: str, grace: timedelta) -> IssuedKey:
        """Make a key that takes the place of another: for the same principal, in the same role, for as long.

        Args:
            key_id: the old one.
            grace: how long that goes on, if it does not end before.

        Raises:
            NotFoundError: there is no such key.
            ConflictError: it is withdrawn or has ended, or this is not how it is exchanged.
        """
        now, secret = utc_now(), new_secret(self._tenant)
        async with self._store.write() as session:
            old = await session.get(KeyRow, key_id, with_for_update=True)
            if old is None:
                raise NotFoundError(f"There is no key '{key_id}'.")
            _require_rotatable(old, now)
            expires = None if old.expires is None else now + (old.expires - old.created)
            new = _row(secret, KeyRequest(principal=old.principal, role=Role(old.role)), created=now, expires=expires)
            session.add(new)
            end = now + grace if old.expires is None else min(old.expires, now + grace)
            old.expires = end
            details: JsonObject = {"principal": old.principal, "by": new.id, "ends": end.isoformat()}
            await append(session, Deed(Action.KEY_ROTATED, key_id, details=details), _issued(new))
        self.forget()
        return IssuedKey(key=secret, info=_info(new))

    async def revoke_of_episode(self, episode: str) -> None:
        """Withdraw every key bound to an episode, when it ends."""
        async with self._store.write() as session:
            revoked = await session.scalars(
                update(KeyRow)
                .where(KeyRow.episode == episode, KeyRow.revoked.is_(None))
                .values(revoked=utc_now())
                .returning(KeyRow.id)
            )
            await append(session, *(Deed(Action.KEY_REVOKED, key, episode=episode) for key in revoked))
        self.forget()

    def forget(self) -> None:
        """Look every key up anew: one was withdrawn."""
        self._recognised.clear()
        self._withdrawals += 1

    async def _look_up(self, secret: str, offered: str) -> _Recognised | None:
        before = self._withdrawals
        async with self._store.read() as session:
            rows = await session.scalars(select(KeyRow).where(KeyRow.prefix == shown_of(secret)))
            # Every candidate is compared, in constant time each, so that the time taken tells nothing.
            matches = [row for row in rows if hmac.compare_digest(row.hash, offered)]
        row = next((row for row in matches if row.revoked is None), None)
        if row is None:
            return None
        principal = Principal(name=row.principal, role=Role(row.role), key_id=row.id, episode=row.episode)
        known = _Recognised(principal, row.expires)
        if before == self._withdrawals:  # else it may have been withdrawn while it was looked up
            self._recognised[offered] = known
            if len(self._recognised) > _REMEMBERED:
                self._recognised.popitem(last=False)
        return known

    async def _add(self, secret: str, request: KeyRequest, episode: str | None) -> IssuedKey:
        now = utc_now()
        seconds = request.expires_in_seconds
        expires = None if seconds is None else now + timedelta(seconds=seconds)
        row = _row(secret, request, created=now, expires=expires, episode=episode)
        async with self._store.write() as session:
            session.add(row)
            await append(session, _issued(row))
        return IssuedKey(key=secret, info=_info(row))


def _row(
    secret: str, request: KeyRequest, *, created: datetime, expires: datetime | None, episode: str | None = None
) -> KeyRow:
    return KeyRow(
        id=new_id("key"),
        prefix=shown_of(secret),
        hash=hash_of(secret),
        principal=request.principal,
        role=request.role,
        episode=episode,
        created=created,
        expires=expires,
        revoked=None,
    )


def _require_rotatable(row: KeyRow, now: datetime) -> None:
    """Refuse a key in whose place none can be issued.

    Raises:
        ConflictError: it is one.
    """
    if row.episode is not None:
        raise ConflictError(f"'{row.id}' is the key of an episode.", mend="It ends with the episode; begin another.")
    if row.id.startswith(_INSTALLED):
        raise ConflictError(
            f"'{row.id}' is a key that the gateway was started with.",
            mend="Configure another and start the gateway again; the old one is then withdrawn.",
        )
    if row.revoked is not None or (row.expires is not None and row.expires <= now):
        raise ConflictError(f"'{row.id}' is withdrawn or has ended.", mend="Issue a new key.")


def _issued(row: KeyRow) -> Deed:
    expires = None if row.expires is None else row.expires.isoformat()
    details: JsonObject = {"principal": row.principal, "role": row.role, "expires": expires}
    return Deed(Action.KEY_ISSUED, row.id, episode=row.episode, details=details)


def _info(row: KeyRow) -> KeyInfo:
    return KeyInfo(
        id=row.id,
        prefix=row.prefix,
        principal=row.principal,
        role=Role(row.role),
        episode=row.episode,
        expires=row.expires,
        revoked=row.revoked is not None,
    )
