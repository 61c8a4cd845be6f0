"""Keys of an identity provider: fetched once, refreshed, kept for a while where it is down, and no others."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from practicum.contracts.issuers import Issuer, SignatureAlgorithm
from practicum.errors import UpstreamError
from practicum_connectors.resilience import Clock
from practicum_gateway.access.provider_keys import (
    KEPT_SECONDS,
    PAUSE_SECONDS,
    REFRESH_SECONDS,
    STALE_SECONDS,
    ProviderKeys,
)
from tests.gateway.conftest import served, until
from tests.gateway.identity_provider import IdentityProvider, create_provider, jwk_of, new_key

ES256 = SignatureAlgorithm.ES256
RS256 = SignatureAlgorithm.RS256


class Time:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> Clock:
        return Clock(now=lambda: self.now)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    provider = IdentityProvider()
    async with served(create_provider(provider)) as url:
        provider.url = url
        yield provider


@asynccontextmanager
async def kept(provider: IdentityProvider, time: Time, **fields: Any) -> AsyncGenerator[ProviderKeys]:
    keys = ProviderKeys(Issuer.model_validate(provider.spec(**fields)), time.clock())
    yield keys
    await keys.aclose()


async def test_many_who_ask_at_once_fetch_once(provider: IdentityProvider, time: Time) -> None:
    provider.delay = 0.1
    async with kept(provider, time) as keys:
        found = await asyncio.gather(*(keys.find("one", ES256) for _ in range(50)))
        assert {len(each) for each in found} == {1}
        assert provider.fetches == 1


async def test_who_gives_up_leaves_the_others_waiting(provider: IdentityProvider, time: Time) -> None:
    provider.delay = 0.2
    async with kept(provider, time) as keys:
        first, second = (asyncio.create_task(keys.find("one", ES256)) for _ in range(2))
        await asyncio.sleep(0.05)
        first.cancel()
        assert len(await second) == 1
        assert provider.fetches == 1


async def test_a_new_key_is_found_and_a_withdrawn_one_ends(provider: IdentityProvider, time: Time) -> None:
    async with kept(provider, time) as keys:
        assert await keys.find("one", ES256)
        provider.rotate("two")
        assert not await keys.find("two", ES256)  # asked just now
        assert provider.fetches == 1
        time.now += PAUSE_SECONDS
        assert await keys.find("two", ES256)
        assert not await keys.find("one", ES256)
        assert provider.fetches == 2


async def test_unknown_keys_ask_the_provider_once_a_minute(provider: IdentityProvider, time: Time) -> None:
    async with kept(provider, time) as keys:
        for minute in range(1, 4):
            for number in range(20):
                assert not await keys.find(f"key-{number}", ES256)
            assert provider.fetches == minute
            time.now += PAUSE_SECONDS


async def test_keys_are_refreshed_while_they_go_on(provider: IdentityProvider, time: Time) -> None:
    async with kept(provider, time) as keys:
        assert await keys.find("one", ES256)
        provider.delay = 0.2
        time.now += REFRESH_SECONDS + 1
        loop = asyncio.get_running_loop()
        before = loop.time()
        assert await keys.find("one", ES256)
        assert loop.time() - before < 0.15
        await until(lambda: provider.fetches == 2)


async def test_after_a_silence_a_withdrawn_key_is_good_no_more(provider: IdentityProvider, time: Time) -> None:
    async with kept(provider, time) as keys:
        assert await keys.find("one", ES256)
        provider.rotate("two")
        time.now += STALE_SECONDS + 1
        assert not await keys.find("one", ES256)
        assert await keys.find("two", ES256)


async def test_a_provider_that_is_slow_to_answer_holds_nobody_up_for_long(
    provider: IdentityProvider, time: Time
) -> None:
    async with kept(provider, time) as keys:
        assert await keys.find("one", ES256)
        provider.delay = 60
        time.now += STALE_SECONDS + 1
        assert await asyncio.wait_for(keys.find("one", ES256), 30)


async def test_a_dead_providers_keys_go_on_for_a_while_only(provider: IdentityProvider, time: Time) -> None:
    async with kept(provider, time) as keys:
        assert await keys.find("one", ES256)
        provider.status = 503
        time.now += KEPT_SECONDS
        assert await keys.find("one", ES256)
        time.now += 1
        assert not await keys.find("one", ES256)
        provider.status = 200
        time.now += PAUSE_SECONDS
        assert await keys.find("one", ES256)


async def test_a_refresh_without_keys_takes_none_away(provider: IdentityProvider, time: Time) -> None:
    async with kept(provider, time) as keys:
        assert await keys.find("one", ES256)
        useless: tuple[Any, ...] = ({"keys": []}, {"keys": "none"}, "none")
        for jwks in useless:
            provider.jwks = jwks
            time.now += PAUSE_SECONDS
            assert not await keys.find("two", ES256)
            assert await keys.find("one", ES256)


async def test_without_a_name_only_the_one_key_that_fits_is_meant(provider: IdentityProvider, time: Time) -> None:
    provider.keys["rsa"] = ("RS256", new_key("RS256"))
    async with kept(provider, time) as keys:
        assert len(await keys.find(None, ES256)) == 1
        assert len(await keys.find(None, RS256)) == 1
        provider.keys["other"] = ("ES256", new_key("ES256"))
        time.now += PAUSE_SECONDS
        await keys.find("unknown", ES256)
        assert not await keys.find(None, ES256)


async def test_a_key_serves_what_it_is_for_and_nothing_else(provider: IdentityProvider, time: Time) -> None:
    rsa, p256, p384 = new_key("RS256"), new_key("ES256"), new_key("ES384")
    private = jwk_of(p256, kid="private", d="AAAA")
    provider.jwks = {
        "keys": [
            jwk_of(rsa, kid="named", alg="RS512"),
            jwk_of(rsa, kid="sealing", use="enc"),
            jwk_of(rsa, kid="signing", key_ops=["sign"]),
            jwk_of(rsa, kid="plain"),
            jwk_of(new_key("RS256", bits=1024), kid="weak"),
            jwk_of(rsa, kid="slow", e="AQABAQABAQAB"),
            jwk_of(rsa, kid="huge", n="A" * 5000),
            jwk_of(p384, kid="p384"),
            jwk_of(p256, kid="torn", x="AAAA"),
            jwk_of(p256, kid="off-the-curve", x="A" * 43),
            jwk_of(p256, kid=["p256"]),
            {"kty": "oct", "k": "c2VjcmV0", "kid": "secret", "alg": "RS256"},
            private,
        ]
    }
    async with kept(provider, time) as keys:
        await keys.fetched()
        serving = [
            (kid, algorithm)
            for kid in (
                "named",
                "sealing",
                "signing",
                "plain",
                "weak",
                "slow",
                "huge",
                "p384",
                "torn",
                "off-the-curve",
                "secret",
                "private",
            )
            for algorithm in SignatureAlgorithm
            if await keys.find(kid, algorithm)
        ]
    rsa_family = [each for each in SignatureAlgorithm if each[:2] in {"RS", "PS"}]
    assert serving == [
        ("named", SignatureAlgorithm.RS512),
        *(("plain", each) for each in rsa_family),
        ("p384", SignatureAlgorithm.ES384),
        ("private", ES256),
    ]


async def test_what_never_answers_is_given_up(provider: IdentityProvider, time: Time) -> None:
    provider.delay = 60
    async with kept(provider, time) as keys:
        waiting = asyncio.create_task(keys.find("one", ES256))
        await until(lambda: provider.fetches == 1)
    assert await asyncio.wait_for(waiting, 30) == ()  # the issuer was removed meanwhile


async def test_a_private_address_is_not_asked_where_that_is_not_said(provider: IdentityProvider, time: Time) -> None:
    spec = Issuer.model_validate(provider.spec(issuer="https://localhost:1", private_network=False))
    keys = ProviderKeys(spec, time.clock())
    with pytest.raises(UpstreamError, match="private address"):
        await keys.fetched()
    await keys.aclose()
