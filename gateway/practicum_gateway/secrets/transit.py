"""A master key that never is in this process: a transit engine of Vault or OpenBao wraps and unwraps the data keys."""

import base64
import binascii
import re
from http import HTTPStatus

from practicum.contracts.base import JsonObject
from practicum.errors import ConfigurationError
from practicum_gateway.secrets.openbao import OpenBao
from practicum_gateway.store.vault import LocalMasterKey, Sealer

_WRAPPED = re.compile(r"vault:v([0-9]{1,9}):.+")
_PROBE = "a probe"


class TransitMasterKey:
    """A key of a transit engine, derived anew for each tenant and each data key."""

    def __init__(
        self, bao: OpenBao, mount: str, key: str, *, tenant: str = "", former: LocalMasterKey | None = None
    ) -> None:
        """Ask nothing yet.

        Args:
            bao: the server.
            mount: where the engine is.
            key: the name of the key, which must be derived.
            tenant: for whom it wraps.
            former: a master key of this process that it takes the place of.
        """
        self._bao = bao
        self._mount = mount
        self._key = key
        self._tenant = tenant
        self._former = former
        self._latest = 0

    def __repr__(self) -> str:
        return f"TransitMasterKey({self._mount}/{self._key})"

    @property
    def sealers(self) -> tuple[Sealer, ...]:
        """What opens credentials of releases in which the former master key sealed them itself."""
        return () if self._former is None else self._former.sealers

    @property
    def names(self) -> bytes | None:
        """Those of the former master key, where there is one."""
        return None if self._former is None else self._former.names

    async def wrap(self, key: bytes, context: str) -> str:
        """A data key that only the engine opens, for the same tenant and context.

        Raises:
            ConfigurationError: the engine refuses.
            SecretSourceError: it cannot be asked.
        """
        await self._require_derived()
        return await self._encrypted(base64.b64encode(key).decode(), context)

    async def unwrap(self, wrapped: str, context: str) -> tuple[bytes, bool]:
        """A data key, and whether an earlier version of the key, or a former master key, wrapped it.

        Raises:
            ConfigurationError: it was wrapped for another tenant or purpose or by another key.
            SecretSourceError: the engine cannot be asked.
        """
        version = _WRAPPED.fullmatch(wrapped)
        if version is None:
            if self._former is None:
                raise ConfigurationError(
                    "A data key is sealed under a master key of this process, and not by the vault.",
                    mend="Name the master key of before in PRACTICUM_FORMER_MASTER_KEYS for this start.",
                )
            return (await self._former.unwrap(wrapped, context))[0], True
        await self._require_derived()
        body: JsonObject = {"ciphertext": wrapped, "context": self._context(context)}
        status, answer = await self._bao.ask("POST", f"{self._mount}/decrypt/{self._key}", body)
        data = answer.get("data")
        plain = data.get("plaintext") if isinstance(data, dict) else None
        if status != HTTPStatus.OK or not isinstance(plain, str):
            raise self._refused("does not open a data key of this store", status)
        try:
            return base64.b64decode(plain, validate=True), int(version[1]) < self._latest
        except binascii.Error:
            raise self._refused("opens a data key to something else", status) from None

    def of_tenant(self, tenant: str) -> "TransitMasterKey":
        """The master key of a tenant."""
        former = None if self._former is None else self._former.of_tenant(tenant)
        return TransitMasterKey(self._bao, self._mount, self._key, tenant=tenant, former=former)

    async def _require_derived(self) -> None:
        """Go on only if the engine derives a key from the context, else any tenant's would open for any other."""
        if self._latest:
            return
        body: JsonObject = {"plaintext": base64.b64encode(_PROBE.encode()).decode()}
        # With a context first: where the gateway may make keys, the engine makes a derived one of it.
        probe = _WRAPPED.fullmatch(await self._encrypted(str(body["plaintext"]), _PROBE))
        status, _ = await self._bao.ask("POST", f"{self._mount}/encrypt/{self._key}", body)
        if status == HTTPStatus.OK:
            raise ConfigurationError(
                f"The key {self._key} of the vault is not derived: it would open any tenant's data keys for any other.",
                mend=f"Make another one: bao write -f {self._mount}/keys/NAME derived=true",
            )
        self._latest = 0 if probe is None else int(probe[1])

    async def _encrypted(self, plaintext: str, context: str) -> str:
        body: JsonObject = {"plaintext": plaintext, "context": self._context(context)}
        status, answer = await self._bao.ask("POST", f"{self._mount}/encrypt/{self._key}", body)
        data = answer.get("data")
        wrapped = data.get("ciphertext") if isinstance(data, dict) else None
        if status != HTTPStatus.OK or not isinstance(wrapped, str) or not _WRAPPED.fullmatch(wrapped):
            raise self._refused("does not wrap a data key", status)
        return wrapped

    def _context(self, context: str) -> str:
        return base64.b64encode(f"practicum\0{self._tenant}\0{context}".encode()).decode()

    def _refused(self, what: str, status: int) -> ConfigurationError:
        return ConfigurationError(
            f"The vault's key {self._mount}/{self._key} {what}: it answered {status}.",
            mend="Is it the key of this store, and may the gateway's policy encrypt and decrypt with it?",
        )
