"""Secrets that are kept outside: a port, and what stands before it for one tenant. Values stay in memory a while."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from practicum.contracts.secrets import SecretReference, reference_of
from practicum.errors import PracticumError, RequestError, SecretSourceError
from practicum_connectors.resilience import Clock

_PAUSE_SECONDS = 2.0
"""How long the many who ask while a store is down are told so without asking it."""
_NOT_SET = {
    "vault": "PRACTICUM_VAULT_URL",
    "mounted": "PRACTICUM_SECRETS_DIR",
}


class SecretSource(Protocol):
    """Reads the secrets of one tenant from one store."""

    async def read(self, reference: SecretReference) -> str:
        """The secret; errors name the reference and never the value.

        Raises:
            RequestError: there is none there, or the gateway may not read it.
            SecretSourceError: the store cannot be reached or asked; another try may help.
        """
        ...


@dataclass(slots=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    value: str = field(default="", repr=False)
    until: float = float("-inf")
    read: int = 0
    failure: PracticumError | None = None
    failed: float = float("-inf")


class Secrets:
    """What one tenant's references stand for."""

    def __init__(self, sources: Mapping[str, SecretSource], seconds: float = 60.0, clock: Clock | None = None) -> None:
        """Read nothing yet.

        Args:
            sources: by the name of the store; one that is not there is not configured.
            seconds: how long a value is kept in memory.
            clock: the time.
        """
        self._sources = dict(sources)
        self._seconds = seconds
        self._clock = clock or Clock()
        self._kept: dict[str, _Kept] = {}

    async def resolve(self, reference: str, fresh: bool = False) -> str:
        """The secret that a reference stands for.

        Args:
            reference: as it was registered.
            fresh: read it anew, because the one that is known was refused.

        Raises:
            RequestError: it is no reference, its store is not configured, or there is nothing to read.
            SecretSourceError: its store cannot be asked.
        """
        return await self._resolved(reference, fresh=fresh, patient=True)

    async def _resolved(self, reference: str, *, fresh: bool, patient: bool) -> str:
        parsed = self._parsed(reference)
        kept = self._kept.setdefault(reference, _Kept())
        seen = kept.read
        async with kept.lock:
            # Whoever waited while somebody else read it takes what that one read.
            if kept.read == seen and (fresh or self._clock.now() >= kept.until):
                if kept.failure is not None and patient and self._clock.now() < kept.failed + _PAUSE_SECONDS:
                    raise type(kept.failure)(kept.failure.detail, mend=kept.failure.mend)
                await self._read(parsed, kept)
            return kept.value

    async def require(self, references: Iterable[str]) -> None:
        """Go on only if each reference stands for something.

        Raises:
            RequestError: one does not.
            SecretSourceError: its store cannot be asked.
        """
        for reference in references:
            await self._resolved(reference, fresh=True, patient=False)  # it may have been written just now

    async def _read(self, reference: SecretReference, kept: _Kept) -> None:
        kept.until = float("-inf")  # nothing that could not be read again goes on being used
        try:
            kept.value = await self._sources[reference.store].read(reference)
        except (RequestError, SecretSourceError) as error:
            kept.failure, kept.failed = error, self._clock.now()
            raise
        kept.failure, kept.until, kept.read = None, self._clock.now() + self._seconds, kept.read + 1

    def _parsed(self, reference: str) -> SecretReference:
        try:
            parsed = reference_of(reference)
        except ValueError as error:
            raise RequestError(f"A credential is no reference to a secret: {error}.") from None
        if parsed.store not in self._sources:
            raise RequestError(
                f"{parsed} cannot be read: this gateway has no such store of secrets.",
                mend=f"The operator sets {_NOT_SET[parsed.store]}.",
            )
        return parsed
