"""Issuers: identity providers whose tokens are taken, and what their tokens are worth."""

from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, model_validator

from practicum.contracts.access import Role
from practicum.contracts.base import Name, Value

ROLES = (Role.ADMIN, Role.DEVELOPER, Role.APPROVER, Role.AUDITOR, Role.AGENT)
"""What a token may be worth; where it is worth several, the first of these counts. A worker shows a key."""


class SignatureAlgorithm(StrEnum):
    """How a token may be signed: with a private key that the provider alone holds."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    EDDSA = "EdDSA"


_Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=500)]
_Claim = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Worth = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class Issuer(Value):
    """An identity provider whose tokens are taken.

    A claim is named as it stands in the token, or by a JSON Pointer: `roles`, `/realm_access/roles`.

    Attributes:
        name: how it is called here; names of its principals begin with it and a colon.
        issuer: its URL, character by character as `iss` in its tokens.
        audience: what `aud` of its tokens must hold: they are for this gateway and nobody else.
        jwks_url: where its keys are; its OpenID discovery says it when absent.
        algorithms: how its tokens may be signed.
        principal_claim: the claim that names whoever shows the token.
        roles_claim: the claim that holds roles or groups: a text or a list; `scope` and `scp` are split at spaces.
        roles: what each of them is worth here.
        required: claims that must be there, with the value they must have or hold; null where any will do.
        leeway_seconds: how far its clock may be off.
        longest_seconds: how long its tokens may be good for; one that is good for longer is refused.
        private_network: whether it may be at a private address, and without encryption.
    """

    name: Name
    issuer: _Url
    audience: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    jwks_url: _Url | None = None
    algorithms: tuple[SignatureAlgorithm, ...] = Field(
        default=(SignatureAlgorithm.RS256, SignatureAlgorithm.ES256, SignatureAlgorithm.EDDSA), min_length=1
    )
    principal_claim: _Claim = "sub"
    roles_claim: _Claim = "roles"
    roles: dict[_Worth, Role] = Field(min_length=1, max_length=200)
    required: dict[_Claim, str | bool | int | None] = Field(
        default_factory=dict[str, str | bool | int | None], max_length=50
    )
    leeway_seconds: int = Field(default=30, ge=0, le=300)
    longest_seconds: int = Field(default=86_400, ge=60, le=30 * 86_400)
    private_network: bool = False

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        for url in (self.issuer, self.jwks_url):
            if url is not None:
                self._check_url(url)
        if Role.WORKER in self.roles.values():
            raise ValueError("no token makes a worker: the worker shows a key")
        return self

    def _check_url(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ValueError("the address is none") from None
        if not parts.hostname or port == 0:
            raise ValueError("the address has no host, or a port that is none")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise ValueError("the address holds a user name, a password or a fragment")
        if parts.scheme != "https" and not self.private_network:
            raise ValueError("an address of an issuer begins with https://, but where private_network is set")
