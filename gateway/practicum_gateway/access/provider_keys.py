"""The public keys of an identity provider: fetched when they are needed, kept for a while, never waited for twice."""

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import AllowedPublicKeys

from practicum.contracts.issuers import Issuer, SignatureAlgorithm
from practicum.errors import DocumentError, UpstreamError
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.fetch import check_url, shown
from practicum_connectors.resilience import Clock
from practicum_connectors.sender import Sender

logger = logging.getLogger("practicum_gateway")

REFRESH_SECONDS = 600.0
"""Keys older than this are fetched anew, while they go on: what the provider withdrew ends."""
STALE_SECONDS = 1200.0
"""Keys older than this are used only where the provider does not answer at once: one may be withdrawn since."""
KEPT_SECONDS = 6 * 3600.0
"""How long keys go on when the provider cannot be reached."""
PAUSE_SECONDS = 60.0
"""The least time between two fetches, whatever is asked for."""
_PAUSE_WITHOUT_KEYS = 5.0
_TIMEOUT_SECONDS = 5.0
_PATIENCE_SECONDS = 1.0
_MAX_BYTES = 256 * 1024
_MOST_KEYS = 100
_OK = 200
_WELL_KNOWN = "/.well-known/openid-configuration"

_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_FITTING: dict[tuple[str, str | None], frozenset[str]] = {
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
    ("OKP", "Ed448"): frozenset({"EdDSA"}),
}
_PUBLIC = frozenset({"kty", "crv", "n", "e", "x", "y"})
_LONGEST_NUMBER = 1400  # base64 of 8192 bits
_LONGEST_EXPONENT = 6
_LEAST_RSA_BITS = 2048


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key of a provider.

    Attributes:
        kid: what the provider calls it.
        algorithms: the only ones that it may be used with.
        key: the key itself.
    """

    kid: str | None
    algorithms: frozenset[str]
    key: AllowedPublicKeys


class ProviderKeys:
    """Fetches the keys of an issuer and keeps them in memory."""

    def __init__(self, issuer: Issuer, clock: Clock | None = None) -> None:
        """Fetch nothing yet.

        Args:
            issuer: whose they are.
            clock: the time.
        """
        self._issuer = issuer
        self._clock = clock or Clock()
        self._sender = Sender(private_network=issuer.private_network, max_response_bytes=_MAX_BYTES)
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched = 0.0
        self._tried: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: SignatureAlgorithm) -> tuple[PublicKey, ...]:
        """The keys with which a token may have been signed; without a name, the only one that fits.

        Args:
            kid: what the token calls it.
            algorithm: how the token says that it is signed.
        """
        now = self._clock.now()
        if self._keys and now - self._fetched > KEPT_SECONDS:
            self._keys = ()
        found, age = self._fitting(kid, algorithm), now - self._fetched
        if found and age <= REFRESH_SECONDS:
            return found
        self._refresh_soon(now)
        if self._fetching is None or (found and age <= STALE_SECONDS):
            return found
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS if found else None):
                await self.fetched()
        except (UpstreamError, TimeoutError):  # why, is told in the log
            return found
        return self._fitting(kid, algorithm)

    async def fetched(self) -> None:
        """Wait until they are fetched; several who wait fetch once.

        Raises:
            UpstreamError: they cannot be had.
        """
        if self._fetching is None:
            self._tried = self._clock.now()
            self._fetching = asyncio.create_task(self._fetch())
            self._fetching.add_done_callback(self._ended)
        task = self._fetching
        try:
            await asyncio.shield(task)  # whoever waits may give up; the others go on
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            raise UpstreamError("The issuer was removed or changed meanwhile.") from None

    async def aclose(self) -> None:
        """Give up what is under way, and close all connections."""
        if self._fetching is not None:
            self._fetching.cancel()
        await self._sender.aclose()

    def _fitting(self, kid: str | None, algorithm: SignatureAlgorithm) -> tuple[PublicKey, ...]:
        fitting = tuple(key for key in self._keys if algorithm in key.algorithms)
        if kid is None:
            return fitting if len(fitting) == 1 else ()
        return tuple(key for key in fitting if key.kid == kid)

    def _refresh_soon(self, now: float) -> None:
        pause = PAUSE_SECONDS if self._keys else _PAUSE_WITHOUT_KEYS
        if self._fetching is None and (self._tried is None or now - self._tried >= pause):
            self._tried = now
            self._fetching = asyncio.create_task(self._fetch())
            self._fetching.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._fetching = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, UpstreamError):
            logger.warning("keys of issuer '%s' not fetched: %s", self._issuer.name, error.detail)

    async def _fetch(self) -> None:
        url = self._issuer.jwks_url or await self._discovered()
        answer = await self._ask(url)
        keys = await asyncio.to_thread(lambda: tuple(_read(answer.get("keys"))))
        if not keys:
            raise UpstreamError(f"What lies at {shown(url)} holds no key that can be used.")
        self._keys, self._fetched = keys, self._clock.now()

    async def _discovered(self) -> str:
        """Where the provider itself says that its keys are."""
        at = f"{self._issuer.issuer.rstrip('/')}{_WELL_KNOWN}"
        described = await self._ask(at)
        if described.get("issuer") != self._issuer.issuer:
            raise UpstreamError(f"The provider at {shown(at)} speaks for another issuer.")
        url = described.get("jwks_uri")
        try:
            check_url(url if isinstance(url, str) else "")
        except DocumentError as error:
            raise UpstreamError(f"The provider at {shown(at)} names no place of its keys. {error.detail}") from None
        address = cast("str", url)
        if not address.startswith("https://") and not self._issuer.private_network:
            raise UpstreamError(f"The provider at {shown(at)} has its keys fetched without encryption.")
        return address

    async def _ask(self, url: str) -> dict[str, Any]:
        request = HttpRequest("GET", url, (("Accept", "application/json"), ("User-Agent", "practicum")))
        exchange = await self._sender.send(request, timeout_seconds=_TIMEOUT_SECONDS)
        response = exchange.response
        if response is None:
            raise UpstreamError(f"The provider at {shown(url)} says nothing: {exchange.reason}", mend=exchange.mend)
        if response.status != _OK:
            raise UpstreamError(f"The provider at {shown(url)} answered {response.status}.")
        if not response.complete:
            raise UpstreamError(f"What lies at {shown(url)} is longer than {_MAX_BYTES} bytes.")
        try:
            answer: object = await asyncio.to_thread(json.loads, response.body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise UpstreamError(f"What lies at {shown(url)} is no JSON object.")
        return cast("dict[str, Any]", answer)


def _read(keys: object) -> Iterable[PublicKey]:
    """The keys that can be used; providers keep others beside them."""
    if isinstance(keys, list):
        for jwk in cast("list[object]", keys)[:_MOST_KEYS]:
            key = _key_of(cast("dict[str, Any]", jwk)) if isinstance(jwk, dict) else None
            if key is not None:
                yield key


def _key_of(jwk: dict[str, Any]) -> PublicKey | None:
    algorithms, kid = _algorithms_of(jwk), jwk.get("kid")
    public = {name: value for name, value in jwk.items() if name in _PUBLIC and isinstance(value, str)}
    short = all(len(value) <= _LONGEST_NUMBER for value in public.values())
    if not algorithms or not short or len(public.get("e", "")) > _LONGEST_EXPONENT:
        return None
    if not (kid is None or isinstance(kid, str)):
        return None
    try:
        key = jwt.PyJWK(public, algorithm=min(algorithms)).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if isinstance(key, RSAPublicKey) and key.key_size < _LEAST_RSA_BITS:
        return None
    return PublicKey(kid, algorithms, cast("AllowedPublicKeys", key))


def _algorithms_of(jwk: dict[str, Any]) -> frozenset[str]:
    """What a key may be used with: as its kind allows, and as the provider says."""
    kind, operations, named = jwk.get("kty"), jwk.get("key_ops", ["verify"]), jwk.get("alg")
    if jwk.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return frozenset()
    curve = jwk.get("crv")
    if not isinstance(kind, str) or not (curve is None or isinstance(curve, str)):
        return frozenset()
    fitting = _RSA if kind == "RSA" else _FITTING.get((kind, curve), frozenset())
    return fitting if named is None else frozenset(name for name in fitting if name == named)
