"""A call that asks is answered from the command line while no worker is there; the next one goes on with the answer."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from practicum.contracts.access import Outcome, Rule, RuleSet
from practicum.contracts.episodes import EpisodeStatus
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from tests.journeys.house import House
from tests.journeys.test_kill_worker import START

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

ASK = RuleSet(rules=(Rule(id="refunds", tools=("erp.create_refund",), outcome=Outcome.ASK),))


def _answer(request: RecordedRequest) -> Reply:
    if any(isinstance(message, dict) and message.get("role") == "tool" for message in request.messages):
        return say("Refunded.")
    return call("erp_create_refund", {"order_id": 1042, "amount": 24.0})


def practicum(house: House, *arguments: str) -> Any:
    """What a command says as JSON, typed by an approver."""
    environment = os.environ | {"PRACTICUM_URL": house.client.url, "PRACTICUM_API_KEY": house.state.keys().approver}
    command = [str(Path(sys.executable).with_name("practicum")), *arguments, "--json"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=90)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_yes_from_the_command_line_outlives_the_worker(house: House) -> None:
    house.systems.load(START)
    before = house.client.rules.get()
    house.client.rules.set(ASK)
    try:
        with ScriptedModelServer(_answer) as model:
            alias = house.use_model(model)
            handle = house.client.episodes.start("Order 1042 arrived broken.", model=alias, tools="erp.*")
            asked = next(event.data["approval"] for event in handle.events() if event.type == "approval.requested")
            house.kill("worker")
            (waiting,) = practicum(house, "approvals", "list", "--status", "pending")
            assert (waiting["id"], waiting["episode"]) == (asked, handle.id)
            given = practicum(house, "approvals", "approve", waiting["id"], "--yes")
            assert given["status"] == "approved"
            assert house.systems.effects("erp") == []
            house.mend()
            result = handle.result(timeout=300)
    finally:
        house.client.rules.set(RuleSet(rules=before.rules, budgets=before.budgets))
        house.mend()
    assert (result.status, result.answer) == (EpisodeStatus.COMPLETED, "Refunded.")
    assert [effect["operation"] for effect in house.systems.effects("erp")] == ["create_refund"]
