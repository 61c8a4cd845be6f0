"""A small identity provider: it describes itself, publishes its keys and makes tokens, right ones and wrong ones."""

import asyncio
import base64
import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fastapi import FastAPI
from fastapi.responses import JSONResponse, RedirectResponse, Response
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

AUDIENCE = "practicum"
INVALID = "The key is not valid: unknown, expired or revoked."
"""What is answered to a key that nobody knows."""
ROLES = {"admins": "admin", "developers": "developer", "approvers": "approver", "auditors": "auditor"}


def new_key(algorithm: str, bits: int = 2048) -> PrivateKey:
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm.startswith("ES"):
        curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}[algorithm]
        return ec.generate_private_key(curve)
    return rsa.generate_private_key(65537, bits)


def jwk_of(key: PrivateKey, **members: Any) -> dict[str, Any]:
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        jwk = RSAAlgorithm.to_jwk(public, as_dict=True)
    elif isinstance(public, ec.EllipticCurvePublicKey):
        jwk = ECAlgorithm.to_jwk(public, as_dict=True)
    else:
        jwk = OKPAlgorithm.to_jwk(public, as_dict=True)
    jwk.pop("key_ops", None)
    return {**jwk, **members}


@dataclass
class IdentityProvider:
    """What a provider holds, and how it behaves.

    Attributes:
        url: where it is, and its name in tokens.
        keys: its private keys by their ids; the first signs.
        jwks: what it publishes instead of them.
        fetches: how often its keys were fetched.
        status: what it answers when it should not answer 200.
        delay: seconds before it answers.
        described: members of its description that are not as they should be.
    """

    url: str = ""
    keys: dict[str, tuple[str, PrivateKey]] = field(default_factory=dict[str, tuple[str, PrivateKey]])
    jwks: Any = None
    fetches: int = 0
    status: int = 200
    delay: float = 0.0
    described: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.rotate("one")

    def rotate(self, kid: str, algorithm: str = "ES256") -> None:
        """Sign with another key from now on; the former ones are withdrawn."""
        self.keys = {kid: (algorithm, new_key(algorithm))}

    def published(self) -> Any:
        if self.jwks is not None:
            return self.jwks
        return {"keys": [jwk_of(key, kid=kid, use="sig") for kid, (_, key) in self.keys.items()]}

    def spec(self, name: str = "okta", **fields: Any) -> dict[str, Any]:
        """How it is registered."""
        given = {"name": name, "issuer": self.url, "audience": AUDIENCE, "roles": ROLES, "private_network": True}
        return given | fields

    def claims(self, **claims: Any) -> dict[str, Any]:
        """Claims that are taken, with others instead; None leaves one out."""
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "bob", "iat": now, "exp": now + 300, "roles": ["developers"]}
        return {name: value for name, value in (usual | claims).items() if value is not None}

    def token(self, *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token with its first key's signature."""
        kid, (algorithm, key) = next(iter(self.keys.items()))
        return self.signed(key, algorithm, {"kid": kid} | (headers or {}), self.claims(**claims))

    def signed(self, key: Any, algorithm: str, headers: dict[str, Any], claims: dict[str, Any]) -> str:
        return jwt.encode(claims, key, algorithm, {name: value for name, value in headers.items() if value is not None})

    def raw(self, header: str, claims: str) -> str:
        """A token of exactly these texts with a true signature."""
        algorithm, key = next(iter(self.keys.values()))
        signing = f"{encoded(header.encode())}.{encoded(claims.encode())}"
        signature = jwt.get_algorithm_by_name(algorithm).sign(signing.encode(), key)
        return f"{signing}.{encoded(signature)}"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def parts_of(token: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    header, claims, signature = token.split(".")
    return _decoded(header), _decoded(claims), signature


def _decoded(part: str) -> dict[str, Any]:
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def short_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def create_provider(provider: IdentityProvider) -> FastAPI:
    app = FastAPI()

    @app.get("/.well-known/openid-configuration")
    async def describe() -> Response:
        if provider.status != 200:
            return JSONResponse({}, provider.status)
        described = {"issuer": provider.url, "jwks_uri": f"{provider.url}/keys"}
        return JSONResponse(described | provider.described)

    @app.get("/keys")
    async def keys() -> Response:
        provider.fetches += 1
        await asyncio.sleep(provider.delay)
        if provider.status == 302:
            return RedirectResponse(f"{provider.url}/elsewhere", 302)
        return JSONResponse(provider.published(), provider.status)

    @app.get("/elsewhere")
    async def elsewhere() -> Response:
        return JSONResponse(provider.published())

    _ = describe, keys, elsewhere
    return app


async def trust(gateway: httpx.AsyncClient, spec: dict[str, Any], key: str | None = None) -> httpx.Response:
    return await gateway.put(f"/v1/issuers/{spec['name']}", json=spec, headers=bearer(key) if key else None)


def bearer(token: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **headers}


async def shown(gateway: httpx.AsyncClient, token: str, path: str = "/v1/tools", **headers: str) -> tuple[int, str]:
    """What is answered to whoever shows a token."""
    answer = await gateway.get(path, headers=bearer(token, **headers))
    return answer.status_code, "" if answer.status_code == 200 else answer.json()["detail"]
