"""Secrets in a real OpenBao: read by a login that ends, bound to the tenant; a master key that never leaves it."""

import asyncio
import base64

import pytest
from sqlalchemy import select

from practicum.contracts.secrets import SecretReference, is_reference, reference_of
from practicum.errors import ConfigurationError, RequestError, SecretSourceError
from practicum_connectors.resilience import Clock
from practicum_gateway.secrets.openbao import AppRole, FixedToken, KvSecrets, OpenBao
from practicum_gateway.secrets.source import Secrets
from practicum_gateway.secrets.transit import TransitMasterKey
from practicum_gateway.store.data_keys import DataKeys
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.secret_tables import DataKeyRow
from practicum_gateway.store.vault import LocalMasterKey, Vault, new_key
from tests.gateway.secrets.vault_server import ROOT, VaultServer

READS_ACME = 'path "secret/data/practicum/acme/*" { capabilities = ["read"] }'
KEY = new_key()


@pytest.fixture
async def root(bao: VaultServer) -> OpenBao:
    return OpenBao(bao.url, FixedToken(ROOT))


@pytest.fixture(scope="module")
def stocked(bao: VaultServer) -> VaultServer:
    bao.put("practicum/acme/crm", key="acme-key", value="plain")
    bao.put("practicum/globex/crm", key="globex-key")
    bao.do("POST", "secret/data/practicum/acme/odd", data={"number": 7, "empty": ""})
    return bao


def kv(bao: OpenBao, tenant: str = "acme") -> KvSecrets:
    return KvSecrets(bao, "secret", f"practicum/{tenant}")


async def read(source: KvSecrets, text: str) -> str:
    return await source.read(reference_of(text))


async def test_a_secret_is_read_by_a_login_whose_tokens_end(stocked: VaultServer) -> None:
    role, secret = stocked.app_role("reader", READS_ACME, token_num_uses=2)
    bao = OpenBao(stocked.url, AppRole("approle", role, secret))
    for _ in range(5):  # a token is good for two requests: it is exchanged once it was refused
        assert await read(kv(bao), "secret://vault/crm#key") == "acme-key"
    assert await read(kv(bao), "secret://vault/crm") == "plain"
    with pytest.raises(RequestError, match="does not let the gateway read secret://vault/crm#key") as refused:
        await read(kv(bao, "globex"), "secret://vault/crm#key")
    assert "globex-key" not in str(refused.value)
    for wrong in (
        "secret://vault/gone",
        "secret://vault/crm#gone",
        "secret://vault/odd#number",
        "secret://vault/odd#empty",
    ):
        with pytest.raises(RequestError, match=wrong):
            await read(kv(bao), wrong)
    await bao.aclose()


async def test_what_was_deleted_is_gone(stocked: VaultServer, root: OpenBao) -> None:
    stocked.put("practicum/acme/old", value="x")
    stocked.do("DELETE", "secret/data/practicum/acme/old")
    with pytest.raises(RequestError, match="There is no secret"):
        await read(kv(root), "secret://vault/old")
    await root.aclose()


async def test_a_login_that_is_refused_and_a_vault_that_is_gone(stocked: VaultServer) -> None:
    wrong = OpenBao(stocked.url, AppRole("approle", "nobody", "secret-id-canary"))
    with pytest.raises(SecretSourceError, match="refuses the gateway's AppRole login") as refused:
        await read(kv(wrong), "secret://vault/crm")
    assert "canary" not in str(refused.value)
    gone = OpenBao("http://127.0.0.1:9", FixedToken("token-canary"))
    with pytest.raises(SecretSourceError, match="secret://vault/crm cannot be read") as unreachable:
        await read(kv(gone), "secret://vault/crm")
    assert "canary" not in str(unreachable.value)
    await wrong.aclose()
    await gone.aclose()


async def test_a_namespace_can_stand_for_the_tenant(stocked: VaultServer, root: OpenBao) -> None:
    stocked.do("POST", "sys/namespaces/initech")
    inside = {"X-Vault-Namespace": "initech"}
    mount = {"type": "kv", "options": {"version": "2"}}
    assert stocked.client.post("sys/mounts/kv", json=mount, headers=inside).is_success
    assert stocked.client.post("kv/data/crm", json={"data": {"value": "theirs"}}, headers=inside).is_success
    assert await read(KvSecrets(root, "kv", "", "initech"), "secret://vault/crm") == "theirs"
    with pytest.raises(RequestError):
        await read(KvSecrets(root, "kv", "", "acme"), "secret://vault/crm")
    await root.aclose()


