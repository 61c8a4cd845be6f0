"""A durable training episode through real processes: what it does stays on its practice copies."""

import pytest

from practicum.contracts.episodes import EpisodeMode, EpisodeStatus
from practicum.contracts.tasks import States
from practicum.errors import EpisodeError
from practicum.testing import ScriptedModelServer, call, say
from tests.journeys.house import House

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

ORDER = {"customer_id": "C-1", "sku": "mug", "quantity": 2, "status": "delivered", "paid": 24.0, "refunded": 0.0}
START: States = {"erp": {"orders": {"7": {**ORDER}}}}


def test_a_training_episode_leaves_the_live_systems_alone(house: House) -> None:
    house.systems.load({})
    script = [
        call("erp_create_refund", {"order_id": 7, "amount": 24.0}),
        call("cicd_rollback_service", {"service": "shop"}),
        say("Refunded; there is no such service."),
    ]
    with ScriptedModelServer(script) as model:
        handle = house.client.episodes.start(
            "Order 7 arrived broken.",
            model=house.use_model(model),
            tools=("erp.*", "cicd.*"),
            mode=EpisodeMode.TRAINING,
            start=START,
        )
        result = handle.result(timeout=300)

    assert (result.status, result.answer) == (EpisodeStatus.COMPLETED, "Refunded; there is no such service.")
    statuses = [made.observation.http_status for made in house.client.trajectories.get(handle.id).invocations]
    assert statuses == [201, 404]
    states = house.client.episodes.states(handle.id)
    assert states["erp"]["orders"]["7"]["refunded"] == 24.0
    assert states["cicd"]["deployments"] == {}
    assert [house.systems.effects(name) for name in ("erp", "cicd")] == [[], []]
    house.client.episodes.release(handle.id)
    with pytest.raises(EpisodeError, match="released"):
        house.client.episodes.states(handle.id)
