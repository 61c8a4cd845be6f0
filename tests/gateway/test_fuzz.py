"""The gateway's own document holds, whatever is sent: schemathesis finds no 5xx and nothing that it does not say."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from practicum.contracts.access import KeyRequest, Role
from practicum.testing import ScriptedModelServer, say
from practicum_gateway.app import build, running
from practicum_gateway.estate import Estate
from practicum_gateway.settings import Settings
from tests.gateway.conftest import spec_of
from tests.gateway.fuzz_hooks import OWN_KEY
from tests.gateway.shop import Shop
from tests.workflows.staging import temporal_server

SECONDS = int(os.environ.get("FUZZ_SECONDS", "40"))
"""How long each database is tried; set FUZZ_SECONDS (and FUZZ_SEED) to look further."""
SEED = int(os.environ.get("FUZZ_SEED", "7"))
_REPOSITORY = Path(__file__).parents[2]
_CONFIGURATION = """
headers = { Authorization = "Bearer ${FUZZ_KEY}" }
request-timeout = 60
[reports]
directory = "."
"""


@pytest.fixture(scope="module")
def temporal() -> Iterator[str]:
    with temporal_server() as address:
        yield address


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(lambda _: say("Done.")) as server:
        yield server


@pytest.fixture
async def estate(settings: Settings, temporal: str) -> AsyncIterator[Estate]:
    """A gateway to which nothing is lacking: one that has no Temporal says so with a 5xx, and rightly."""
    async with running(build(settings.model_copy(update={"temporal_address": temporal}))) as estate:
        yield estate


@pytest.fixture
async def filled(gateway: httpx.AsyncClient, shop: Shop, model: ScriptedModelServer) -> httpx.AsyncClient:
    """A gateway that holds one of everything."""

    async def post(path: str, **body: object) -> httpx.Response:
        answer = await gateway.post(path, json=body, timeout=60)
        assert answer.is_success, answer.text
        return answer

    await post("/v1/connectors", **spec_of(shop).model_dump(mode="json"))
    await post("/v1/models", alias="m", provider="litellm", target="openai/x", base_url=model.base_url, api_key="sk-x")
    await post("/v1/tenants", name="sales", admin="ada")
    await post("/v1/keys", principal="ann", role="developer")
    episode = {"task": "Refund order 1.", "model": "m", "tools": ["shop.*"], "metadata": {"suite": "s"}}
    await post("/v1/episodes", **episode, driver="client")
    await post("/v1/episodes", **episode, driver="temporal")
    await post("/v1/tools/shop_create_refund/call", arguments={"order": 1, "amount": 5}, idempotency_key="once")
    await post("/v1/tools/shop_get_order/call", arguments={"order": 1})
    await post("/v1/chat/completions", model="m", messages=[{"role": "user", "content": "Hello"}])
    return gateway


@pytest.mark.timeout(SECONDS + 180)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_nothing_that_is_sent_gets_an_answer_that_the_document_does_not_say(
    filled: httpx.AsyncClient, estate: Estate, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = await estate.main.keys.issue(KeyRequest(principal="fuzz", role=Role.ADMIN))
    (tmp_path / "schemathesis.toml").write_text(_CONFIGURATION)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"),
        *(f"{filled.base_url}/openapi.json", "--seed", str(SEED), "--max-time", str(SECONDS), "--no-color"),
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(_REPOSITORY), *sys.path]),
            "SCHEMATHESIS_HOOKS": "tests.gateway.fuzz_hooks",
            "FUZZ_KEY": own.key,
            OWN_KEY: own.info.id,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said = (await process.communicate())[0].decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said
    assert "unexpected" not in caplog.text
    assert own.key not in caplog.text + said
    assert (await filled.get("/v1/tools", headers={"Authorization": f"Bearer {own.key}"})).status_code == 200