async def test_a_value_is_read_once_for_all_who_ask_at_once_and_again_after_its_time(
    stocked: VaultServer, root: OpenBao
) -> None:
    stocked.put("practicum/acme/turning", value="one")
    secrets = Secrets({"vault": kv(root)}, seconds=3600)
    text = "secret://vault/turning"
    assert set(await asyncio.gather(*(secrets.resolve(text) for _ in range(20)))) == {"one"}
    stocked.put("practicum/acme/turning", value="two")
    assert await secrets.resolve(text) == "one"
    assert await secrets.resolve(text, True) == "two"
    stocked.put("practicum/acme/turning", value="three")
    assert await Secrets({"vault": kv(root)}, seconds=0).resolve(text) == "three"
    with pytest.raises(RequestError, match="no such store of secrets"):
        await secrets.resolve("secret://mounted/turning")
    for wrong in ("secret://vault/../globex/crm", "SECRET://vault/turning", " secret://vault/turning"):
        assert is_reference(wrong), "no slip of the pen is sent to a system as if it were the credential"
        with pytest.raises(RequestError, match="no reference"):
            await secrets.resolve(wrong)
    await root.aclose()


async def test_a_store_that_is_down_is_not_asked_by_each_who_waits() -> None:
    asked, time = list[str](), [0.0]

    class Down:
        async def read(self, reference: SecretReference) -> str:
            asked.append(str(reference))
            if time[0] < 10.0:
                raise SecretSourceError("It is down.")
            return "up"

    secrets = Secrets({"vault": Down()}, clock=Clock(now=lambda: time[0]))
    for _ in range(3):
        with pytest.raises(SecretSourceError, match="It is down"):
            await secrets.resolve("secret://vault/a")
    with pytest.raises(SecretSourceError, match="It is down"):
        await secrets.resolve("secret://vault/a", True)
    assert asked == ["secret://vault/a"], "nor by calls whose credential was refused"
    with pytest.raises(SecretSourceError, match="It is down"):
        await secrets.require(["secret://vault/a"])
    assert len(asked) == 2, "but by who registers it"
    time[0] = 10.0
    assert await secrets.resolve("secret://vault/a") == "up"


async def test_the_master_key_stays_in_the_vault(stocked: VaultServer, root: OpenBao) -> None:
    stocked.do("POST", "transit/keys/master", derived=True)
    master = TransitMasterKey(root, "transit", "master")
    acme, globex = master.of_tenant("acme"), master.of_tenant("globex")
    wrapped = await acme.wrap(KEY, "data key dk_1")
    assert wrapped.startswith("vault:v1:")
    assert await acme.unwrap(wrapped, "data key dk_1") == (KEY, False)
    for other, context in ((globex, "data key dk_1"), (master, "data key dk_1"), (acme, "data key dk_2")):
        with pytest.raises(ConfigurationError, match="does not open"):
            await other.unwrap(wrapped, context)
    stocked.do("POST", "transit/keys/master/rotate")
    later = TransitMasterKey(root, "transit", "master").of_tenant("acme")
    assert await later.unwrap(wrapped, "data key dk_1") == (KEY, True)
    stocked.do("POST", "transit/keys/flat")
    with pytest.raises(ConfigurationError, match="not derived"):
        await TransitMasterKey(root, "transit", "flat").wrap(KEY, "x")
    with pytest.raises(ConfigurationError, match="PRACTICUM_FORMER_MASTER_KEYS"):
        await master.unwrap("v1:abc:def", "x")
    await root.aclose()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_a_store_moves_from_a_master_key_of_the_process_to_the_vault(
    stocked: VaultServer, root: OpenBao, store: Store
) -> None:
    before = LocalMasterKey(KEY)
    vault = Vault(new_key())
    await DataKeys(store, vault, before).open()
    sealed, mark = vault.seal("a credential", "x"), vault.fingerprint("y")
    name = new_id("moved")
    stocked.do("POST", f"transit/keys/{name}", derived=True)
    moved = Vault(new_key())
    await DataKeys(store, moved, TransitMasterKey(root, "transit", name, former=before)).open()
    assert (moved.open(sealed, "x"), moved.fingerprint("y")) == ("a credential", mark)
    after = Vault(new_key())
    keys = DataKeys(store, after, TransitMasterKey(root, "transit", name))
    await keys.open()
    await keys.renew()
    assert after.open(sealed, "x") == "a credential"
    async with store.read() as session:
        wrapped = list(await session.scalars(select(DataKeyRow.wrapped)))
    assert len(wrapped) == 3
    assert all(each.startswith("vault:v1:") for each in wrapped)
    assert base64.b64encode(KEY).decode() not in "".join(wrapped)
    await root.aclose()
