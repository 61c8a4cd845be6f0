"""Tokens that are forged, out of their time, for somebody else, or could be read in two ways."""

import hmac
import json
import time
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.gateway.identity_provider import (
    AUDIENCE,
    INVALID,
    IdentityProvider,
    bearer,
    encoded,
    jwk_of,
    new_key,
    parts_of,
    shown,
    trust,
)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_every_usual_algorithm_is_taken(
    gateway: httpx.AsyncClient, provider: IdentityProvider, algorithm: str
) -> None:
    provider.rotate("key", algorithm)
    await trust(gateway, provider.spec())
    for kind in (None, "JWT", "at+jwt", "application/at+JWT"):
        assert (await shown(gateway, provider.token(headers={"typ": kind})))[0] == 200
    for kind in ("logout+jwt", "dpop+jwt"):
        assert await shown(gateway, provider.token(headers={"typ": kind})) == (401, INVALID)


async def test_an_algorithm_that_is_not_named_is_not_taken(
    gateway: httpx.AsyncClient, provider: IdentityProvider
) -> None:
    provider.rotate("key", "ES384")
    await trust(gateway, provider.spec())
    assert await shown(gateway, provider.token()) == (401, INVALID)
    await trust(gateway, provider.spec(algorithms=["ES384"]))
    assert (await shown(gateway, provider.token()))[0] == 200


async def test_a_signature_that_is_not_the_providers_opens_nothing(
    gateway: httpx.AsyncClient, okta: IdentityProvider
) -> None:
    okta.rotate("rsa", "RS256")
    await trust(gateway, okta.spec())
    good = okta.token()
    assert (await shown(gateway, good))[0] == 200
    header, claims, signature = good.split(".")
    public = okta.keys["rsa"][1].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    theirs = new_key("RS256")
    own = {"kid": "rsa"}
    admin = encoded(json.dumps(parts_of(good)[1] | {"roles": ["admins"]}).encode())
    loud = encoded(b'{"alg":"NONE","kid":"rsa"}')
    none = encoded(b'{"alg":"none","typ":"JWT"}')
    forged = [
        f"{header}.{admin}.{signature}",
        f"{header}.{claims}.",
        f"{header}.{claims}.{encoded(b'0' * 256)}",
        f"{none}.{claims}.",
        f"{none}.{claims}.{signature}",
        f"{loud}.{claims}.",
        okta.signed(theirs, "RS256", own, okta.claims()),
        okta.signed(theirs, "RS256", own | {"jwk": jwk_of(theirs)}, okta.claims()),
        okta.signed(theirs, "RS256", {"jwk": jwk_of(theirs)}, okta.claims()),
        okta.signed(theirs, "RS256", own | {"jku": f"{okta.url}/theirs", "x5u": f"{okta.url}/x"}, okta.claims()),
        okta.signed(new_key("ES256"), "ES256", own, okta.claims()),
        hmac_signed(pem, claims),
        hmac_signed(b"", claims),
    ]
    forged += [
        okta.signed(theirs, "RS256", {"kid": kid}, okta.claims())
        for kid in ("../../../dev/null", "/dev/null", "' OR 1=1 --", "", "k" * 300, f"{okta.url}/theirs")
    ]
    before = okta.fetches
    for token in forged:
        assert await shown(gateway, token) == (401, INVALID), token
    assert okta.fetches == before  # an unknown name asks the provider once a minute, and it was asked just now


def hmac_signed(key: bytes, claims: str) -> str:
    """The confusion of old: the provider's public key as the secret of a checksum."""
    header = encoded(b'{"alg":"HS256","kid":"rsa"}')
    signing = f"{header}.{claims}"
    return f"{signing}.{encoded(hmac.digest(key, signing.encode(), 'sha256'))}"


