"""Secrets at rest."""

import base64
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.errors import ConfigurationError
from practicum_gateway.store.vault import Vault, new_master_key

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
    sealed = Vault(new_master_key()).seal("secret", "crm")
    with pytest.raises(ConfigurationError, match="another master key"):
        Vault(KEY).open(sealed, "crm")


def test_a_short_master_key_is_refused_without_being_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Vault(b"short-canary")
    assert "canary" not in str(caught.value)


def test_fingerprints_tell_equal_from_other() -> None:
    vault = Vault(KEY)
    assert vault.fingerprint("a") == vault.fingerprint("a") != vault.fingerprint("b")
    assert vault.fingerprint("a") != Vault(new_master_key()).fingerprint("a")
