"""Issuers in the store: kept, found again, apart from each other and from keys."""

from collections.abc import AsyncIterator

import pytest

from practicum.contracts.access import KeyRequest, Role
from practicum.contracts.issuers import Issuer
from practicum.errors import ConflictError, NotFoundError, RequestError
from practicum_gateway.access.issuers import MOST_ISSUERS, Issuers
from practicum_gateway.access.keys import Keys
from practicum_gateway.access.tokens import Token
from practicum_gateway.store.engine import Store
from tests.gateway.conftest import served
from tests.gateway.identity_provider import AUDIENCE, IdentityProvider, create_provider


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    provider = IdentityProvider()
    async with served(create_provider(provider)) as url:
        provider.url = url
        yield provider


@pytest.fixture
async def issuers(store: Store) -> AsyncIterator[Issuers]:
    issuers = Issuers(store)
    await issuers.open()
    yield issuers
    await issuers.close()


def spec(provider: IdentityProvider, name: str = "okta", audience: str = AUDIENCE) -> Issuer:
    return Issuer.model_validate(provider.spec(name, audience=audience))


def token(provider: IdentityProvider, audience: str = AUDIENCE) -> Token:
    return Token("", {}, {"iss": provider.url, "aud": ["other", audience]})


async def test_an_issuer_is_found_again(issuers: Issuers, store: Store, provider: IdentityProvider) -> None:
    await issuers.put(spec(provider))
    changed = spec(provider).model_copy(update={"leeway_seconds": 5})
    await issuers.put(changed)
    again = Issuers(store)
    await again.open()
    assert again.list() == issuers.list() == (changed,)
    assert [each.issuer for each in again.trusting(token(provider))] == [changed]
    assert again.trusting(token(provider, "elsewhere")) == ()
    await issuers.remove("okta")
    await again.close()
    await again.open()
    assert again.list() == issuers.list() == ()
    with pytest.raises(NotFoundError):
        again.get("okta")


async def test_two_issuers_never_stand_for_the_same_tokens(issuers: Issuers, provider: IdentityProvider) -> None:
    await issuers.put(spec(provider))
    fetches = provider.fetches
    with pytest.raises(ConflictError, match="'okta' stands for the same"):
        await issuers.put(spec(provider, "twin"))
    assert provider.fetches == fetches
    await issuers.put(spec(provider, "twin", "elsewhere"))
    assert [each.issuer.name for each in issuers.trusting(token(provider, "elsewhere"))] == ["twin"]


async def test_keys_and_issuers_share_no_name(issuers: Issuers, store: Store, provider: IdentityProvider) -> None:
    keys = Keys(store)
    for principal in ("ok_a:bob", "okXa:bob", "okta"):
        await keys.issue(KeyRequest(principal=principal, role=Role.AGENT))
    await keys.issue(KeyRequest(principal="okta:bob", role=Role.AGENT), episode="ep_1")
    await issuers.put(spec(provider))  # what a token's own episode was given a key for is no stranger's
    with pytest.raises(ConflictError, match="'ok_a:bob'"):
        await issuers.put(spec(provider, "ok_a", "elsewhere"))
    with pytest.raises(ConflictError):
        issuers.require_free("okta:eve")
    issuers.require_free("okta")
    assert [issuer.name for issuer in issuers.list()] == ["okta"]


async def test_what_cannot_be_fetched_changes_nothing(issuers: Issuers, provider: IdentityProvider) -> None:
    await issuers.put(spec(provider))
    provider.status = 500
    with pytest.raises(RequestError, match="answered 500"):
        await issuers.put(spec(provider, audience="elsewhere"))
    assert issuers.get("okta").audience == AUDIENCE


async def test_issuers_are_bounded(issuers: Issuers, provider: IdentityProvider) -> None:
    for number in range(MOST_ISSUERS):
        await issuers.put(spec(provider, f"i{number}", f"audience-{number}"))
    with pytest.raises(ConflictError, match="50 issuers"):
        await issuers.put(spec(provider))
    await issuers.put(spec(provider, "i0", "elsewhere"))