async def test_what_two_readers_could_take_differently_opens_nothing(
    gateway: httpx.AsyncClient, okta: IdentityProvider
) -> None:
    header, claims = '{"alg":"ES256","kid":"one"}', json.dumps(okta.claims())
    assert (await shown(gateway, okta.raw(header, claims)))[0] == 200
    for odd_header, odd_claims in (
        (header, claims[:-1] + ', "roles": ["admins"]}'),
        (header, claims[:-1] + ', "x": {"a": 1, "a": 2}}'),
        (header, claims[:-1] + ', "x": NaN}'),
        (header, claims[:-1] + ', "x": 1e999}'),
        (header, "[]"),
        (header, "null"),
        (header, "{"),
        (header, '{"x":' * 1000 + "1" + "}" * 1000),
        ('{"alg":"none","alg":"ES256","kid":"one"}', claims),
        ('{"alg":"ES256","kid":"one","crit":["exp"],"exp":1}', claims),
        ('{"alg":"ES256","kid":"one","crit":["b64"],"b64":true}', claims),
        ('{"alg":"ES256","kid":"one","b64":false}', claims),
        ('{"alg":"ES256","kid":["one"]}', claims),
        ('{"alg":["ES256"],"kid":"one"}', claims),
        ('{"kid":"one"}', claims),
    ):
        assert await shown(gateway, okta.raw(odd_header, odd_claims)) == (401, INVALID), (odd_header, odd_claims)


async def test_a_token_is_good_for_its_time_only(gateway: httpx.AsyncClient, okta: IdentityProvider) -> None:
    now = int(time.time())
    assert (await shown(gateway, okta.token(exp=now - 10, iat=now - 300)))[0] == 200  # clocks may differ by 30 s
    assert (await shown(gateway, okta.token(nbf=now + 10)))[0] == 200
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"exp": now - 60, "iat": now - 300}, "it has expired"),
        ({"nbf": now + 120}, "it is not valid yet"),
        ({"iat": now + 120}, "it is not valid yet"),
        ({"exp": now + 100_000}, "it is good for longer than 86400 s"),
        ({"exp": now + 100_000, "iat": None}, "it is good for longer than 86400 s"),
        ({"exp": None}, "it does not say when it expires"),
        ({"exp": str(now + 60)}, "its times are no moments"),
        ({"iat": True}, "its times are no moments"),
        ({"exp": 10**400}, "its times are no moments"),
        ({"exp": 10**400, "iat": now - 0.5}, "its times are no moments"),
        ({"exp": now + 60, "nbf": -(10**400)}, "its times are no moments"),
    )
    for wrong, why in cases:
        assert await shown(gateway, okta.token(**wrong)) == (401, f"The token of issuer 'okta' is not taken: {why}.")
    unreadable: tuple[dict[str, Any], ...] = ({"exp": "soon"}, {"iat": [now]}, {"exp": {}})
    for nothing in unreadable:
        assert await shown(gateway, okta.token(**nothing)) == (401, INVALID)


async def test_a_token_for_somebody_else_is_a_key_that_nobody_knows(
    gateway: httpx.AsyncClient, okta: IdentityProvider
) -> None:
    assert (await shown(gateway, okta.token(aud=["other", AUDIENCE])))[0] == 200
    unknown = await gateway.get("/v1/tools", headers=bearer("prk_unknown-unknown-unknown"))
    others: tuple[dict[str, Any], ...] = (
        {"iss": "https://evil.example"},
        {"iss": f"{okta.url}/"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"aud": f"{AUDIENCE}2"},
        {"aud": {AUDIENCE: 1}},
    )
    listed = okta.raw('{"alg":"ES256","kid":"one"}', json.dumps(okta.claims(iss=[okta.url])))
    for token in (*(okta.token(**other) for other in others), listed):
        answer = await gateway.get("/v1/tools", headers=bearer(token))
        assert answer.status_code == 401, parts_of(token)
        for member in ("detail", "mend", "code", "title"):
            assert answer.json()[member] == unknown.json()[member], parts_of(token)


async def test_long_tokens_are_read_and_endless_ones_are_not(
    gateway: httpx.AsyncClient, okta: IdentityProvider
) -> None:
    assert (await shown(gateway, okta.token(note="x" * 4000)))[0] == 200
    too_long = okta.token(note="x" * 8000)
    assert len(too_long) > 8192
    for key in (too_long, "eyJ" + "x" * 8000, "x" * 513):
        assert await shown(gateway, key) == (401, INVALID)
