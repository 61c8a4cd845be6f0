"""The vault: secrets at rest, sealed with AES-256-GCM and bound to what they are for.

    master key  ->  data keys of a store  ->  credentials

The master key is the operator's: it seals the data keys and nothing else, so that it can be changed without touching a
credential. A data key is the store's own; `rotate` makes a new one and everything is sealed anew.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from practicum.errors import ConfigurationError

KEY_BYTES = 32
_VERSION = "v1"
_NONCE_BYTES = 12


def new_key() -> bytes:
    """Fresh random bytes to seal with."""
    return secrets.token_bytes(KEY_BYTES)


class MasterKey(Protocol):
    """Seals data keys: one in the environment or a file, or one that a key management service never gives out."""

    @property
    def sealers(self) -> tuple["Sealer", ...]:
        """What opens credentials of releases in which a master key sealed them itself."""
        ...

    @property
    def names(self) -> bytes | None:
        """What fingerprints and handles of pages were made with where the master key made them itself."""
        ...

    async def wrap(self, key: bytes, context: str) -> str:
        """A data key, unreadable without the master key; opening it needs the same context."""
        ...

    async def unwrap(self, wrapped: str, context: str) -> tuple[bytes, bool]:
        """A data key, and whether it is sealed under a former master key and should be wrapped anew.

        Raises:
            ConfigurationError: it was sealed under another master key, or changed since.
        """
        ...

    def of_tenant(self, tenant: str) -> "MasterKey":
        """The master key of a tenant: what it seals opens there and nowhere else."""
        ...


class Sealer:
    """Seals and opens text under one key.

    A sealed text is `v1:KEY ID:BASE64`. The context goes into the seal: a row copied over another one does not open.
    """

    def __init__(self, key: bytes) -> None:
        """Hold a key of 32 bytes."""
        if len(key) != KEY_BYTES:
            raise ConfigurationError(
                f"The master key has {len(key)} bytes and needs {KEY_BYTES}.",
                mend="Set PRACTICUM_MASTER_KEY to base64 of 32 random bytes: openssl rand -base64 32",
            )
        self._cipher = AESGCM(derived(key, "seal"))
        self.id = derived(key, "id").hex()[:8]
        """Tells seals of different keys apart."""

    def seal(self, text: str, context: str) -> str:
        """The text, unreadable without the key."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), context.encode())
        return f"{_VERSION}:{self.id}:{base64.b64encode(sealed).decode()}"

    def open(self, sealed: str, context: str) -> str:
        """What this key sealed.

        Raises:
            ConfigurationError: it was sealed for another purpose, or changed since.
        """
        try:
            raw = base64.b64decode(sealed.rpartition(":")[2], validate=True)
            return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], context.encode()).decode()
        except (InvalidTag, ValueError):
            raise ConfigurationError(
                f"The stored credential of {context} does not open: it was changed or moved.",
                mend="Register it again.",
            ) from None


class LocalMasterKey:
    """A master key that this process holds, and those that it takes the place of."""

    def __init__(self, present: bytes, former: Sequence[bytes] = ()) -> None:
        """Hold them.

        Args:
            present: 32 random bytes.
            former: master keys that data keys may still be sealed under.

        Raises:
            ConfigurationError: one has another length.
        """
        self._keys = (present, *former)
        self._sealers = tuple(Sealer(key) for key in self._keys)

    def __repr__(self) -> str:
        return f"LocalMasterKey({self._sealers[0].id})"

    @property
    def sealers(self) -> tuple[Sealer, ...]:
        """What opens credentials of releases in which the master key sealed them itself."""
        return self._sealers

    @property
    def names(self) -> bytes:
        """What fingerprints and handles of pages are made with in a store that has no key for that yet."""
        oldest = self._keys[-1]
        return derived(oldest, "fingerprint") + derived(oldest, "next page")

    async def wrap(self, key: bytes, context: str) -> str:
        """A data key, sealed under the present master key."""
        return self._sealers[0].seal(base64.b64encode(key).decode(), context)

    async def unwrap(self, wrapped: str, context: str) -> tuple[bytes, bool]:
        """A data key, and whether a former master key sealed it.

        Raises:
            ConfigurationError: none of these master keys did.
        """
        by = _key_id(wrapped)
        for position, sealer in enumerate(self._sealers):
            if sealer.id == by:
                return base64.b64decode(sealer.open(wrapped, context)), position > 0
        raise _other_key(by)

    def of_tenant(self, tenant: str) -> "LocalMasterKey":
        """The master key of a tenant."""
        present, *former = (derived(derived(key, "tenants"), tenant) for key in self._keys)
        return LocalMasterKey(present, former)


class Vault:
    """Seals under one data key, and opens what any of those that it holds has sealed."""

    def __init__(self, key: bytes) -> None:
        """Hold one key, for everything until others are taken up.

        Args:
            key: 32 random bytes.

        Raises:
            ConfigurationError: it has another length.
        """
        self._sealing = Sealer(key)
        self._sealers = {self._sealing.id: self._sealing}
        self.take_names(derived(key, "fingerprint") + derived(key, "next page"))

    def __repr__(self) -> str:
        return f"Vault({self._sealing.id})"

    @property
    def key_id(self) -> str:
        """Which key seals now."""
        return self._sealing.id

    def take(self, sealer: Sealer, *, seals: bool) -> None:
        """Take up a key.

        Args:
            sealer: the key.
            seals: whether it seals from now on; all others only open.
        """
        self._sealers[sealer.id] = sealer
        if seals:
            self._sealing = sealer

    def take_names(self, names: bytes) -> None:
        """Take up what fingerprints and handles of pages are made with.

        Args:
            names: 64 bytes.
        """
        self._print_key = names[:KEY_BYTES]
        self.page_key = names[KEY_BYTES:]
        """What seals the way to a next page, so that gateways over one store open each other's."""

    def seal(self, text: str, context: str) -> str:
        """The text, unreadable without the keys.

        Args:
            text: the secret.
            context: what it is for; opening it needs the same words.
        """
        return self._sealing.seal(text, context)

    def open(self, sealed: str, context: str) -> str:
        """What was sealed.

        Raises:
            ConfigurationError: it was sealed under another key, for another purpose, or changed since.
        """
        sealer = self._sealers.get(_key_id(sealed))
        if sealer is None or not sealed.startswith(f"{_VERSION}:"):
            raise _other_key(_key_id(sealed))
        return sealer.open(sealed, context)

    def sealed_anew(self, sealed: str, context: str) -> str | None:
        """What was sealed, under the key that seals now; None where that sealed it already.

        Raises:
            ConfigurationError: as for `open`.
        """
        return None if _key_id(sealed) == self.key_id else self.seal(self.open(sealed, context), context)

    def fingerprint(self, text: str) -> str:
        """A keyed hash: tells equal secrets apart from others, and tells nothing else without the key."""
        return hmac.new(self._print_key, text.encode(), hashlib.sha256).hexdigest()


def derived(key: bytes, purpose: str) -> bytes:
    """A key for one purpose, from which neither the key nor one for another purpose can be told."""
    return hmac.new(key, f"practicum {purpose}".encode(), hashlib.sha256).digest()


def _key_id(sealed: str) -> str:
    return sealed.partition(":")[2].partition(":")[0]


def _other_key(key_id: str) -> ConfigurationError:
    return ConfigurationError(
        f"A stored credential was sealed under another master key ({key_id[:8] or 'unknown'}).",
        mend="Start the gateway with the master key of this store, or name it in PRACTICUM_FORMER_MASTER_KEYS.",
    )
