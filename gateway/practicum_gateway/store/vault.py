"""The vault: secrets at rest, sealed with AES-256-GCM and bound to what they are for."""

import base64
import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from practicum.errors import ConfigurationError

KEY_BYTES = 32
_VERSION = "v1"
_NONCE_BYTES = 12


def new_master_key() -> bytes:
    """Fresh random bytes to seal with."""
    return secrets.token_bytes(KEY_BYTES)


class Vault:
    """Seals and opens text under one master key.

    A sealed text is `v1:KEY ID:BASE64`, so that a later version can hold several keys and tell them apart. The context
    goes into the seal: a row copied over another one does not open.
    """

    def __init__(self, master_key: bytes) -> None:
        """Hold the master key.

        Args:
            master_key: 32 random bytes.

        Raises:
            ConfigurationError: it has another length.
        """
        if len(master_key) != KEY_BYTES:
            raise ConfigurationError(
                f"The master key has {len(master_key)} bytes and needs {KEY_BYTES}.",
                mend="Set PRACTICUM_MASTER_KEY to base64 of 32 random bytes: openssl rand -base64 32",
            )
        self._cipher = AESGCM(_derived(master_key, "seal"))
        self._print_key = _derived(master_key, "fingerprint")
        self.page_key = _derived(master_key, "next page")
        """What seals the way to a next page, so that gateways with one master key open each other's."""
        self._key_id = _derived(master_key, "id").hex()[:8]
        self._tenants = _derived(master_key, "tenants")

    def __repr__(self) -> str:
        return f"Vault({self._key_id})"

    def of_tenant(self, tenant: str) -> "Vault":
        """The vault of a tenant: what it seals opens there and nowhere else."""
        return Vault(_derived(self._tenants, tenant))

    def seal(self, text: str, context: str) -> str:
        """The text, unreadable without the master key.

        Args:
            text: the secret.
            context: what it is for; opening it needs the same words.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), context.encode())
        return f"{_VERSION}:{self._key_id}:{base64.b64encode(sealed).decode()}"

    def open(self, sealed: str, context: str) -> str:
        """What was sealed.

        Raises:
            ConfigurationError: it was sealed under another master key, for another purpose, or changed since.
        """
        version, _, rest = sealed.partition(":")
        key_id, _, body = rest.partition(":")
        if version != _VERSION or key_id != self._key_id:
            raise ConfigurationError(
                f"A stored credential was sealed under another master key ({key_id or 'unknown'}).",
                mend="Start the gateway with the master key that this store was made with.",
            )
        try:
            raw = base64.b64decode(body, validate=True)
            return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], context.encode()).decode()
        except (InvalidTag, ValueError):
            raise ConfigurationError(
                f"The stored credential of {context} does not open: it was changed or moved.",
                mend="Register it again.",
            ) from None

    def fingerprint(self, text: str) -> str:
        """A keyed hash: tells equal secrets apart from others, and tells nothing else without the master key."""
        return hmac.new(self._print_key, text.encode(), hashlib.sha256).hexdigest()


def _derived(master_key: bytes, purpose: str) -> bytes:
    return hmac.new(master_key, f"practicum {purpose}".encode(), hashlib.sha256).digest()
