"""A worker is killed in the middle of an episode; another finishes it, and nothing is done twice."""

import pytest

from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.tasks import States
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from tests.journeys.house import House

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

START: States = {
    "erp": {
        "products": {"mug": {"name": "Mug", "price": 12.0, "stock": 7}},
        "orders": {
            "1042": {
                "customer_id": "C-100",
                "sku": "mug",
                "quantity": 2,
                "status": "delivered",
                "paid": 24.0,
                "refunded": 0.0,
            }
        },
    },
}
SLOW_SECONDS = 3.0


def _answer(request: RecordedRequest) -> Reply:
    """What comes next after the outcomes that the conversation already holds; the second turn takes its time."""
    outcomes = sum(1 for message in request.messages if isinstance(message, dict) and message.get("role") == "tool")
    if outcomes == 0:
        return call("erp_create_refund", {"order_id": 1042, "amount": 24.0})
    if outcomes == 1:
        asked = call("erp_message_warehouse", {"order_id": 1042, "text": "Order 1042 arrived broken."})
        return Reply(tool_calls=asked.tool_calls, delay=SLOW_SECONDS)
    return say("Refunded 24.00 and told the warehouse.")


def test_a_new_worker_finishes_the_episode_and_each_side_effect_happens_once(house: House) -> None:
    house.systems.load(START)
    with ScriptedModelServer(_answer) as model:
        alias = house.use_model(model)
        handle = house.client.episodes.start("Order 1042 arrived broken.", model=alias, tools="erp.*")
        for event in handle.events():
            if event.type == "call.finished":
                break
        killed = house.kill("worker")

        assert not handle.get().status.ended
        assert house.mend() == ("worker",)
        assert house.service("worker").process != killed.process
        result = handle.result(timeout=300)

    assert (result.status, result.answer) == (EpisodeStatus.COMPLETED, "Refunded 24.00 and told the warehouse.")
    assert [effect["operation"] for effect in house.systems.effects("erp")] == [
        "create_refund",
        "message_warehouse",
    ]
    trajectory = house.client.trajectories.get(handle.id)
    assert [(made.step, made.tool) for made in trajectory.invocations] == [
        (0, "erp_create_refund"),
        (1, "erp_message_warehouse"),
    ]
    assert [message.role for message in trajectory.messages[-5:]] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
