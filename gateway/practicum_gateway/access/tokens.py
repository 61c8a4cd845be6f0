"""Tokens of identity providers (JWT): read without trust, checked against an issuer, turned into a principal."""

import hashlib
import json
import math
import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast
from urllib.parse import quote

import jwt

from practicum.contracts.access import Role
from practicum.contracts.base import utc_now
from practicum.contracts.issuers import ROLES, Issuer, SignatureAlgorithm
from practicum.errors import ForbiddenError, UnauthenticatedError
from practicum_gateway.access.keys import invalid_key
from practicum_gateway.access.principals import Principal
from practicum_gateway.access.provider_keys import ProviderKeys

LONGEST_TOKEN = 8192
"""The longest token that is read, in characters."""
_BEGINS = "eyJ"  # the base64 of an object's beginning
_DOTS = 2
_LONGEST_KID = 256
_LATEST = 1e11  # seconds, some thousand years on
_LONGEST_NAME = 100
_LONGEST_ID = 60
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_SPACED = frozenset({"scope", "scp"})
_ID = re.compile(r"[A-Za-z0-9_.-]+")
_UNENCODED = "@:|+"
_NEW_TOKEN = "Get a new token from your identity provider."  # noqa: S105  # advice


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it says of itself; nothing of it is proven.

    Attributes:
        text: as it was shown.
        header: what it says of its signature.
        claims: what it says of whoever shows it.
    """

    text: str = field(repr=False)
    header: dict[str, Any]
    claims: dict[str, Any] = field(repr=False)

    @property
    def issuer(self) -> str | None:
        """Who it says has issued it."""
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else None

    @property
    def audiences(self) -> frozenset[str]:
        """Whom it says it is for."""
        return _texts(self.claims.get("aud"))


def looks_like_token(key: str) -> bool:
    """Whether what was shown as a key has the outer form of a token."""
    return key.startswith(_BEGINS) and key.count(".") == _DOTS


def token_of(key: str) -> Token | None:
    """What was shown as a key, read as a token; None where it is none, or one that could be read in two ways."""
    if not looks_like_token(key) or len(key) > LONGEST_TOKEN or not key.isascii():
        return None
    header, claims, _ = key.split(".")
    try:
        return Token(key, _object(header), _object(claims))
    except (ValueError, RecursionError):
        return None


async def principal_of(token: Token, issuer: Issuer, keys: ProviderKeys) -> Principal:
    """Who shows a token, once all is proven that it says.

    Args:
        token: of this issuer, for its audience, as it says.
        issuer: whose tokens are taken, and on which terms.
        keys: the issuer's.

    Raises:
        UnauthenticatedError: it is not valid; why, is said of a token alone that the issuer did sign.
        ForbiddenError: it is valid, and worth nothing here.
    """
    claims = await _verified(token, issuer, keys)
    _require_bounds(claims, issuer)
    for name, value in issuer.required.items():
        _require_claim(claims, issuer, name, value)
    return Principal(name=_name(claims, issuer), role=_role(claims, issuer), key_id=_id_of(token, claims, issuer))


async def _verified(token: Token, issuer: Issuer, keys: ProviderKeys) -> dict[str, Any]:
    """What a token says, its signature, issuer, audience and times checked."""
    algorithm, kid = _signed_with(token, issuer)
    for key in await keys.find(kid, algorithm):
        try:
            return jwt.decode(
                token.text,
                key.key,
                algorithms=[algorithm],  # one that the issuer may use, and this very key
                audience=issuer.audience,
                issuer=issuer.issuer,
                leeway=issuer.leeway_seconds,
                options={"require": ["exp"], "enforce_minimum_key_length": True},
            )
        except jwt.InvalidSignatureError:
            continue
        except jwt.ExpiredSignatureError:
            raise _refused(issuer, "it has expired") from None
        except jwt.ImmatureSignatureError:
            raise _refused(issuer, "it is not valid yet", "Check the clocks of this machine and of yours.") from None
        except jwt.MissingRequiredClaimError:
            raise _refused(issuer, "it does not say when it expires") from None
        except jwt.PyJWTError:
            break
    raise invalid_key()


def _signed_with(token: Token, issuer: Issuer) -> tuple[SignatureAlgorithm, str | None]:
    """The algorithm and the key that a token names, where they can be what the issuer signs with.

    A key that a token brings along or points to (`jwk`, `jku`, `x5c`, `x5u`) is never looked at.
    """
    header = token.header
    kid, kind = header.get("kid"), header.get("typ", "JWT")
    algorithm = next((each for each in issuer.algorithms if each == header.get("alg")), None)
    named = kid is None or (isinstance(kid, str) and len(kid) <= _LONGEST_KID)
    usual = isinstance(kind, str) and kind.lower() in _TYPES
    if algorithm is None or not named or not usual or "crit" in header or "b64" in header:
        raise invalid_key()
    return algorithm, kid


def _require_bounds(claims: dict[str, Any], issuer: Issuer) -> None:
    """Refuse times that are no times, and a token that is good for too long."""
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
    if not all(map(_is_moment, times.values())):
        raise _refused(issuer, "its times are no moments")
    if times["exp"] - times.get("iat", utc_now().timestamp()) > issuer.longest_seconds + issuer.leeway_seconds:
        raise _refused(issuer, f"it is good for longer than {issuer.longest_seconds} s")


def _is_moment(time: object) -> bool:
    return isinstance(time, int | float) and not isinstance(time, bool) and abs(time) < _LATEST


def _require_claim(claims: dict[str, Any], issuer: Issuer, name: str, value: str | bool | int | None) -> None:
    found = _claim(claims, name)
    offered = cast("list[object]", found) if isinstance(found, list) else [found]
    if found is None or (value is not None and not any(type(one) is type(value) and one == value for one in offered)):
        raise ForbiddenError(
            f"The token of issuer '{issuer.name}' lacks what is required here of the claim '{name}'.",
            mend="Ask the administrator of your identity provider for it.",
        )


def _name(claims: dict[str, Any], issuer: Issuer) -> str:
    """The name of the principal: the issuer's before it, so that it is nobody else's."""
    found = _claim(claims, issuer.principal_claim)
    text = str(found) if isinstance(found, int) and not isinstance(found, bool) else found
    name = f"{issuer.name}:{quote(text, safe=_UNENCODED)}" if isinstance(text, str) and text.isprintable() else ""
    if not text or not name or len(name) > _LONGEST_NAME:
        raise ForbiddenError(
            f"The token of issuer '{issuer.name}' names nobody in its claim '{issuer.principal_claim}', or at length.",
            mend="Choose another claim: practicum issuers add --principal-claim.",
        )
    if issuer.principal_claim == "email" and claims.get("email_verified") is False:
        raise ForbiddenError(
            f"Issuer '{issuer.name}' has not verified the address by which its token names you.",
            mend="Have the address verified at your identity provider.",
        )
    return name


def _role(claims: dict[str, Any], issuer: Issuer) -> Role:
    """What the token is worth here: the first of `ROLES` among all that it is."""
    found = _claim(claims, issuer.roles_claim)
    held = _texts(found)
    if isinstance(found, str) and issuer.roles_claim in _SPACED:
        held = frozenset(found.split())
    worth = {issuer.roles[each] for each in held if each in issuer.roles}
    role = next((role for role in ROLES if role in worth), None)
    if role is None:
        raise ForbiddenError(
            f"The token of issuer '{issuer.name}' is valid and gives no role here: nothing in its claim "
            f"'{issuer.roles_claim}' is mapped to one.",
            mend="Have one of your groups mapped: practicum issuers add ... --role GROUP=ROLE.",
        )
    return role


def _id_of(token: Token, claims: dict[str, Any], issuer: Issuer) -> str:
    """How the audit log names the token: by its own id where that fits, else by a hash."""
    jti, prefix = claims.get("jti"), f"jwt:{issuer.name}:"
    if isinstance(jti, str) and _ID.fullmatch(jti) and len(prefix) + len(jti) <= _LONGEST_ID:
        return f"{prefix}{jti}"
    return f"{prefix}sha256-{hashlib.sha256(token.text.encode()).hexdigest()[:16]}"


def _claim(claims: dict[str, Any], name: str) -> object:
    """A claim by its name, or by a JSON Pointer to it."""
    if name in claims or not name.startswith("/"):
        return claims.get(name)
    value: object = claims
    for part in name[1:].split("/"):
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, object]", value).get(part.replace("~1", "/").replace("~0", "~"))
    return value


def _texts(value: object) -> frozenset[str]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return frozenset(each for each in values if isinstance(each, str))


def _object(part: str) -> dict[str, Any]:
    """A part of a token.

    Raises:
        ValueError: it is no JSON object, or one that readers could take in two ways.
    """
    data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    value: object = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_number, parse_float=_float)
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004  # what is wrong is the text
    return cast("dict[str, Any]", value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name twice in one object")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def _refused(issuer: Issuer, why: str, mend: str = _NEW_TOKEN) -> UnauthenticatedError:
    return UnauthenticatedError(f"The token of issuer '{issuer.name}' is not taken: {why}.", mend=mend)
