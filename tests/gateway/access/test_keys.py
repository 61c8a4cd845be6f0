"""API keys: issued, recognised, refused."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from practicum.contracts.access import KeyRequest, Role
from practicum.contracts.base import utc_now
from practicum.errors import ConfigurationError, ConflictError, ForbiddenError, NotFoundError, UnauthenticatedError
from practicum_gateway.access.keys import KEY_PREFIX, Keys, new_secret
from practicum_gateway.access.principals import Principal
from practicum_gateway.store.access_tables import KeyRow
from practicum_gateway.store.engine import Store


@pytest.fixture
def keys(store: Store) -> Keys:
    return Keys(store)


async def test_an_issued_key_says_who_is_calling(keys: Keys) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.DEVELOPER))
    principal = await keys.authenticate(issued.key)
    assert principal == Principal(name="ann", role=Role.DEVELOPER, key_id=issued.info.id)
    assert issued.key.startswith(KEY_PREFIX)
    assert issued.key not in repr(issued)


async def test_the_store_never_holds_a_key(keys: Keys, store: Store) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
    async with store.read() as session:
        row = (await session.scalars(select(KeyRow))).one()
    assert issued.key not in {str(value) for value in vars(row).values()}
    assert issued.key.startswith(row.prefix)
    assert len(row.prefix) == 12


@pytest.mark.parametrize("forged", ["", "prk_", "prk_" + "a" * 43, "Bearer x", "' OR 1=1 --", "prk_\u2603\u0000"])
async def test_a_forged_key_is_refused(keys: Keys, forged: str) -> None:
    await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(forged)


async def test_a_key_with_the_right_beginning_and_another_end_is_refused(keys: Keys) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
    other = issued.key[:-1] + ("A" if issued.key[-1] != "A" else "B")
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(other)


async def test_an_expired_key_is_refused(keys: Keys, store: Store) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT, expires_in_seconds=60))
    assert (await keys.authenticate(issued.key)).name == "ann"
    async with store.write() as session:
        await session.execute(update(KeyRow).values(expires=utc_now() - timedelta(seconds=1)))
    with pytest.raises(UnauthenticatedError):
        await Keys(store).authenticate(issued.key)


async def test_a_key_recognised_from_memory_expires_too(keys: Keys) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT, expires_in_seconds=1))
    assert (await keys.authenticate(issued.key)).name == "ann"
    await asyncio.sleep(1.05)
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(issued.key)


async def test_a_key_revoked_while_it_is_looked_up_is_not_remembered(keys: Keys) -> None:
    for _ in range(20):
        issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
        await asyncio.gather(
            *(keys.authenticate(issued.key) for _ in range(3)), keys.revoke(issued.info.id), return_exceptions=True
        )
        with pytest.raises(UnauthenticatedError):
            await keys.authenticate(issued.key)


async def test_a_revoked_key_is_refused_at_once(keys: Keys) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
    await keys.revoke(issued.info.id)
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(issued.key)
    assert (await keys.list())[0].revoked
    with pytest.raises(NotFoundError):
        await keys.revoke("key_nobody")


async def test_refusals_do_not_say_why(keys: Keys) -> None:
    revoked = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
    await keys.revoke(revoked.info.id)
    texts: set[str] = set()
    for key in (revoked.key, "prk_unknown-unknown-unknown"):
        with pytest.raises(UnauthenticatedError) as caught:
            await keys.authenticate(key)
        texts.add(str(caught.value))
    assert len(texts) == 1


async def test_an_episode_key_acts_in_its_episode_only_and_ends_with_it(keys: Keys) -> None:
    issued = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT), episode="ep_1")
    principal = await keys.authenticate(issued.key)
    principal.require_episode("ep_1")
    with pytest.raises(ForbiddenError):
        principal.require_episode("ep_2")
    await keys.revoke_of_episode("ep_1")
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(issued.key)


async def test_installing_another_key_rotates_the_first(keys: Keys) -> None:
    await keys.install("prk_first-first-first-first", "admin", Role.ADMIN)
    await keys.install("prk_first-first-first-first", "admin", Role.ADMIN)
    assert (await keys.authenticate("prk_first-first-first-first")).role is Role.ADMIN
    await keys.install("prk_other-other-other-other", "admin", Role.ADMIN)
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate("prk_first-first-first-first")
    assert len(await keys.list()) == 1


async def test_a_key_that_was_made_for_one_gateway_withdraws_that_of_no_other(keys: Keys) -> None:
    ours, theirs = new_secret(), new_secret()
    await keys.install(ours, "admin", Role.ADMIN)
    with pytest.raises(ConfigurationError, match="Another gateway") as caught:
        await keys.install(theirs, "admin", Role.ADMIN, replaces=False)
    assert "PRACTICUM_ADMIN_KEY" in str(caught.value.mend)
    await keys.install(ours, "admin", Role.ADMIN, replaces=False)
    assert (await keys.authenticate(ours)).name == "admin"


async def test_a_short_configured_key_is_refused_and_not_repeated(keys: Keys) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await keys.install("hunter2", "admin", Role.ADMIN)
    assert "hunter2" not in str(caught.value)


async def test_a_rotated_key_goes_on_for_its_grace_beside_the_new_one(keys: Keys, store: Store) -> None:
    old = await keys.issue(KeyRequest(principal="ann", role=Role.DEVELOPER))
    await keys.authenticate(old.key)
    new = await keys.rotate(old.info.id, timedelta(seconds=1))
    assert (new.info.principal, new.info.role, new.info.expires) == ("ann", Role.DEVELOPER, None)
    assert {(await keys.authenticate(each.key)).key_id for each in (old, new)} == {old.info.id, new.info.id}
    assert {(await Keys(store).authenticate(each.key)).name for each in (old, new)} == {"ann"}
    await asyncio.sleep(1.05)
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(old.key)
    assert (await keys.authenticate(new.key)).name == "ann"


async def test_a_key_rotated_without_grace_ends_at_once(keys: Keys) -> None:
    old = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT, expires_in_seconds=60))
    await keys.authenticate(old.key)
    new = await keys.rotate(old.info.id, timedelta(0))
    with pytest.raises(UnauthenticatedError):
        await keys.authenticate(old.key)
    assert new.info.expires is not None
    assert timedelta(seconds=55) < new.info.expires - utc_now() <= timedelta(seconds=60)


async def test_grace_prolongs_no_key(keys: Keys) -> None:
    old = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT, expires_in_seconds=60))
    await keys.rotate(old.info.id, timedelta(hours=1))
    assert {key.id: key.expires for key in await keys.list()}[old.info.id] == old.info.expires


async def test_only_a_key_that_was_issued_and_goes_on_is_rotated(keys: Keys) -> None:
    bound = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT), episode="ep_1")
    installed = await keys.install("prk_first-first-first-first", "admin", Role.ADMIN)
    revoked = await keys.issue(KeyRequest(principal="ann", role=Role.AGENT))
    await keys.revoke(revoked.info.id)
    for key in (bound.info.id, installed.id, revoked.info.id):
        with pytest.raises(ConflictError):
            await keys.rotate(key, timedelta(hours=1))
    with pytest.raises(NotFoundError):
        await keys.rotate("key_nobody", timedelta(hours=1))
    assert len(await keys.list()) == 3


async def test_two_keys_with_the_same_beginning_are_told_apart(keys: Keys) -> None:
    await keys.install("prk_same-beginning-0000001", "admin", Role.ADMIN)
    await keys.install("prk_same-beginning-0000002", "worker", Role.WORKER)
    assert (await keys.authenticate("prk_same-beginning-0000001")).name == "admin"
    assert (await keys.authenticate("prk_same-beginning-0000002")).name == "worker"


def test_roles_are_required_by_name_and_an_admin_has_all() -> None:
    agent = Principal(name="bot", role=Role.AGENT, key_id="k")
    with pytest.raises(ForbiddenError, match="may not register connectors") as caught:
        agent.require(Role.DEVELOPER, to="register connectors")
    assert "admin, developer" in str(caught.value)
    Principal(name="root", role=Role.ADMIN, key_id="k").require(Role.DEVELOPER, to="register connectors")
