"""The SDK and the CLI against the gateway itself, an example system and a scripted model, each behind a real socket."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from practicum.agent import drive
from practicum.cli.main import invoke
from practicum.client import AsyncPracticum, Practicum
from practicum.contracts.access import ApprovalStatus, Role
from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Driver, EpisodeStatus
from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.tools import CallStatus
from practicum.errors import ConflictError, ForbiddenError, NotFoundError, UnauthenticatedError
from practicum.testing import ScriptedModelServer, call, say
from tests.sdk.evaluation.reports import report_of

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

ADMIN = "prk_administrator_of_the_test"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


@contextmanager
def process(log: Path, url: str, *command: str, **environment: str) -> Generator[None]:
    """A process until the block ends, once `url` answers."""
    with log.open("wb") as out, ExitStack() as stack:
        started = subprocess.Popen(
            [sys.executable, "-m", *command], stdout=out, stderr=out, env={**os.environ, **environment}
        )
        stack.callback(started.wait, 20)
        stack.callback(started.terminate)
        for _ in range(300):
            try:
                httpx.get(url, timeout=1)
                break
            except httpx.TransportError:
                assert started.poll() is None, log.read_text()
                time.sleep(0.1)
        yield


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """URLs of a gateway and of a CRM."""
    folder = tmp_path_factory.mktemp("house")
    crm, gateway = free_port(), free_port()
    urls = {"crm": f"http://127.0.0.1:{crm}", "gateway": f"http://127.0.0.1:{gateway}"}
    gateway_command = ("practicum_gateway", "--port", str(gateway), "--data-dir", str(folder / "data"))
    with ExitStack() as stack:
        crm_command = ("examples.systems.crm", "--port", str(crm), "--data", str(folder / "crm"))
        stack.enter_context(
            process(folder / "crm.log", f"{urls['crm']}/openapi.json", *crm_command, CRM_API_KEY="hush")
        )
        stack.enter_context(
            process(folder / "gateway.log", f"{urls['gateway']}/healthz", *gateway_command, PRACTICUM_ADMIN_KEY=ADMIN)
        )
        yield urls


@pytest.fixture
def client(house: dict[str, str]) -> Iterator[Practicum]:
    with Practicum(house["gateway"], ADMIN) as made:
        yield made


@pytest.fixture
def practicum(house: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Types a command and reads its JSON."""
    os.environ |= {"PRACTICUM_URL": house["gateway"], "PRACTICUM_API_KEY": ADMIN, "CRM_KEY": "hush"}

    def types(*arguments: str, status: int = 0) -> Any:
        capsys.readouterr()
        assert invoke([*arguments, "--json"]) == status, capsys.readouterr().err
        shown = capsys.readouterr().out
        return json.loads(shown) if shown else None

    return types


def test_a_system_becomes_tools(house: dict[str, str], client: Practicum, practicum: Callable[..., Any]) -> None:
    source = f"{house['crm']}/openapi.json"
    report = practicum("connectors", "add", "crm", source, "--auth", "api_key:env:CRM_KEY", "--private-network")
    assert report["connector"]["tools"] > 5
    again = practicum("connectors", "add", "crm", source, "--auth", "api_key:env:CRM_KEY", "--private-network")
    assert again["connector"]["digest"] == report["connector"]["digest"]
    practicum("connectors", "add", "crm", source, "--base-url", "http://elsewhere:1", status=5)
    assert [found.name for found in client.connectors.list()] == ["crm"]
    assert client.connectors.get("crm").connector.auth == "api_key"
    assert {tool["connector"] for tool in practicum("tools", "list", "crm.*")} == {"crm"}
    assert "note" in client.tools.search("add a note to a customer", limit=1)[0].name
    with pytest.raises(NotFoundError):
        client.tools.get("nonsense")


def test_calls_are_made_asked_about_and_made_once(client: Practicum, practicum: Callable[..., Any]) -> None:
    found = next(tool for tool in client.tools.list("crm.find_customers"))
    customers = client.tools.call(found.name, {})
    assert customers.status is CallStatus.OK, customers
    person = json.loads(customers.content)["items"][0]["id"]
    note = client.tools.list("crm.add_note")[0]
    given: JsonObject = {"customer_id": person, "text": "Called back."}
    waiting = client.tools.call(note.name, given, idempotency_key="note-1")
    assert waiting.status is CallStatus.WAITING, waiting
    key = client.keys.create("grace", role=Role.APPROVER)
    asked = client.approvals.list(status=ApprovalStatus.PENDING)[0]
    with pytest.raises(ForbiddenError):
        client.approvals.approve(asked)
    os.environ["PRACTICUM_API_KEY"] = key.key
    assert practicum("approvals", "approve", asked.id, "--yes")["status"] == "approved"
    os.environ["PRACTICUM_API_KEY"] = ADMIN
    done = practicum("tools", "call", note.name, json.dumps(given), "--key", "note-1")
    assert done["status"] == "ok", done
    assert client.tools.call(note.name, given, idempotency_key="note-1").content == done["content"]
    assert client.approvals.get(asked.id).status is ApprovalStatus.USED
    assert practicum("keys", "revoke", key.info.id) == {"revoked": key.info.id}
    with Practicum(client.url, key.key) as revoked, pytest.raises(UnauthenticatedError):
        revoked.tools.list()


