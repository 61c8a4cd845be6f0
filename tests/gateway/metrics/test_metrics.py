"""What a gateway tells of itself: who may read it, what it counts, and that it tells nothing that anybody said."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from practicum_gateway.app import app_of, build, running
from practicum_gateway.metrics.exposition import written
from practicum_gateway.metrics.instruments import Capped, Counter, Histogram, of_tenants
from practicum_gateway.settings import Settings
from tests.gateway.conftest import served, spec_of
from tests.gateway.shop import SECRET, Shop

METRICS_KEY = "metrics-key-canary-1234"
SAID = "words-that-somebody-said"
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="[^"]*",?)*)\})? (\S+)')


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update=Settings.read({"PRACTICUM_METRICS_KEY": METRICS_KEY}).model_dump(include={"metrics_key"})
    )


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running(build(settings)) as estate,
        served(app_of(estate)) as url,
        httpx.AsyncClient(base_url=url, headers=bearer(settings.data_dir / "admin.key"), timeout=60) as client,
    ):
        yield client


def bearer(key: str | Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.read_text().strip() if isinstance(key, Path) else key}"}


async def samples(gateway: httpx.AsyncClient) -> dict[str, float]:
    """Every line that is a number, checked against the lines that say what it is."""
    answer = await gateway.get("/metrics", headers=bearer(METRICS_KEY))
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    kinds: dict[str, str] = dict(re.findall(r"^# TYPE (\S+) (\S+)$", answer.text, re.MULTILINE))
    found: dict[str, float] = {}
    for line in answer.text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.fullmatch(line)
        assert match is not None, line
        name = match[1]
        base = next((name.removesuffix(end) for end in ("_bucket", "_sum", "_count") if name.endswith(end)), name)
        assert kinds.get(name) in {"counter", "gauge"} or kinds.get(base) == "histogram", line
        assert line.rpartition(" ")[0] not in found
        found[line.rpartition(" ")[0]] = float(match[3])
    return found


async def test_it_is_for_the_metrics_key_and_those_who_see_everything(
    gateway: httpx.AsyncClient, settings: Settings
) -> None:
    made = await gateway.post("/v1/tenants", json={"name": "sales"})
    auditor = await gateway.post("/v1/keys", json={"principal": "ann", "role": "auditor"})
    statuses = {
        "nobody": (await gateway.get("/metrics", headers={"Authorization": ""})).status_code,
        "forged": (await gateway.get("/metrics", headers=bearer("prk_forged-forged-forged"))).status_code,
        "worker": (await gateway.get("/metrics", headers=bearer(settings.data_dir / "worker.key"))).status_code,
        "tenant": (await gateway.get("/metrics", headers=bearer(made.json()["key"]["key"]))).status_code,
        "auditor": (await gateway.get("/metrics", headers=bearer(auditor.json()["key"]))).status_code,
        "metrics": (await gateway.get("/metrics", headers=bearer(METRICS_KEY))).status_code,
        "metrics elsewhere": (await gateway.get("/v1/rules", headers=bearer(METRICS_KEY))).status_code,
    }
    assert statuses == {
        "nobody": 401,
        "forged": 401,
        "worker": 403,
        "tenant": 403,
        "auditor": 200,
        "metrics": 200,
        "metrics elsewhere": 401,
    }


async def test_calls_approvals_and_refusals_are_counted_and_nothing_that_was_said(
    gateway: httpx.AsyncClient, settings: Settings, shop: Shop
) -> None:
    made = await gateway.post("/v1/tenants", json={"name": "sales"})
    sales = bearer(made.json()["key"]["key"])
    wire = spec_of(shop).model_dump(mode="json", exclude_none=True)
    for headers in (None, sales):
        assert (await gateway.post("/v1/connectors", json=wire, headers=headers)).status_code == 201

    async def call(tool: str, key: str, headers: dict[str, str] | None = None, **arguments: object) -> dict[str, str]:
        wish = {"arguments": arguments, "idempotency_key": key}
        answer = await gateway.post(f"/v1/tools/{tool}/call", json=wish, headers=headers)
        assert answer.status_code in {200, 404}, answer.text
        return answer.json()

    await call("shop_get_order", "a", order=7)
    await call("shop_get_order", "a", order=7)
    await call("shop_get_order", "b", sales, order=7)
    waiting = await call("shop_add_note", "c", text=SAID)
    await call(SAID, "d")
    held = await samples(gateway)
    asked = (await gateway.get(f"/v1/approvals/{waiting['approval']}")).json()
    answered = {"approve": True, "arguments_hash": asked["arguments_hash"], "reason": SAID}
    approver = bearer(settings.data_dir / "approver.key")
    await gateway.post(f"/v1/approvals/{waiting['approval']}", json=answered, headers=approver)
    shop.moods = {"add_note": ["lose"]}
    await call("shop_add_note", "c", text=SAID)
    await gateway.get("/v1/audit/verify")
    found = await samples(gateway)

    def calls(effect: str, outcome: str, tenant: str = "main", connector: str = "shop") -> float:
        labels = f'tenant="{tenant}",connector="{connector}",effect="{effect}",outcome="{outcome}"'
        return found.get(f"practicum_tool_calls_total{{{labels}}}", 0)

    assert (calls("read", "ok"), calls("read", "repeated"), calls("read", "ok", "sales")) == (1, 1, 1)
    assert calls("create", "waiting") == 1
    assert calls("create", "in_doubt") == 1
    assert calls("unknown", "error", connector="unknown") == 1
    assert held['practicum_approvals_pending{tenant="main"}'] == 1
    assert found['practicum_approvals_total{tenant="main",outcome="approved"}'] == 1
    assert found['practicum_tool_upstream_duration_seconds_count{tenant="main",connector="shop"}'] == 2
    assert found['practicum_requests_total{route="/v1/tools/{name}/call",outcome="refused",code="not_found"}'] == 1
    assert found["practicum_ready{}" if "practicum_ready{}" in found else "practicum_ready"] == 1
    assert found["process_cpu_time_seconds_total"] > 0
    told = (await gateway.get("/metrics")).text
    assert SAID not in told
    assert SECRET not in told


async def test_a_histogram_adds_up_and_a_name_too_many_is_other() -> None:
    histogram = Histogram("a.b", "s", "What.", "of", bounds=(1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value, 'x"\n')
    assert written(of_tenants([("t", histogram.families()), ("t", histogram.families())])).splitlines()[2:] == [
        'a_b_seconds_bucket{tenant="t",of="x\\"\\n",le="1"} 4',
        'a_b_seconds_bucket{tenant="t",of="x\\"\\n",le="2"} 6',
        'a_b_seconds_bucket{tenant="t",of="x\\"\\n",le="+Inf"} 8',
        'a_b_seconds_sum{tenant="t",of="x\\"\\n"} 24',
        'a_b_seconds_count{tenant="t",of="x\\"\\n"} 8',
    ]
    capped, counter = Capped(2), Counter("c", "", "Which.", "of")
    for name in ("a", "b", "c", "a", "d"):
        counter.add(capped(name))
    assert counter.families()[0].points == {("a",): 2.0, ("b",): 1.0, ("other",): 2.0}
