"""Secrets at rest."""

import base64
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.errors import ConfigurationError
from practicum_gateway.store.vault import LocalMasterKey, Sealer, Vault, new_key

KEY = bytes(range(32))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_sealed_opens_again(secret: str) -> None:
    vault = Vault(KEY)
    assert vault.open(vault.seal(secret, "connector crm"), "connector crm") == secret


def test_a_seal_shows_nothing_and_never_repeats() -> None:
    vault = Vault(KEY)
    first, second = vault.seal("hunter2-canary", "crm"), vault.seal("hunter2-canary", "crm")
    assert first != second
    assert b"hunter2" not in base64.b64decode(first.rpartition(":")[2])
    assert "hunter2" not in repr(vault)


def test_a_seal_moved_to_another_place_does_not_open() -> None:
    vault = Vault(KEY)
    with pytest.raises(ConfigurationError, match="changed or moved"):
        vault.open(vault.seal("secret", "connector crm"), "connector erp")


CHANGES: tuple[Callable[[str], str], ...] = (lambda s: s[:-4] + "AAA=", lambda s: s[:20], lambda s: s + "!")


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_seal_does_not_open(change: Callable[[str], str]) -> None:
    vault = Vault(KEY)
    with pytest.raises(ConfigurationError):
        vault.open(change(vault.seal("secret", "crm")), "crm")


def test_another_master_key_is_said_in_words() -> None:
    sealed = Vault(new_key()).seal("secret", "crm")
    with pytest.raises(ConfigurationError, match="another master key"):
        Vault(KEY).open(sealed, "crm")


def test_a_short_master_key_is_refused_without_being_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Vault(b"short-canary")
    assert "canary" not in str(caught.value)


def test_fingerprints_tell_equal_from_other() -> None:
    vault = Vault(KEY)
    assert vault.fingerprint("a") == vault.fingerprint("a") != vault.fingerprint("b")
    assert vault.fingerprint("a") != Vault(new_key()).fingerprint("a")


def test_a_vault_opens_what_any_of_its_keys_sealed_and_seals_with_the_latest() -> None:
    vault = Vault(KEY)
    older = vault.seal("secret", "crm")
    vault.take(Sealer(new_key()), seals=True)
    newer = vault.sealed_anew(older, "crm")
    assert newer is not None
    assert newer.split(":")[1] == vault.key_id != older.split(":")[1]
    assert (vault.open(older, "crm"), vault.open(newer, "crm")) == ("secret", "secret")
    assert vault.sealed_anew(newer, "crm") is None
    with pytest.raises(ConfigurationError):
        vault.sealed_anew(older, "erp")


async def test_a_master_key_opens_what_former_ones_wrapped() -> None:
    former, present, key = new_key(), new_key(), new_key()
    wrapped = await LocalMasterKey(former).wrap(key, "one")
    assert await LocalMasterKey(present, [former]).unwrap(wrapped, "one") == (key, True)
    again = await LocalMasterKey(present, [former]).wrap(key, "one")
    assert await LocalMasterKey(present).unwrap(again, "one") == (key, False)
    for wrong in (LocalMasterKey(present), LocalMasterKey(former).of_tenant("sales")):
        with pytest.raises(ConfigurationError, match="another master key"):
            await wrong.unwrap(wrapped, "one")
    with pytest.raises(ConfigurationError, match="changed or moved"):
        await LocalMasterKey(former).unwrap(wrapped, "two")
    assert base64.b64encode(former).decode() not in repr(LocalMasterKey(former))
