"""Secrets as mounted files, and what the operator may set."""

import os
from pathlib import Path
from typing import Any

import pytest

from practicum.contracts.secrets import reference_of
from practicum.errors import ConfigurationError, RequestError
from practicum_gateway.secrets.mounted import MountedSecrets
from practicum_gateway.secrets.outside import outside_of
from practicum_gateway.settings import Settings


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """A folder as Kubernetes mounts it, beside another tenant's."""
    for tenant in ("acme", "globex"):
        folder = tmp_path / "secrets" / tenant / "crm"
        (folder / "..2026_01").mkdir(parents=True)
        (folder / "..2026_01" / "key").write_text(f"{tenant}-key\n")
        (folder / "..data").symlink_to("..2026_01")
        (folder / "key").symlink_to("..data/key")
    return tmp_path / "secrets"


async def test_a_file_is_read_as_kubernetes_exchanges_it(mounted: Path) -> None:
    source, reference = MountedSecrets(mounted, "acme"), reference_of("secret://mounted/crm/key")
    assert await source.read(reference) == "acme-key"
    folder = mounted / "acme" / "crm"
    (folder / "..2026_02").mkdir()
    (folder / "..2026_02" / "key").write_text("exchanged")
    (folder / "new").symlink_to("..2026_02")
    (folder / "new").rename(folder / "..data")
    assert await source.read(reference) == "exchanged"


async def test_nothing_outside_of_the_tenants_folder_is_read(mounted: Path, tmp_path: Path) -> None:
    own = mounted / "acme"
    (tmp_path / "outside").write_text("outside-canary")
    (own / "out").symlink_to(tmp_path / "outside")
    (own / "theirs").symlink_to("../globex/crm/key")
    (own / "up").symlink_to("..")
    (own / "circle").symlink_to("circle")
    (own / "empty").write_text("\n")
    (own / "bytes").write_bytes(b"\xff")
    (own / "large").write_text("x" * 70_000)
    os.mkfifo(own / "pipe")
    source = MountedSecrets(mounted, "acme")
    links = ("out", "theirs", "up/globex/crm/key", "circle")
    for path in (*links, "gone", "crm", "crm/key/x", "empty", "bytes", "large", "pipe"):
        with pytest.raises(RequestError, match=f"secret://mounted/{path}") as refused:
            await source.read(reference_of(f"secret://mounted/{path}"))
        assert "key\n" not in str(refused.value)
        assert "canary" not in str(refused.value)
    (mounted / "linked").symlink_to("globex")
    with pytest.raises(RequestError, match="There is no secret"):
        await MountedSecrets(mounted, "linked").read(reference_of("secret://mounted/crm/key"))


@pytest.mark.parametrize(
    "text",
    [
        "secret://mounted/../globex/crm/key",
        "secret://mounted/crm/..data/key",
        "secret://mounted//etc/passwd",
        "secret://mounted/a/./b",
        "secret://mounted/a#b",
        "secret://mounted/",
        "secret://mounted/a/",
        "secret://vault/a%2f..%2fb",
        "secret://vault/a?version=1",
        "secret://vault/a\n",
        "secret://other/a",
        "secret://vault/" + "a" * 600,
    ],
)
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(ValueError, match="secret://vault/PATH#FIELD"):
        reference_of(text)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"vault_mount": "kv"}, "VAULT_URL"),
        ({"vault_url": "http://vault.internal:8200", "vault_token": "t"}, "no https address"),
        ({"vault_url": "https://user@vault", "vault_token": "t"}, "no https address"),
        ({"vault_url": "https://[", "vault_token": "t"}, "no https address"),
        ({"vault_url": "https://vault"}, "No way to log"),
        ({"vault_url": "https://vault", "vault_token": "t", "vault_role": "r"}, "More than one"),
        ({"vault_url": "https://vault", "vault_role_id": "r"}, "No way to log"),
        ({"vault_url": "https://vault", "vault_token": "t", "vault_prefix": "p"}, "{tenant}"),
        ({"vault_url": "https://vault", "vault_token": "t", "vault_ca_file": "/dev/null"}, "holds no certificates"),
        ({"vault_url": "https://vault", "vault_token": "t", "vault_transit_key": "k", "master_key": b"x" * 32}, "Both"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigurationError, match=word):
        outside_of(Settings(**given))
