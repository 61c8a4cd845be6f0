"""Each method asks the endpoint it should, with what it was given, and reads the answer."""

import inspect
from typing import Any

import pytest

from practicum.client import AsyncPracticum, Practicum, asynchronous, blocking
from practicum.client.endpoint import AsyncEndpoint, Endpoint
from practicum.contracts.access import (
    Approval,
    ApprovalStatus,
    IssuedKey,
    KeyInfo,
    Outcome,
    Role,
    Rule,
    RuleSet,
)
from practicum.contracts.connectors import ApiKeyAuth, Connector, ConnectorReport, ConnectorSpec, Mode
from practicum.contracts.episodes import (
    CallReceipt,
    Driver,
    EpisodeMode,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    Limits,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.models import ModelInfo, ModelSpec, ModelVersion, Provider, Usage
from practicum.contracts.promotion import Change, Promotion
from practicum.contracts.tools import CallStatus, Effect, Observation, ProfiledTool, Tool
from practicum.contracts.trajectory import Trajectory
from practicum.errors import InDoubtError, RequestError
from tests.sdk.client.conftest import KEY
from tests.sdk.stand_in import NOW, Answer, StandIn, episode

CONNECTOR = Connector(
    name="crm",
    title="CRM",
    version="1",
    base_url="http://crm",
    mode=Mode.LIVE,
    auth="api_key",
    tools=2,
    created=NOW,
    digest="0" * 64,
)
TOOL = Tool(
    name="crm_get",
    connector="crm",
    operation="get",
    description="Gets.",
    input_schema={"type": "object"},
    effect=Effect.READ,
    method="GET",
    path="/get",
)
APPROVAL = Approval(
    id="ap1",
    episode="ep1",
    step=0,
    call=0,
    tool="erp_refund",
    effect=Effect.MONEY,
    arguments={"order": 1042},
    arguments_hash="abc",
    rule="default",
    requested_by="ada",
    status=ApprovalStatus.PENDING,
    created=NOW,
    expires=NOW,
)
INFO = ModelInfo(alias="local", provider=Provider.LLAMA_CPP, target="smol", version="1")
KEY_INFO = KeyInfo(id="k1", prefix="prk_ab", principal="ada", role=Role.DEVELOPER)
TRAJECTORY = Trajectory(episode="ep1", task="t", model="local", mode=EpisodeMode.LIVE, messages=(), created=NOW)


def test_connectors(gateway: StandIn, client: Practicum) -> None:
    report = ConnectorReport(connector=CONNECTOR, operations=())
    gateway.on("POST", "/v1/connectors", Answer(201, report.model_dump_json().encode()))
    gateway.on("GET", "/v1/connectors", [CONNECTOR])
    gateway.on("GET", "/v1/connectors/crm", report)
    gateway.on("DELETE", "/v1/connectors/crm", Answer(204))
    spec = ConnectorSpec(name="crm", document={"openapi": "3.1.0", "x": None}, auth=ApiKeyAuth(value="hush"))
    assert client.connectors.add(spec) == report
    assert ConnectorSpec.model_validate(gateway.seen[0].json) == spec
    assert gateway.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert gateway.seen[0].headers["user-agent"].startswith("practicum-sdk/")
    assert client.connectors.list() == [CONNECTOR]
    assert client.connectors.get("crm") == report
    assert client.connectors.remove("crm") is None


def test_tools(gateway: StandIn, client: Practicum) -> None:
    observation = Observation(status=CallStatus.OK, content="{}")
    gateway.on("GET", "/v1/tools", [TOOL])
    gateway.on("GET", "/v1/tools/crm_get", TOOL)
    gateway.on("POST", "/v1/tools/crm_get/call", observation)
    assert client.tools.list("crm.*") == [TOOL]
    assert gateway.seen[-1].query == [("pattern", "crm.*")]
    assert client.tools.search("refund an order", limit=3) == [TOOL]
    assert gateway.seen[-1].query == [("query", "refund an order"), ("limit", "3")]
    assert client.tools.get("crm_get") == TOOL
    profiled = ProfiledTool(
        name="crm_get", profile="openai", definition={"type": "function"}, notes=("It lost a bit.",)
    )
    gateway.on("GET", "/v1/tools/crm_get", profiled)
    assert client.tools.profiled("crm_get", "openai") == profiled
    assert gateway.seen[-1].query == [("profile", "openai")]
    assert client.tools.call("crm_get", {"id": 1, "note": None}, idempotency_key="k-1") == observation
    assert gateway.seen[-1].json == {"arguments": {"id": 1, "note": None}, "idempotency_key": "k-1"}
    client.tools.call("crm_get")
    client.tools.call("crm_get")
    made = [seen.json["idempotency_key"] for seen in gateway.seen[-2:]]
    assert all(made)
    assert made[0] != made[1]


def test_an_artifact_comes_as_bytes(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/artifacts/a1", Answer(200, b"\x00\xff", "image/png"))
    assert client.tools.artifact("a1", episode="ep1") == b"\x00\xff"
    assert gateway.seen[-1].query == [("episode", "ep1")]
    gateway.on("GET", "/v1/artifacts/a2", Answer(200, b"", "text/plain"))
    assert client.tools.artifact("a2") == b""
    assert gateway.seen[-1].query == []


def test_a_name_cannot_leave_its_place_in_the_path(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/tools/..%2Fkeys%3Fx%20", TOOL)
    assert client.tools.get("../keys?x ") == TOOL


def test_starting_an_episode(gateway: StandIn, client: Practicum) -> None:
    gateway.on("POST", "/v1/episodes", Answer(201, episode().model_dump_json().encode()))
    handle = client.episodes.start(
        "Refund order 1042",
        model="local",
        tools="crm.*",
        limits=Limits(steps=3),
        driver=Driver.CLIENT,
        metadata={"suite": "orders"},
        idempotency_key="once",
    )
    assert handle.id == "ep1"
    sent = gateway.seen[0].json
    assert (sent["tools"], sent["limits"]["steps"], sent["driver"]) == (["crm.*"], 3, "client")
    assert (sent["metadata"], sent["idempotency_key"]) == ({"suite": "orders"}, "once")


def test_an_option_that_does_not_fit_is_refused_before_anything_is_sent(gateway: StandIn, client: Practicum) -> None:
    with pytest.raises(RequestError, match="task") as caught:
        client.episodes.start("", model="local")
    assert caught.value.errors[0].where == "task"
    with pytest.raises(RequestError, match="colour"):
        client.episodes.start("Do", model="local", colour="blue")  # pyright: ignore[reportCallIssue]
    assert gateway.seen == []


def test_episodes(gateway: StandIn, client: Practicum) -> None:
    running, cancelled = episode(), episode(status=EpisodeStatus.CANCELLED)
    gateway.on("GET", "/v1/episodes", [running])
    gateway.on("GET", "/v1/episodes/ep1", running)
    gateway.on("POST", "/v1/episodes/ep1/cancel", cancelled)
    gateway.on("POST", "/v1/episodes/ep1/close", cancelled)
    gateway.on("POST", "/v1/episodes/ep1/turns", TurnReceipt(step=0, usage=Usage(prompt_tokens=3)))
    gateway.on("POST", "/v1/episodes/ep1/calls", CallReceipt(step=0, call=1, status=CallStatus.OK))
    gateway.on("DELETE", "/v1/episodes/ep1/practice", Answer(204))
    gateway.on("GET", "/v1/episodes/ep1/states", {"crm": {"notes": {"1": {"text": "a"}}}})
    gateway.on("POST", "/v1/episodes/ep1/keys", IssuedKey(key="prk_secret", info=KEY_INFO))
    gateway.on("POST", "/v1/episodes/ep1/reward", running)
    episodes = client.episodes
    listed = episodes.list(status=EpisodeStatus.RUNNING, metadata={"suite": "orders", "split": "train"}, limit=5)
    assert listed == [running]
    assert gateway.seen[-1].query == [
        ("status", "running"),
        ("limit", "5"),
        ("metadata", "suite:orders"),
        ("metadata", "split:train"),
    ]
    assert episodes.get("ep1") == running
    assert episodes.cancel("ep1") == cancelled
    assert cancelled.result is not None
    assert episodes.close("ep1", cancelled.result) == cancelled
    assert EpisodeResult.model_validate(gateway.seen[-1].json) == cancelled.result
    assert episodes.take_turn("ep1", TurnRequest(step=0, attempt=2)).usage.prompt_tokens == 3
    assert gateway.seen[-1].json == {"step": 0, "attempt": 2}
    assert episodes.invoke("ep1", InvokeRequest(step=0, call=1)).status is CallStatus.OK
    assert episodes.states("ep1") == {"crm": {"notes": {"1": {"text": "a"}}}}
    episodes.release("ep1")
    issued = episodes.issue_key("ep1")
    assert issued.key == "prk_secret"
    assert "prk_secret" not in repr(issued)
    assert episodes.reward("ep1", None, source="verifier", reason="sandbox lost") == running
    assert gateway.seen[-1].json == {"reward": None, "source": "verifier", "reason": "sandbox lost"}


def test_approvals(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/approvals", [APPROVAL])
    gateway.on("GET", "/v1/approvals/ap1", APPROVAL)
    gateway.on("POST", "/v1/approvals/ap1", APPROVAL)
    assert client.approvals.list(status=ApprovalStatus.PENDING, episode="ep1") == [APPROVAL]
    assert gateway.seen[-1].query == [("status", "pending"), ("episode", "ep1")]
    seen = client.approvals.get("ap1")
    client.approvals.approve(seen, reason="fine")
    assert gateway.seen[-1].json == {"approve": True, "arguments_hash": "abc", "reason": "fine"}
    client.approvals.deny(seen)
    assert gateway.seen[-1].json == {"approve": False, "arguments_hash": "abc", "reason": None}


def test_models(gateway: StandIn, client: Practicum) -> None:
    gateway.on("POST", "/v1/models", INFO)
    gateway.on("GET", "/v1/models", {"object": "list", "data": [{"id": "local", "object": "model", "created": 0}]})
    gateway.on("GET", "/v1/models/local", INFO)
    gateway.on("DELETE", "/v1/models/local", Answer(204))
    assert client.models.register(ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="smol")) == INFO
    assert client.models.list() == ["local"]
    assert client.models.get("local") == INFO
    assert client.models.remove("local") is None


def test_versions_of_models(gateway: StandIn, client: Practicum) -> None:
    version = ModelVersion(**INFO.model_dump(), created=NOW, created_by="ada", current=False)
    done = Promotion(id=1, alias="local", change=Change.PROMOTED, to_version="v2", by="ada", at=NOW)
    gateway.on("GET", "/v1/models/local/versions", [version])
    gateway.on("POST", "/v1/models/local/versions", version)
    gateway.on("POST", "/v1/models/local/promote", done)
    gateway.on("POST", "/v1/models/local/rollback", done)
    gateway.on("GET", "/v1/models/local/promotions", [done])
    gateway.on("GET", "/v1/models/local%40openai%2Fx", INFO)
    assert client.models.versions("local") == [version]
    assert client.models.add_version(ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="x")) == version
    assert client.models.promote("local", "v2", override="cheaper") == done
    assert gateway.seen[-1].json == {"version": "v2", "evaluation": None, "against": None, "override": "cheaper"}
    assert client.models.rollback("local") == done
    assert gateway.seen[-1].body == b""
    assert client.models.promotions("local") == [done]
    assert client.models.get("local@openai/x") == INFO
    with pytest.raises(RequestError, match="override"):
        client.models.promote("local", "v2", override=" ")
    gateway.on("POST", "/v1/models/local/rollback", Answer(cut=True))
    with pytest.raises(InDoubtError, match="one further back"):
        client.models.rollback("local")


def test_rules_and_keys(gateway: StandIn, client: Practicum) -> None:
    rules = RuleSet(rules=(Rule(id="no-deletes", effects=(Effect.DELETE,), outcome=Outcome.DENY),))
    gateway.on("GET", "/v1/rules", rules)
    gateway.on("PUT", "/v1/rules", rules)
    gateway.on("POST", "/v1/keys", Answer(201, IssuedKey(key="prk_x", info=KEY_INFO).model_dump_json().encode()))
    gateway.on("GET", "/v1/keys", [KEY_INFO])
    gateway.on("DELETE", "/v1/keys/k1", Answer(204))
    assert client.rules.get() == rules
    assert client.rules.set(rules) == rules
    assert client.keys.create("ada", role=Role.DEVELOPER, expires_in_seconds=60).info == KEY_INFO
    assert gateway.seen[-1].json == {"principal": "ada", "role": "developer", "expires_in_seconds": 60}
    assert client.keys.list() == [KEY_INFO]
    assert client.keys.revoke("k1") is None


def test_trajectories_are_fetched_page_by_page(gateway: StandIn, client: Practicum) -> None:
    named = [TRAJECTORY.model_copy(update={"episode": name}) for name in "abc"]
    gateway.on("GET", "/v1/trajectories/ep1", TRAJECTORY)
    gateway.on("GET", "/v1/trajectories", named[:2], named[2:])
    assert client.trajectories.get("ep1") == TRAJECTORY
    assert [found.episode for found in client.trajectories.iterate(metadata={"suite": "x"}, page=2)] == ["a", "b", "c"]
    assert gateway.seen[-2].query == [("limit", "2"), ("metadata", "suite:x")]
    assert gateway.seen[-1].query == [("after", "b"), ("limit", "2"), ("metadata", "suite:x")]


async def test_the_async_client_asks_the_same(gateway: StandIn, async_client: AsyncPracticum) -> None:
    gateway.on("GET", "/v1/connectors", [CONNECTOR])
    gateway.on("POST", "/v1/episodes/ep1/turns", TurnReceipt(step=0))
    named = [TRAJECTORY.model_copy(update={"episode": name}) for name in "abc"]
    gateway.on("GET", "/v1/trajectories", named[:2], named[2:])
    assert await async_client.connectors.list() == [CONNECTOR]
    assert (await async_client.episodes.take_turn("ep1", TurnRequest(step=0))).step == 0
    assert gateway.seen[-1].json == {"step": 0, "attempt": 1}
    found = [trajectory.episode async for trajectory in async_client.trajectories.iterate(page=2)]
    assert found == ["a", "b", "c"]


def _public(owner: type) -> dict[str, Any]:
    return {name: value for name, value in vars(owner).items() if not name.startswith("_")}


def test_both_clients_offer_the_same() -> None:
    for name, plain in inspect.getmembers(blocking, inspect.isclass):
        if plain.__module__ != blocking.__name__:
            continue
        other = getattr(asynchronous, f"Async{name}")
        mine, theirs = _public(plain), _public(other)
        assert mine.keys() == theirs.keys(), name
        for key, value in mine.items():
            if isinstance(value, Endpoint):
                partner = theirs[key]
                assert isinstance(partner, AsyncEndpoint)
                assert value.build is partner.build, f"{name}.{key}"
            else:
                assert inspect.signature(value).parameters == inspect.signature(theirs[key]).parameters, key


def test_methods_carry_their_documentation(client: Practicum) -> None:
    assert "idempotency_key" in (client.tools.call.__doc__ or "")
    assert list(inspect.signature(client.tools.call).parameters) == ["name", "arguments", "idempotency_key"]