async def test_an_episode_from_its_start_to_its_export(
    house: dict[str, str], client: Practicum, practicum: Callable[..., Any], tmp_path: Path
) -> None:
    (tool,) = client.tools.list("crm.find_customers")
    with ScriptedModelServer([call(tool.name, {}), say("There are customers.")]) as model:
        spec = ModelSpec(
            alias="scripted",
            provider=Provider.LITELLM,
            target="openai/scripted",
            base_url=model.base_url,
            api_key="sk-test",
        )
        assert client.models.register(spec).alias == "scripted"
        assert client.models.list() == ["scripted"]
        async with AsyncPracticum(house["gateway"], ADMIN) as driver:
            handle = await driver.episodes.start(
                "Who are our customers?",
                model="scripted",
                tools="crm.find_customers",
                driver=Driver.CLIENT,
                metadata={"suite": "test"},
                idempotency_key="episode-1",
            )
            again = await driver.episodes.start(
                "Who are our customers?",
                model="scripted",
                tools="crm.find_customers",
                driver=Driver.CLIENT,
                metadata={"suite": "test"},
                idempotency_key="episode-1",
            )
            assert again.id == handle.id
            with pytest.raises(ConflictError):
                await driver.episodes.start("Another", model="scripted", idempotency_key="episode-1")
            episode = await drive(driver, handle.id)
            assert episode.status is EpisodeStatus.COMPLETED, episode
            events = [event async for event in handle.events()]
            assert [event.sequence for event in events] == list(range(1, len(events) + 1))
            assert events[-1].type == "episode.ended"
            assert [event async for event in handle.events(after=events[-1].sequence)] == []
            assert (await handle.result()).answer == "There are customers."
            await driver.episodes.reward(handle.id, 1.0, source="test")
    assert "hush" not in client.trajectories.get(handle.id).model_dump_json()
    assert practicum("episodes", "list", "--metadata", "suite=test")[0]["reward"] == 1.0
    manifest = practicum("trajectories", "export", str(tmp_path / "out"), "--metadata", "suite=test")
    assert manifest["files"][0]["episodes"] == [handle.id]
    row = json.loads((tmp_path / "out/chat.jsonl").read_text())
    assert [message["role"] for message in row["messages"]][-3:] == ["assistant", "tool", "assistant"]
    assert row["tools"][0]["function"]["name"] == tool.name


def test_a_model_goes_to_a_better_version_and_back(
    client: Practicum, practicum: Callable[..., Any], tmp_path: Path
) -> None:
    def evaluated(version: str, successes: int) -> str:
        """An evaluation in which so many of 20 tasks were solved."""
        report = report_of(
            [[1.0]] * successes + [[0.0]] * (20 - successes), id=version, model=f"agent@{version}", version=version
        )
        path = tmp_path / f"{version}.json"
        path.write_text(report.model_dump_json())
        return str(path)

    spec = ModelSpec(alias="agent", provider=Provider.LITELLM, target="openai/one", version="one")
    client.models.register(spec)
    for version in ("worse", "better"):
        client.models.add_version(spec.model_copy(update={"version": version, "target": f"openai/{version}"}))
    against = ("--against", evaluated("one", 8))
    promote = ("models", "promote", "agent")

    practicum(*promote, "worse", "--evaluation", evaluated("worse", 4), *against, status=5)
    assert client.models.get("agent").version == "one"
    done = practicum(*promote, "better", "--evaluation", evaluated("better", 20), *against)
    assert (done["comparison"]["difference"], done["comparison"]["improved"]) == (0.6, 12)
    assert client.models.get("agent").version == "better"
    practicum("models", "rollback", "agent")
    assert [each["version"] for each in practicum("models", "versions", "agent") if each["current"]] == ["one"]
    assert [each["change"] for each in practicum("models", "promotions", "agent")] == [
        "rolled_back",
        "promoted",
        "registered",
    ]
    client.models.remove("agent")


def test_what_is_refused(client: Practicum, practicum: Callable[..., Any]) -> None:
    practicum("run", "Do it", "--model", "nobody", status=5)
    practicum("episodes", "show", "nobody", status=5)
    practicum("tools", "call", "nonsense", status=5)
    practicum("rules", "set", "/nowhere.json", status=2)
    with Practicum(client.url, "prk_not_a_key_of_this_gateway") as stranger, pytest.raises(UnauthenticatedError):
        stranger.connectors.list()
    assert practicum("connectors", "remove", "crm") == {"removed": "crm"}
    assert client.tools.list() == []
